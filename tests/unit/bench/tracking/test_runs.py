"""Import into MLflow: the content of the runs, a second import, changed and unfinished runs."""

import json

import numpy as np
import polars as pl
import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, write_json
from gradrank.bench.results import Results
from gradrank.bench.tracking.runs import Result, track
from made_tracked import (
    FEATURES,
    FOLDS,
    MODELS,
    PARAMS,
    SHA,
    STEPS,
    add_seed,
    all_models,
    all_runs,
    artifacts,
    client,
    experiment,
    make_results,
    per_query,
    tree,
)

pytest.importorskip("mlflow")


@pytest.fixture(autouse=True)
def no_server(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> str:
    """A store with one import, which tests only read, in a folder whose name has a space."""
    root = tmp_path_factory.mktemp("a project")
    uri = f"sqlite:///{root}/mlflow.db"
    track(make_results(root / "results"), {"toy": MODELS}, PARAMS, uri=uri)
    return uri


def test_a_run_per_method_with_tags_parameters_and_values_per_query(store):
    assert tree(store) == {"toy": None, "baseline": "toy", "single_feature": "toy"}
    for name in MODELS:
        (run,) = all_runs(store)[name]
        expected = {"dataset": "toy", "model": name, "data_sha256": SHA, "convention": "letor4", "current": "true"}
        assert expected.items() <= run.data.tags.items()
        assert {"key", "spec_sha256", "per_query_sha256", "processor"} <= run.data.tags.keys()
        own = {"criterion": "map", "grid.C": "[0.5, 2.0]", "device": "null"}
        other = {"seed": "7", "seeds": "[7]", "convention": "letor4", "data.queries": "12"}
        assert run.data.params == own | other
        assert artifacts(store, run.info.run_id) == {"per_query.parquet"}


def test_the_data_set_is_an_input(store):
    for (run,) in all_runs(store).values():
        (logged,) = run.inputs.dataset_inputs
        assert (logged.dataset.name, logged.dataset.digest) == ("toy", SHA[:36])
        columns = [column["name"] for column in json.loads(logged.dataset.schema)["mlflow_colspec"]]
        assert columns == ["qid", "label", "docid", *(f"f{number}" for number in range(1, FEATURES + 1))]


def test_sources_of_data_sets(tmp_path):
    sources = {}
    for name, settings in {"mine": {"path": "/mine"}, "synthetic_net": {"queries": 9}, "mq2007": {}}.items():
        results = Results(make_results(tmp_path / "results", ["one"], name))
        dataset = Result(results.dataset(name).method("one"), "letor4", settings).dataset()
        sources[name] = dataset.source_type, json.loads(dataset.source)
    assert sources["mine"] == ("local", {"uri": "/mine"})
    assert sources["synthetic_net"] == ("code", {"tags": {"generator": "net", "queries": 9}})
    assert sources["mq2007"][0] == "http" and sources["mq2007"][1]["url"].startswith("https://")


def test_metrics_are_means_under_the_primary_convention(store):
    (run,) = all_runs(store)["single_feature"]
    rows = per_query(seed=1).filter(convention="letor4", split="test")
    means = [rows.filter(fold=fold)["ndcg@10"].mean() for fold in range(1, FOLDS + 1)]
    history = client(store).get_metric_history(run.info.run_id, "test_by_fold/ndcg_at_10")
    assert [point.step for point in history] == [1, 2, 3]
    np.testing.assert_allclose([point.value for point in history], means, rtol=1e-15)
    assert run.data.metrics["test/ndcg_at_10"] == pytest.approx(np.mean(means), rel=1e-15)
    costs = {"jobs": 3, "seconds": 4.5, "fit_seconds": 3, "slowest_fit_seconds": 1.5, "peak_memory_mb": 300}
    assert {f"cost/{name}": value for name, value in costs.items()}.items() <= run.data.metrics.items()
    assert not [name for name in run.data.metrics if name.endswith(("/seed", "/fold"))]


def test_curves_have_at_most_40_points(store):
    (run,) = all_runs(store)["baseline"]
    points = client(store).get_metric_history(run.info.run_id, "fold2/selection_map")
    assert len(points) == 40 and [points[0].step, points[-1].step] == [1, STEPS]
    assert all(point.value == 2 / point.step for point in points)
    points = client(store).get_metric_history(run.info.run_id, "fold2/selection_ndcg_at_10")
    assert [(point.step, point.value) for point in points] == [(50, 2 / 50), (100, 2 / 100)]


def test_a_logged_model_per_fold_scores_as_the_fold_does(store, monkeypatch):
    import mlflow
    import pandas as pd

    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    assert len(all_models(store)) == len(MODELS) * FOLDS
    query = "name = 'single_feature-fold2' AND tags.dataset = 'toy'"
    (model,) = mlflow.search_logged_models([experiment(store)], query, output_format="list")
    assert model.status == "READY" and model.params["grid.C"] == "[0.5, 2.0]"
    (run,) = all_runs(store)["single_feature"]
    assert model.source_run_id == run.info.run_id
    assert model.model_id in {each.model_id for each in run.outputs.model_outputs}
    values = {metric.key: (metric.step, metric.dataset_name, metric.value) for metric in model.metrics}
    mean = per_query(seed=1).filter(convention="letor4", split="test", fold=2)["map"].mean()
    assert values["test_by_fold/map"] == (2, "toy", pytest.approx(mean))
    loaded = mlflow.pyfunc.load_model(f"models:/{model.model_id}")
    assert loaded.metadata.model_id == model.model_id
    names = [f"f{number}" for number in range(1, FEATURES + 1)]
    table = pd.DataFrame(np.random.default_rng(0).random((6, FEATURES), dtype=np.float32), columns=names)
    for given in (table, table.assign(qid=[3, 3, 1, 1, 1, 9]), table.mul(9).round().astype(int)):
        np.testing.assert_array_equal(loaded.predict(given), -given["f2"].to_numpy(np.float64))
    assert len(loaded.predict(loaded.input_example)) == 2
    with pytest.raises(Exception, match="f5"):
        loaded.predict(table.drop(columns="f5"))
    files = {entry.path for entry in client(store).list_logged_model_artifacts(model.model_id, "data/fold")}
    assert files == {"data/fold/spec.json", "data/fold/model"}


def test_studies_contain_their_own_methods_and_seeds_share_a_run(tmp_path):
    names = ["plain", "trees-rate=0.5", "own", "seeded"]
    results, uri = make_results(tmp_path / "results", names), f"sqlite:///{tmp_path}/mlflow.db"
    add_seed(results / "toy/methods/seeded", 2)
    page = results / "studies/arsm"
    for path in (page / "numbers.json", page / "page.md", page / "tables/one.csv"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (results / "report/toy").mkdir(parents=True)
    (results / "report/toy/ranks.svg").write_text("<svg/>")
    studies = {"arsm": {"datasets": ["toy"], "models": ["plain", "own"], "own": ["own"]}}
    for _ in range(2):
        track(results, {"toy": ["plain", "trees-rate=0.5", "seeded"]}, PARAMS, studies, uri=uri)
    below = {"plain": "toy", "trees-rate=0.5": "toy", "seeded": "toy", "own": "arsm"}
    assert tree(uri) == {"toy": None, "arsm": None} | below
    runs = {name: run for name, (run,) in all_runs(uri).items()}
    assert artifacts(uri, runs["toy"].info.run_id) == {"figures/ranks.svg"}
    assert artifacts(uri, runs["arsm"].info.run_id) == {"numbers.json", "page.md", "tables/one.csv"}
    assert runs["arsm"].data.params["models"] == '["plain", "own"]'
    found, values = runs["seeded"].data, per_query(seed=3).filter(convention="letor4", split="test")
    mean = values.group_by("fold").agg(pl.col("ndcg@10").mean())["ndcg@10"].mean()
    assert found.params["seed"] == "7" and found.params["seeds"] == "[7, 2]"
    assert found.metrics["cost/seconds"] == 2 * 1.5 * FOLDS
    assert found.metrics["test/ndcg_at_10"] == pytest.approx(mean + 0.25)
    assert found.metrics["test_seed_deviation/ndcg_at_10"] == pytest.approx(0.5 / 2**0.5)
    assert "trees-rate=0_5-fold1" in {model.name for model in all_models(uri)}
    models = {model.name for model in all_models(uri) if model.source_run_id == runs["seeded"].info.run_id}
    assert models == {f"seeded-fold{fold}_seed{seed}" for fold in (1, 2, 3) for seed in (7, 2)}


def test_second_import_adds_nothing_and_changed_results_add_a_run(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    first = track(results, {"toy": MODELS}, PARAMS, uri=uri)
    again = track(results, {"toy": MODELS}, PARAMS, uri=uri)
    assert [each.new for each in first] == [True, True]
    assert again == [each._replace(new=False) for each in first]
    assert len(tree(uri)) == 3 and len(all_models(uri)) == 2 * FOLDS
    per_query(seed=99).write_parquet(results / "toy/methods/baseline/per_query.parquet")
    changed = track(results, {"toy": MODELS}, PARAMS, uri=uri)
    assert [each.new for each in changed] == [True, False]
    current = {run.info.run_id: run.data.tags["current"] for run in all_runs(uri)["baseline"]}
    assert current == {first[0].run_id: "false", changed[0].run_id: "true"}
    per_query(seed=0).write_parquet(results / "toy/methods/baseline/per_query.parquet")
    assert track(results, {"toy": MODELS}, PARAMS, uri=uri) == again
    current = {run.info.run_id: run.data.tags["current"] for run in all_runs(uri)["baseline"]}
    assert current == {first[0].run_id: "true", changed[0].run_id: "false"}


def test_logged_folders_have_no_hidden_files(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    tables = results / "toy/tables"
    for folder in (*results.glob("toy/*/fold*/model"), tables):
        folder.mkdir(exist_ok=True)
        (folder / ".snakemake_timestamp").touch()
    (tables / "main.csv").write_text("a\n")
    track(results, {"toy": MODELS}, PARAMS, uri=uri)
    assert artifacts(uri, all_runs(uri)["toy"][0].info.run_id) == {"tables/main.csv"}
    assert len(all_models(uri)) == len(MODELS) * FOLDS
    assert all(results in path.parents for path in tmp_path.rglob(".snakemake_timestamp"))


def test_an_unfinished_run_is_rewritten(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    first = track(results, {"toy": MODELS}, PARAMS, uri=uri)
    client(uri).update_run(first[0].run_id, status="RUNNING")
    again = track(results, {"toy": MODELS}, PARAMS, uri=uri)
    assert [each.new for each in again] == [True, False] and again[0].run_id != first[0].run_id
    assert tree(uri).keys() == {"toy", *MODELS} and len(all_models(uri)) == 2 * FOLDS


def test_incomplete_results_are_refused_before_anything_is_written(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    spec = results / "toy/methods/baseline/fold2/spec.json"
    for change in ({"seed": 8}, None):
        original = read_json(spec)
        write_json(spec, original | change) if change else spec.unlink()
        with pytest.raises(GradrankError, match="toy/methods/baseline"):
            track(results, {"toy": MODELS}, PARAMS, uri=uri)
        write_json(spec, original)
    for models, params in (([*MODELS, "absent"], PARAMS), (MODELS, {"evaluation": {"convention": "trec"}})):
        with pytest.raises(GradrankError, match="toy/"):
            track(results, {"toy": models}, params, uri=uri)
    assert not (tmp_path / "mlflow.db").exists()
