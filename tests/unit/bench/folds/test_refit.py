"""Refit: the settings of the folds on all queries, the median of their steps, and the model card."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json
from gradrank.base.stamps import write_stamp
from gradrank.bench.cli import app
from gradrank.bench.folds.job import train
from gradrank.bench.folds.refit import refit
from gradrank.bench.results import DatasetFolder
from gradrank.data.parse import parse
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import CONVENTIONS
from gradrank.training.best_of import FrozenStep, History
from gradrank.training.fit import fit, job_seed, resolve
from gradrank.training.label_gains import with_gains

PARAMS = {"lambdamart": {"rounds": 12, "min_data_in_leaf": 5}, "ranksvm": {}, "single_feature": {}}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Five folds of three methods, in a folder that is laid out as a project."""
    folder = tmp_path_factory.mktemp("project")
    generate("net", 30, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "data/parquet/toy", seed=1, dataset="toy")
    for name, params in PARAMS.items():
        for fold in range(1, 6):
            out = DatasetFolder(folder / "results/toy").method(name).fold(fold).folder
            convention = CONVENTIONS["standard"]
            train(name, folder / "data/parquet/toy", fold, params, 7, out, convention=convention)
    return folder


def steps(folder, name: str) -> list[int]:
    found = []
    for fold in range(1, 6):
        history = DatasetFolder(folder / "results/toy").method(name).fold(fold).history()
        found.append(int(history["step"][int(history["vali_ndcg@10"].arg_max())]))
    return found


def test_the_model_is_that_of_a_training_on_all_queries_with_the_median_step(project, tmp_path):
    data = project / "data/parquet/toy"
    entry = refit(project / "results/toy/lambdamart", tmp_path / "model", data)
    assert [each["step"] for each in entry["folds"]] == steps(project, "lambdamart")
    assert entry["step"] == sorted(steps(project, "lambdamart"))[2]
    whole = StoredCollection.open(data).read([1, 2, 3, 4, 5])
    assert (entry["queries"], entry["documents"]) == (whole.queries, whole.rows) == (30, 300)
    cls, params = resolve("lambdamart", PARAMS["lambdamart"])
    seed = job_seed(7, "toy", "lambdamart", 0)
    model = fit(cls, whole, FrozenStep.of(whole, entry["step"]), params, seed, History("oracle", np.inf))
    ranker = gradrank.load(tmp_path / "model")
    np.testing.assert_array_equal(ranker.predict(whole.features), model.score(whole.features, whole.offsets))
    assert ranker.best_iteration_ == entry["step"]
    assert ranker.fold_.spec["refit"] == entry


def test_the_gains_of_the_folds_are_those_of_the_model(project, tmp_path):
    data = project / "data/parquet/toy"
    folds = DatasetFolder(tmp_path / "results/toy").method("lambdamart")
    for fold in range(1, 6):
        out, convention = folds.fold(fold).folder, CONVENTIONS["standard"]
        train("lambdamart", data, fold, PARAMS["lambdamart"], 7, out, convention=convention, gain="linear")
    entry = refit(folds.folder, tmp_path / "model", data)
    (whole,) = with_gains([replace(StoredCollection.open(data).read([1, 2, 3, 4, 5]), convention=convention)], "linear")
    cls, params = resolve("lambdamart", PARAMS["lambdamart"])
    seed, history = job_seed(7, "toy", "lambdamart", 0), History("oracle", np.inf)
    model = fit(cls, whole, FrozenStep.of(whole, entry["step"]), params, seed, history)
    ranker = gradrank.load(tmp_path / "model")
    np.testing.assert_array_equal(ranker.predict(whole.features), model.score(whole.features, whole.offsets))
    assert ranker.gain == "linear" and ranker.fold_.spec["refit"] == entry


def test_the_stamp_has_the_validation_values_of_the_folds(project, tmp_path):
    entry = refit(project / "results/toy/ranksvm", tmp_path / "model", project / "data/parquet/toy")
    stored, pooled = StoredCollection.open(project / "data/parquet/toy"), []
    for fold, found in enumerate(entry["folds"], start=1):
        vali = stored.read(stored.fold(fold)["vali"])
        scores = DatasetFolder(project / "results/toy").method("ranksvm").fold(fold).scores("vali")
        qid = np.repeat(vali.qids, np.diff(vali.offsets))
        values = gradrank.evaluate(vali.labels, scores, qid=qid, metrics=["ndcg@10"]).per_query["ndcg@10"].to_numpy()
        assert found["value"] == pytest.approx(values.mean(), abs=1e-6)
        assert found["half_width"] == pytest.approx(1.96 * values.std(ddof=1) / np.sqrt(len(values)), abs=1e-6)
        pooled.append(values)
    pooled = np.concatenate(pooled)
    assert entry["half_width"] == pytest.approx(1.96 * pooled.std(ddof=1) / np.sqrt(30), abs=1e-6)
    assert entry["value"] == pytest.approx(np.mean([each["value"] for each in entry["folds"]]), abs=1e-6)
    assert entry["convention"] == "standard"
    assert read_json(tmp_path / "model/spec.json")["inputs"].keys() == {f"fold{k}/spec.json" for k in range(1, 6)}


def test_equal_calls_write_equal_bytes_and_alternatives_are_selected_again(project, tmp_path):
    for name in ("a", "b"):
        entry = refit(project / "results/toy/methods/single_feature", tmp_path / name, project / "data/parquet/toy")
        assert "step" not in entry
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert [(tmp_path / "a" / file).read_bytes() for file in files] == [
        (tmp_path / "b" / file).read_bytes() for file in files
    ]


def test_the_command_prints_the_step_and_the_card_lists_data_parameters_values_and_limits(
    project, tmp_path, monkeypatch
):
    monkeypatch.chdir(project)
    result = CliRunner().invoke(app, ["refit", "results/toy/lambdamart", "--out", str(tmp_path / "model")])
    assert result.exit_code == 0, result.output
    assert "the lower median of the folds'" in result.output and "gradrank predict --model" in result.output
    card = (tmp_path / "model/model_card.md").read_text()
    entry = read_json(tmp_path / "model/spec.json")["refit"]
    for text in ("# Model card: lambdamart", "| data set | toy |", "| min_data_in_leaf | `5` |", "## Limits"):
        assert text in card
    assert f"{entry['value']:.4f} ± {entry['half_width']:.4f}" in card
    assert f"Trained for {entry['step']} steps" in card and "`standard`" in card
    again = CliRunner().invoke(app, ["refit", "results/toy/lambdamart", "--out", str(tmp_path / "model")])
    assert again.exit_code == 0, again.output


def test_what_cannot_be_refitted_is_refused(project, tmp_path):
    data, out = project / "data/parquet/toy", tmp_path / "model"
    with pytest.raises(GradrankError, match=r"toy/absent: no trained fold. Fix: "):
        refit(project / "results/toy/absent", out, data)
    method = DatasetFolder(tmp_path / "results/toy").method("lambdamart")
    for fold, rounds in ((1, 2), (2, 3)):
        train("lambdamart", data, fold, {"rounds": rounds}, 7, method.fold(fold).folder)
    with pytest.raises(GradrankError, match=r"fold2: its params differs from that of .*fold1. Fix: "):
        refit(method.folder, out, data)
    generate("net", 10, 10, 2, tmp_path / "raw")
    parse(tmp_path / "raw", tmp_path / "other", seed=1, dataset="toy")
    with pytest.raises(GradrankError, match="not the data that the folds of"):
        refit(project / "results/toy/lambdamart", out, tmp_path / "other")
    assert not out.exists()


def test_a_fusion_is_refused_with_the_names_of_its_members(project, tmp_path):
    fold = DatasetFolder(tmp_path / "results/toy").method("rrf").fold(1)
    (fold.folder / "model").mkdir(parents=True)
    first = DatasetFolder(project / "results/toy").method("ranksvm").fold(1).spec()
    cls, params = resolve("rrf", {})
    spec = {key: first[key] for key in ("dataset", "features", "seed", "data_sha256")}
    write_stamp(fold.spec_path, spec | {"model": "rrf", "params": params.model_dump(mode="json")}, [])
    with pytest.raises(GradrankError, match=f"rrf combines the scores of {cls.members(params)[0]}"):
        refit(fold.method.folder, tmp_path / "model", project / "data/parquet/toy")
