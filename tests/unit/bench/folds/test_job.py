"""A training job's folder: whole or absent, the same bytes for a seed, untouched by the test part."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.stamps import read_stamp
from gradrank.base.validation import read_params
from gradrank.bench.folds.job import train
from gradrank.bench.results import DatasetFolder
from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.data.collection import Collection
from gradrank.data.parse import parse
from gradrank.data.part_files import COLLECTION
from gradrank.data.sources.synthetic import generate
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import CONVENTIONS
from gradrank.models.single_feature import SingleFeature
from gradrank.ranker.ranker import Ranker, load
from gradrank.training.fit import job_seed
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.selection import selection_note


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generate("net", 20, 10, 1, folder / "raw")
    parse(folder / "raw", folder / "synthetic_net", seed=1, dataset="synthetic_net")
    return folder / "synthetic_net"


def test_folder_holds_scores_of_every_row_and_its_specification(data, tmp_path):
    train("single_feature", data, 2, {}, 7, tmp_path / "fold2")
    scores = pl.read_parquet(tmp_path / "fold2/scores.parquet")
    assert scores["split"].value_counts().sort("split")["count"].to_list() == [40, 120, 40]
    spec = json.loads((tmp_path / "fold2/spec.json").read_text())
    assert (spec["model"], spec["dataset"], spec["fold"], spec["seed"]) == ("single_feature", "synthetic_net", 2, 7)
    assert spec["job_seed"] == job_seed(7, "synthetic_net", "single_feature", 2)
    timing = json.loads((tmp_path / "fold2/timing.json").read_text())
    assert 0 < timing["fit_seconds"] <= timing["seconds"] and timing["peak_memory_mb"] > 10
    assert 0 < timing["score_seconds"] < timing["seconds"] and timing["scored_documents"] == 40
    assert timing["model_bytes"] == sum(path.stat().st_size for path in (tmp_path / "fold2/model").iterdir())


def test_the_model_is_selected_under_the_given_convention(data, tmp_path, capsys):
    """The history has the criterion, and the log and spec.json name the convention."""
    stored = StoredCollection.open(data)
    vali = stored.read(stored.fold(1)["vali"])
    query = np.repeat(np.arange(vali.queries), np.diff(vali.offsets))
    for name in ("letor4", "standard", "trec"):
        train("lambdamart", data, 1, {"rounds": 3}, 7, tmp_path / name, convention=CONVENTIONS[name])
        fold = FoldFolder(tmp_path / name)
        assert fold.spec()["convention"] == name
        assert f"{name}, ties in expectation" in capsys.readouterr().err
        expected = CONVENTIONS[f"{name}_expected"]
        result = evaluate(vali.labels, fold.scores("vali"), qid=query, metrics="ndcg@10", convention=expected)
        assert fold.history()["vali_ndcg@10"].max() == pytest.approx(result.means["mean"][0], abs=1e-12)


@pytest.mark.parametrize("gain", ["linear", [0.0, 1.0, 5.0, 5.5, 6.0, 9.0]])
def test_a_fold_is_trained_and_selected_with_the_given_gains(data, tmp_path, gain):
    """The fold has the scores of Ranker with the same gains, seed and parts."""
    stored = StoredCollection.open(data)
    parts = {split: stored.read(stored.fold(1)[split]) for split in ("train", "vali")}
    params = {"rounds": 3, "min_data_in_leaf": 5}
    train("lambdamart", data, 1, params, 7, tmp_path / "fold1", convention=CONVENTIONS["standard"], gain=gain)
    fold = FoldFolder(tmp_path / "fold1")
    spec = fold.spec()
    assert spec["gain"] == gain and load(tmp_path / "fold1").gain == gain
    x, y, qid = (
        {split: get(part) for split, part in parts.items()}
        for get in (lambda part: part.features, lambda part: part.labels, lambda part: part.query_of_row)
    )
    ranker = Ranker("lambdamart", random_state=spec["job_seed"], gain=gain, **params)
    ranker.fit(x["train"], y["train"], qid=qid["train"], eval_set=(x["vali"], y["vali"], qid["vali"]))
    assert np.array_equal(ranker.predict(x["vali"]), fold.scores("vali"))
    assert ranker.history_["vali_ndcg@10"].equals(fold.history()["vali_ndcg@10"])


def test_a_member_that_was_trained_on_other_data_is_refused(data, tmp_path):
    generate("net", 20, 10, 2, tmp_path / "raw")
    parse(tmp_path / "raw", tmp_path / "synthetic_net", seed=1, dataset="synthetic_net")
    results, params = DatasetFolder(tmp_path / "results/synthetic_net"), {"models": ["regression", "single_feature"]}
    for name, trained_on in (("regression", data), ("single_feature", tmp_path / "synthetic_net")):
        train(name, trained_on, 1, {}, 7, results.method(name).fold(1).folder)
    with pytest.raises(GradrankError, match=r"single_feature.*data_sha256.*Fix: gradrank train"):
        train("borda", data, 1, params, 7, tmp_path / "out", members=results.folder)
    assert not (tmp_path / "out").exists()


def test_the_log_counts_the_queries_without_influence():
    sizes = np.array([12, 9, 3, 10])
    offsets = np.r_[0, np.cumsum(sizes)]
    part = Collection(np.zeros((34, 1), np.float32), np.ones(34, np.int32), offsets, np.arange(4))
    assert "2 of 4" in selection_note("ndcg@10", part) and " of 4" not in selection_note("map", part)
    part = replace(part, convention=CONVENTIONS["standard"])
    assert " of 4" not in selection_note("ndcg@10", part)


def test_failure_leaves_no_finished_folder(data, tmp_path, monkeypatch):
    score_with(monkeypatch, lambda scores: np.full(len(scores), np.nan))
    with pytest.raises(GradrankError, match=r"single_feature: .* nan, of document 1\."):
        train("single_feature", data, 1, {}, 7, tmp_path / "fold1")
    assert not list(tmp_path.iterdir())


def written(folder) -> dict[str, tuple[int, bytes]]:
    """Inode and content of every file, the timings included."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.read_bytes()) for path in files}


def test_the_stamp_names_inputs_code_and_every_reproducible_file(data, tmp_path):
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1", code="abc")
    spec = read_stamp(tmp_path / "fold1/spec.json")
    assert spec["code"] == "abc" and spec["inputs"] == {COLLECTION: sha256(data / COLLECTION)}
    assert set(spec["files"]) == written(tmp_path / "fold1").keys() - {"spec.json", "timing.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["fold1"]


def test_a_job_of_a_killed_run_that_ends_after_its_successor_changes_nothing(data, tmp_path):
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1", code="abc")
    before = written(tmp_path / "fold1")
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1", code="abc")
    assert written(tmp_path / "fold1") == before, "not even its timings"
    for changed in ({"seed": 8}, {"code": "def"}):
        train("single_feature", data, 1, {}, **{"seed": 7, "code": "abc"} | changed, out=tmp_path / "fold1")
        assert read_stamp(tmp_path / "fold1/spec.json").items() >= changed.items()
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1", code="abc")
    again = {name: content for name, (_, content) in written(tmp_path / "fold1").items()}
    assert all(again[name] == content for name, (_, content) in before.items() if name != "timing.json")


@pytest.mark.parametrize("name", ["scores.parquet", "model/single_feature.json", "spec.json"])
def test_a_damaged_or_missing_file_is_replaced(data, tmp_path, name):
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1")
    before = (tmp_path / "fold1" / name).read_bytes()
    for damage in (lambda path: path.write_bytes(b"damaged"), lambda path: path.unlink()):
        damage(tmp_path / "fold1" / name)
        train("single_feature", data, 1, {}, 7, tmp_path / "fold1")
        assert (tmp_path / "fold1" / name).read_bytes() == before


def test_what_a_killed_job_left_stays_for_it_may_be_alive(data, tmp_path):
    left = tmp_path / ".fold1.1.partial/model"
    left.mkdir(parents=True)
    train("single_feature", data, 1, {}, 7, tmp_path / "fold1")
    assert left.is_dir() and (tmp_path / "fold1/spec.json").is_file()


INVALID_SCORES = {
    "(n, 1)": (lambda scores: scores[:, None], r"\((\d+), 1\), expected \(\1,\).* return scores\[:, 0\]"),
    "short": (lambda scores: scores[1:], r"\(\d+,\), expected \(\d+,\)"),
    "one number": (lambda scores: scores[0], r"\(\), expected \(\d+,\)"),
    "complex": (lambda scores: scores + 1j, "complex128"),
    "ragged": (lambda scores: [[1.0], [1.0, 2.0]], r"return an array of shape \(\d+,\)"),
    "infinite": (lambda scores: np.r_[scores[:2], np.inf, scores[3:]], "1 of [0-9]+ .* inf"),
}


@pytest.mark.parametrize(("change", "message"), INVALID_SCORES.values(), ids=INVALID_SCORES)
@pytest.mark.parametrize("when", ["while it was fitted", "scores of the train part"])
def test_invalid_scores_are_refused_with_the_models_name(data, tmp_path, monkeypatch, change, message, when):
    if when == "while it was fitted":
        score_with(monkeypatch, change)
    else:
        fit = SingleFeature.fit

        def fit_then_go_wrong(*arguments):
            model = fit(*arguments)
            score_with(monkeypatch, change)
            return model

        monkeypatch.setattr(SingleFeature, "fit", fit_then_go_wrong)
    with pytest.raises(GradrankError, match=f"^single_feature: {when}.*{message}"):
        train("single_feature", data, 1, {}, 7, tmp_path / "fold1")


def score_with(monkeypatch, change) -> None:
    score = SingleFeature.score
    monkeypatch.setattr(SingleFeature, "score", lambda self, features, offsets: change(score(self, features, offsets)))


def test_seed_of_a_job_depends_on_each_of_its_names():
    seeds = {job_seed(s, d, m, f) for s in (1, 2) for d in "ab" for m in "cd" for f in (1, 2)}
    assert len(seeds) == 16 and all(0 <= seed < 2**31 for seed in seeds)


def test_bad_arguments(data, tmp_path):
    with pytest.raises(GradrankError, match="fold 6"):
        train("single_feature", data, 6, {}, 7, tmp_path / "x")
    with pytest.raises(GradrankError, match="did you mean 'ranksvm'"):
        train("ranksv", data, 1, {}, 7, tmp_path / "x")
    with pytest.raises(GradrankError, match=r"params\.learning_rat: unknown key"):
        train("lambdamart", data, 1, {"learning_rat": 1}, 7, tmp_path / "x")
    with pytest.raises(GradrankError, match="not JSON"):
        read_params("{")


def test_a_job_imports_its_own_model_alone_and_what_that_needs():
    code = """
import numpy as np
from gradrank.data.collection import Collection
from gradrank.training.registry import get_model
cls = get_model("single_feature")
part = Collection(np.eye(4, dtype=np.float32), np.arange(4, dtype=np.int32), np.array([0, 2, 4]), np.arange(2))
cls.fit(part, part, cls.Params(), 0, lambda step, **values: None)
import sys
assert [name for name in sys.modules if name.startswith("gradrank.models.")] == ["gradrank.models.single_feature"]
assert not {"numba", "scipy", "polars", "torch", "lightgbm"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["spec.json", "model/notes.txt", "notes.txt"])
def test_files_of_others_are_refused_and_stay(data, tmp_path, name):
    train("single_feature", data, 1, {}, 7, tmp_path / "own")
    for folder in (tmp_path / "fold1", tmp_path / "own"):
        path = folder / ("model/notes.txt" if name == "spec.json" and folder.name == "own" else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"mine": 1}')
        with pytest.raises(GradrankError, match=r"other files.*Fix"):
            train("single_feature", data, 1, {}, 8, folder)
        assert path.read_text() == '{"mine": 1}'
