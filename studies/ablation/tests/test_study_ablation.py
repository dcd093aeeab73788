"""The study that leaves groups of features out: its jobs equal trainings on tables without these columns."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import check
from gradrank.bench.folds.job import train
from gradrank.bench.parts import write_job
from gradrank.bench.provenance.study_records import study_code
from gradrank.bench.results import Results
from gradrank.bench.studies.study import Inputs
from gradrank.bench.studies.training import values_of
from gradrank.bench.studies.writing import write_study
from gradrank.bench.workflow_support.plan import Plan
from gradrank.data.collection import feature_columns
from gradrank.data.pair_files import write_pairs
from gradrank.data.parse import parse
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import resolve
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute
from studies.ablation.experiments import METRICS, run_job
from studies.ablation.page import VERDICTS, build

SHIPPED = yaml.safe_load((Path(__file__).parents[3] / "params.yaml").read_text())
NAMES = ("a1", "a2", "b1", "b2", "b3")
GROUPS = {"planted": ["a1", "a2"], "noise": ["3-5"], "one": [4]}
FAST = {"lambdamart": {"rounds": 30, "min_data_in_leaf": 10, "patience": 30}, "regression": {}, "ranksvm": {"C": [0.1]}}


def table(queries=60, noise=3):
    """Return 10 documents per query. The grade depends on the features a1 and a2 only."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(10 * queries, 2 + noise))
    value = features[:, 0] + 0.5 * features[:, 1] + rng.normal(0.0, 0.5, len(features))
    names = ["a1", "a2", *(f"b{number}" for number in range(1, noise + 1))]
    frame = pl.DataFrame(features, schema=names)
    return frame.with_columns(label=np.digitize(value, [0.5, 1.2]), qid=np.repeat(np.arange(queries), 10))


def store(folder, frame, **options):
    """Store a table as the data set `shop` with pairs that prefer lower grades; return the folder of collections."""
    folder.mkdir()
    frame.write_csv(folder / "shop.csv")
    parse(folder / "shop.csv", folder / "parquet/shop", seed=1, dataset="shop", **options)
    pairs = [
        {"qid": query, "first_row": first + 1, "second_row": second + 1}
        for (query,), rows in frame.group_by("qid", maintain_order=True)
        for first, second in ((0, 1), (2, 5), (7, 3))
        if rows["label"][first] <= rows["label"][second]
    ]
    pl.DataFrame(pairs).write_csv(folder / "pairs.csv")
    write_pairs(folder / "parquet/shop", folder / "pairs/shop", given=folder / "pairs.csv")
    return folder / "parquet"


def settings_of(path, groups=GROUPS, models=FAST, **study):
    datasets = SHIPPED["datasets"] | {"shop": {"path": str(path), "convention": "standard"}}
    study = {"datasets": ["shop"], "models": list(models), "groups": groups} | study
    return check(SHIPPED | {"datasets": datasets, "models": models, "studies": {"ablation": study}})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return store(tmp_path_factory.mktemp("ablation") / "made", table())


def ordinary(data, method, settings, out):
    """Return the values per query of each fold after ordinary training jobs."""
    stored, convention, found = StoredCollection.open(data / "shop"), resolve(settings["convention"]), []
    for number, parts in enumerate(stored.folds, start=1):
        fold = out.method(method).fold(number)
        pairs = data.parent / "pairs/shop" if settings["pairs"] else None
        train(
            settings["model"],
            data / "shop",
            number,
            settings["params"],
            settings["seed"],
            fold.folder,
            pairs,
            convention=convention,
        )
        judged = read_judgements(stored, parts["test"])
        values = compute(METRICS, fold.scores("test"), judged.labels, judged.offsets, convention, ids=judged.docids)
        found.append((judged.ids.tolist(), {name: own.tolist() for name, own in values.items()}))
    return found


@pytest.mark.parametrize("normalise", ["none", "query", "global"])
@pytest.mark.parametrize("method", FAST)
def test_a_job_equals_a_training_on_a_table_without_the_columns(method, normalise, tmp_path):
    whole = store(tmp_path / "whole", table(), normalise=normalise)
    jobs = settings_of(tmp_path / "whole/shop.csv", models={method: FAST[method]}).study_jobs("ablation")
    job = jobs[f"shop-{method}-planted-2005"]
    found = run_job(job, whole, 2005)
    reduced = store(tmp_path / "reduced", table().drop("a1", "a2"), normalise=normalise)
    expected = ordinary(reduced, method, job, Results(tmp_path / "results").dataset("shop"))
    assert [(fold["qids"], fold["values"]) for fold in found["folds"]] == expected
    assert (found["left_out"], found["features"], found["convention"]) == (2, 5, "standard")
    assert found["folds"] != run_job(jobs[f"shop-{method}-one-2005"], whole, 2005)["folds"]


def finished(data, tmp_path, settings):
    """Run the full models and all jobs of the study; return the inputs of its page."""
    results = Results(tmp_path / "results")
    jobs = settings.study_jobs("ablation")
    for method in settings.study_models("ablation"):
        first = next(job for job in jobs.values() if job["method"] == method)
        ordinary(data, method, first, results.dataset("shop"))
    study = results.study("ablation")
    for name, job in jobs.items():
        write_job(study.job_path(name), run_job(job, data, settings.seed))
    return Inputs(results.folder, data, study.folder, settings.study_settings("ablation"))


def test_a_planted_group_is_needed_and_noise_is_not(data, tmp_path):
    inputs = finished(data, tmp_path, settings_of(data.parent / "shop.csv"))
    write_study("ablation", inputs)
    (section,) = build(inputs)
    rows = {(row["method"], row["group"], row["metric"]): row for row in section.content[0].rows}
    assert len(rows) == len(FAST) * len(GROUPS) * len(METRICS)
    for method in ("lambdamart", "regression"):
        for metric in ("NDCG@10", "MAP"):
            planted = rows[method, "planted", metric]
            assert planted["verdict"] == VERDICTS["worse"] and planted["high"] < 0 and planted["p"] < 0.001
            assert planted["difference"] == pytest.approx(planted["without"] - planted["full"])
            for group in ("noise", "one"):
                assert rows[method, group, metric]["verdict"] != VERDICTS["worse"]
    full = inputs.measure("shop", "regression", METRICS, "standard")
    assert rows["regression", "noise", "NDCG@10"]["full"] == full.mean("ndcg@10")
    assert "planted" in (inputs.folder / "page.md").read_text()


def test_a_page_without_the_result_of_a_job_names_it(data, tmp_path):
    settings = settings_of(data.parent / "shop.csv", models={"regression": {}})
    inputs = finished(data, tmp_path, settings)
    (inputs.folder / "jobs/shop-regression-one-2005.json").unlink()
    with pytest.raises(GradrankError, match="regression on shop has no result without one, seed 2005"):
        build(inputs)


def test_noise_is_rarely_called_needed(tmp_path):
    """With 16 noise features, few intervals exclude 0, and no feature is called needed after Holm's correction."""
    data = store(tmp_path / "made", table(noise=16))
    groups = {f"noise{number}": [f"b{number}"] for number in range(1, 17)}
    settings = settings_of(data.parent / "shop.csv", groups=groups, models={"regression": {}})
    inputs = finished(data, tmp_path, settings)
    rows = build(inputs)[0].content[0].rows
    assert not [row for row in rows if row["verdict"] == VERDICTS["worse"]]
    below = [row for row in rows if row["metric"] == "NDCG@10" and row["high"] < 0]
    assert len(below) < 4


def test_each_job_has_the_settings_of_the_workflow(data):
    settings = settings_of(data.parent / "shop.csv")
    jobs = settings.study_jobs("ablation")
    assert set(jobs) == {f"shop-{method}-{group}-2005" for method in FAST for group in GROUPS}
    job = jobs["shop-lambdamart-noise-2005"]
    assert job["params"] == settings.models["lambdamart"].params and job["convention"] == "standard"
    assert not job["pairs"] and jobs["shop-ranksvm-noise-2005"]["pairs"]
    plan = Plan(settings)
    assert plan.job_inputs("ablation", "shop-lambdamart-one-2005") == ["data/parquet/shop/collection.json"]
    assert plan.job_inputs("ablation", "shop-ranksvm-one-2005") == plan.stored_stamps("shop")
    assert "results/shop/methods/lambdamart/evaluation.json" in plan.study_evaluations("ablation")
    assert "study_job" in study_code(settings, "ablation")


def test_each_seed_of_a_randomised_model_is_a_job(data):
    run = SHIPPED["run"] | {"seeds": [2, 10]}
    datasets = SHIPPED["datasets"] | {"shop": {"path": str(data.parent / "shop.csv")}}
    study = {"datasets": ["shop"], "methods": ["lambdamart", "regression"], "groups": {"one": [1]}}
    settings = check(SHIPPED | {"run": run, "datasets": datasets, "studies": {"ablation": study}})
    jobs = settings.study_jobs("ablation")
    assert {(job["method"], job["seed"]) for job in jobs.values()} == {
        ("lambdamart", 2),
        ("lambdamart", 10),
        ("regression", 2),
    }


def test_values_are_means_over_seeds():
    def job(*values):
        return {"folds": [{"qids": ["x", "y"], "values": dict.fromkeys(METRICS, values)}]}

    both = values_of([job(0.25, None), job(0.75, None)])
    assert both.mean("map") == 0.5 and both.queries("map") == 1 and both.has_several_seeds("map")


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"fusion": {"models": ["regression", "prank"]}}, "its features are the scores of other methods"),
        ({"theirs": {"scores": "runs/fold{fold}.txt"}}, "its scores are imported"),
        ({"lambdamart": {"monotone": {1: 1}}}, "it has constraints on features"),
    ],
)
def test_a_method_that_needs_all_features_is_refused(data, models, reason):
    with pytest.raises(GradrankError, match=rf"studies/ablation/study.yaml:\n  models: {next(iter(models))}: {reason}"):
        settings_of(data.parent / "shop.csv", models=models)


@pytest.mark.parametrize("changes", [{"groups": {}}, {"groups": {"a-b": [1]}}, {"groups": {"a": []}}, {"models": []}])
def test_settings_without_groups_or_models_are_refused(data, changes):
    with pytest.raises(GradrankError, match=r"^studies/ablation/study.yaml:\n"):
        settings_of(data.parent / "shop.csv", **changes)


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        (["a3"], r"groups\.bad: unknown feature 'a3' \(valid: a1, "),
        (["6"], "no feature 6"),
        (["1-5"], "contains all features"),
        (["3-2"], "the range 3-2 is empty"),
    ],
)
def test_a_group_that_the_data_cannot_leave_out(data, features, reason):
    settings = settings_of(data.parent / "shop.csv", groups={"bad": features}, models={"regression": {}})
    with pytest.raises(GradrankError, match=reason):
        run_job(settings.study_jobs("ablation")["shop-regression-bad-2005"], data, 2005)


def test_names_numbers_and_ranges():
    assert feature_columns(["2-4", "1", "3"], 5, None, "") == [0, 1, 2, 3]
    assert feature_columns(["b1", "1"], 5, NAMES, "") == [0, 2]
    assert feature_columns(["1-2"], 2, ["1-2", "x"], "") == [0]


def test_a_stored_collection_without_features_twice(data):
    stored = StoredCollection.open(data / "shop")
    left = stored.without_features([0, 3]).without_features([1])
    assert left.feature_names == ["a2", "b3"] and left.features == 2
    assert np.array_equal(left.read([1]).features, stored.read([1]).features[:, [1, 4]])
    assert left.read([1]).names == ("a2", "b3")
