"""Import into MLflow: what a user sees; again, after changes, after a kill, at once, server or none."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gradrank.errors import GradrankError
from gradrank.files import write_json
from gradrank.models.single_feature import SingleFeature
from gradrank.pipeline.mlflow_import import track
from gradrank.pipeline.mlflow_parents import dataset_input
from gradrank.pipeline.mlflow_runs import read_tracked

FOLDS, STEPS, FEATURES = 3, 4, 5
MODELS = ["baseline", "single_feature"]
PARAMS = {"evaluation": {"convention": "letor4"}, "datasets": {"toy": {"queries": 12, "documents": 7}}}


def per_query(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {"convention": convention, "fold": fold, "split": split, "qid": qid}
        for convention in ("standard", "letor4")
        for fold in range(1, FOLDS + 1)
        for split in ("train", "vali", "test")
        for qid in range(4 + fold)
    ]
    values = {"ndcg@10": rng.random(len(rows)), "map": rng.random(len(rows))}
    return pl.DataFrame(rows, schema_overrides={"fold": pl.Int8}).hstack(pl.DataFrame(values))


def make_results(results: Path, dataset: str = "toy", models: list[str] = MODELS) -> Path:
    """A finished study: every model is a `single_feature` one, trained on feature number `fold`."""
    for seed, model in enumerate(models):
        for fold in range(1, FOLDS + 1):
            folder = results / dataset / model / f"fold{fold}"
            (folder / "model").mkdir(parents=True)
            SingleFeature(feature=fold - 1, sign=-1).save(folder / "model")
            spec = {
                "model": "single_feature",
                "dataset": dataset,
                "fold": fold,
                "params": {"criterion": "map", "grid": {"C": [0.5, 2.0]}, "device": None},
                "features": FEATURES,
                "seed": 7,
                "job_seed": 100 + fold,
                "data_sha256": dataset.encode().hex().ljust(64, "0"),
                "processor": "avx2",
                "versions": {"gradrank": "0.1.0", "python": "3.11.7", "torch": "2.13.0+cpu"},
            }
            write_json(folder / "spec.json", spec)
            write_json(
                folder / "timing.json",
                {"seconds": 1.5, "fit_seconds": 0.5 * fold, "peak_memory_mb": 100 * fold},
            )
            history = {"step": range(1, STEPS + 1), "vali_map": [fold / s for s in range(1, STEPS + 1)]}
            frame = pl.DataFrame(history).with_columns(pl.Series("vali_ndcg@10", [None, 0.25, None, 0.5]))
            frame.write_parquet(folder / "history.parquet")
        per_query(seed).write_parquet(results / dataset / model / "per_query.parquet")
    return results


def client(uri: str):
    from mlflow import MlflowClient

    return MlflowClient(uri)


def all_runs(uri: str) -> list:
    found = client(uri)
    experiment = found.get_experiment_by_name("gradrank")
    return found.search_runs([experiment.experiment_id])


def contents(uri: str) -> dict:
    """Everything that an import writes, without ids and times, by run name and place in the tree."""
    store, runs = client(uri), all_runs(uri)
    names = {run.info.run_id: run.info.run_name for run in runs}
    described = {}
    for run in runs:
        tags = {key: value for key, value in run.data.tags.items() if "parentRunId" not in key}
        parent = names.get(run.data.tags.get("mlflow.parentRunId"))
        curves = {
            name: [(point.step, point.value) for point in store.get_metric_history(run.info.run_id, name)]
            for name in run.data.metrics
        }
        files = sorted(artefacts(store, run.info.run_id))
        key = (parent, run.info.run_name, run.data.tags["key"])
        assert key not in described, "the same content twice"
        described[key] = (run.info.status, run.data.params, tags, curves, files)
    return described


def artefacts(store, run_id: str, path: str | None = None) -> list[str]:
    found = []
    for entry in store.list_artifacts(run_id, path):
        found += artefacts(store, run_id, entry.path) if entry.is_dir else [entry.path]
    return found


@pytest.fixture(autouse=True)
def no_server_set(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> tuple[Path, str]:
    """One import that tests only read: a project folder whose name has a space, and its store."""
    root = tmp_path_factory.mktemp("a project")
    results = make_results(root / "results")
    uri = f"sqlite:///{root}/mlflow.db"
    track(results, ["toy"], MODELS, PARAMS, uri)
    return root, uri


def test_runs_are_nested_and_described(study):
    _, uri = study
    runs = {run.info.run_name: run for run in all_runs(uri)}
    assert set(runs) == {"toy", *MODELS}
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    for name in MODELS:
        run = runs[name]
        assert run.data.tags["mlflow.parentRunId"] == runs["toy"].info.run_id
        assert run.data.tags["dataset"] == "toy" and run.data.tags["model"] == name
        assert run.data.tags["data_sha256"] == b"toy".hex().ljust(64, "0")
        assert run.data.tags["current"] == "true"
        assert run.data.params == {
            "criterion": "map",
            "grid.C": "[0.5, 2.0]",
            "device": "null",
            "seed": "7",
            "convention": "letor4",
            "data.queries": "12",
            "data.documents": "7",
        }


def test_the_data_set_is_an_input_and_code_and_processor_are_tags(study):
    _, uri = study
    for run in all_runs(uri):
        (given,) = run.inputs.dataset_inputs
        assert (given.dataset.name, given.dataset.digest) == ("toy", b"toy".hex().ljust(64, "0")[:36])
        columns = [each["name"] for each in json.loads(given.dataset.schema)["mlflow_colspec"]]
        assert columns == ["qid", "label", "docid", *(f"f{number}" for number in range(1, FEATURES + 1))]
    tags = next(run.data.tags for run in all_runs(uri) if run.info.run_name == "baseline")
    assert len(tags["code.train"]) == len(tags["code.evaluate_folds"]) == 16
    assert tags["processor"] == "avx2"


@pytest.mark.parametrize(
    ("dataset", "settings", "kind", "source"),
    [
        ("mine", {"path": "/data/mine"}, "local", {"uri": "/data/mine"}),
        (
            "synthetic_net",
            {"queries": 9},
            "code",
            {"tags": {"generator": "gradrank generate net", "queries": 9}},
        ),
    ],
)
def test_the_source_of_a_data_set(dataset, settings, kind, source):
    given = dataset_input(dataset, {"features": 1, "data_sha256": "ab" * 32}, settings).dataset
    assert (given.source_type, json.loads(given.source)) == (kind, source)


def tree(uri: str) -> dict[str, str | None]:
    names = {run.info.run_id: run.info.run_name for run in all_runs(uri)}
    return {run.info.run_name: names.get(run.data.tags.get("mlflow.parentRunId")) for run in all_runs(uri)}


def with_further_seed(method: Path, seed: int) -> None:
    """As if `method`, whose folds have seed 7, had been trained and measured with `seed` too."""
    for fold in sorted(method.glob("fold*")):
        shutil.copytree(fold, fold / f"seed{seed}")
        spec = json.loads((fold / "spec.json").read_text())
        write_json(fold / f"seed{seed}/spec.json", spec | {"seed": seed})
        shutil.copytree(fold / f"seed{seed}", fold / "seed99")  # no longer asked for
    first = pl.read_parquet(method / "per_query.parquet")
    other = first.with_columns(pl.col("ndcg@10") + 0.5, pl.col("map"))
    seeds = [table.with_columns(seed=pl.lit(number)) for number, table in ((7, first), (seed, other))]
    pl.concat(seeds).write_parquet(method / "per_query.parquet")


def test_variants_studies_and_seeds_lie_below_their_own_runs(tmp_path, monkeypatch):
    names = ["plain", "trees-leaves=7", "trees-leaves=15", "own-loss=ap", "seeded"]
    results, uri = make_results(tmp_path / "results", models=names), f"sqlite:///{tmp_path}/mlflow.db"
    with_further_seed(results / "toy/seeded", 2)
    page = results / "studies/arsm"
    (page / "tables").mkdir(parents=True)
    for path in (page / "numbers.json", page / "page.md", page / "tables/one.csv"):
        path.write_text("{}")
    (results / "report/toy").mkdir(parents=True)
    (results / "report/toy/ranks.svg").write_text("<svg/>")
    studies = {"arsm": {"datasets": ["toy"], "models": ["plain", "own-loss=ap"], "own": ["own-loss=ap"]}}
    for _ in range(2):
        track(results, ["toy"], [name for name in names if name != "own-loss=ap"], PARAMS, uri, studies)
    assert len(all_runs(uri)) == 11
    assert tree(uri) == {
        "toy": None,
        "arsm": None,
        "plain": "toy",
        "trees": "toy",
        "trees-leaves=7": "trees",
        "trees-leaves=15": "trees",
        "own": "arsm",
        "own-loss=ap": "own",
        "seeded": "toy",
        "seeded seed 7": "seeded",
        "seeded seed 2": "seeded",
    }
    runs = {run.info.run_name: run for run in all_runs(uri)}
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    given = {name: len(run.inputs.dataset_inputs) for name, run in runs.items()}
    assert given == dict.fromkeys(runs, 1) | {"arsm": 0}
    assert runs["arsm"].data.params["models"] == '["plain", "own-loss=ap"]'
    found = {name: artefacts(client(uri), run.info.run_id) for name, run in runs.items()}
    assert found["toy"] == ["figures/ranks.svg"] and found["arsm"] == [
        "numbers.json",
        "page.md",
        "tables/one.csv",
    ]
    assert "fold2/data/fold/spec.json" in found["seeded seed 2"] and found["seeded"] == ["per_query.parquet"]
    whole, first, other = (runs[name].data.metrics for name in ("seeded", "seeded seed 7", "seeded seed 2"))
    assert first["cost/seconds"] == 1.5 * FOLDS and whole["cost/seconds"] == 2 * 1.5 * FOLDS
    assert other["test/ndcg_at_10"] == pytest.approx(first["test/ndcg_at_10"] + 0.5)
    assert whole["test/ndcg_at_10"] == pytest.approx(first["test/ndcg_at_10"] + 0.25)
    assert whole["test_seed_deviation/ndcg_at_10"] == pytest.approx(0.5 / 2**0.5)
    assert whole["test_seed_deviation/map"] == 0 and "test/seed" not in whole
    assert runs["seeded"].data.params["seeds"] == "[7, 2]" and "seeds" not in runs["plain"].data.params
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    below = {
        name: [each.model for each in read_tracked(runs[name].info.run_id)]
        for name in ("toy", "arsm", "trees")
    }
    assert below == {
        "toy": ["plain", "seeded", "trees-leaves=15", "trees-leaves=7"],
        "arsm": ["own-loss=ap"],
        "trees": ["trees-leaves=15", "trees-leaves=7"],
    }


def test_metrics_are_the_means_of_the_primary_convention(study):
    _, uri = study
    run = next(run for run in all_runs(uri) if run.info.run_name == "single_feature")
    rows = per_query(seed=1).filter(pl.col("convention") == "letor4", pl.col("split") == "test")
    means = [rows.filter(pl.col("fold") == fold)["ndcg@10"].mean() for fold in range(1, FOLDS + 1)]
    history = client(uri).get_metric_history(run.info.run_id, "test_by_fold/ndcg_at_10")
    assert [point.step for point in history] == [1, 2, 3]
    np.testing.assert_allclose([point.value for point in history], means, rtol=1e-15)
    np.testing.assert_allclose(run.data.metrics["test/ndcg_at_10"], np.mean(means), rtol=1e-15)
    assert run.data.metrics["cost/seconds"] == 1.5 * FOLDS
    assert run.data.metrics["cost/fit_seconds"] == 0.5 + 1.0 + 1.5
    assert run.data.metrics["cost/peak_memory_mb"] == 300
    measured = {
        **dict.fromkeys(("train", "vali", "test"), ("ndcg_at_10", "map")),
        "cost": ("seconds", "fit_seconds", "peak_memory_mb"),
    }
    names = {
        f"{group}{part}/{name}" for group in measured for part in ("", "_by_fold") for name in measured[group]
    } | {"cost/jobs", "cost/slowest_fit_seconds"}
    assert run.data.metrics["cost/jobs"] == FOLDS and run.data.metrics["cost/slowest_fit_seconds"] == 1.5
    curves = {f"fold{fold}/vali_{name}" for fold in (1, 2, 3) for name in ("map", "ndcg_at_10")}
    assert set(run.data.metrics) == names | curves


def test_curves_have_a_point_a_step_and_none_where_nothing_was_measured(study):
    _, uri = study
    run = next(run for run in all_runs(uri) if run.info.run_name == "baseline")
    points = client(uri).get_metric_history(run.info.run_id, "fold2/vali_map")
    assert [(point.step, point.value) for point in points] == [(s, 2 / s) for s in range(1, STEPS + 1)]
    points = client(uri).get_metric_history(run.info.run_id, "fold2/vali_ndcg_at_10")
    assert [(point.step, point.value) for point in points] == [(2, 0.25), (4, 0.5)]


def test_pyfunc_scores_as_the_model_does(study, monkeypatch):
    import mlflow
    import pandas as pd

    _, uri = study
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    run = next(run for run in all_runs(uri) if run.info.run_name == "single_feature")
    loaded = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/fold2")
    names = [f"f{i}" for i in range(1, FEATURES + 1)]
    table = pd.DataFrame(np.random.default_rng(0).random((6, FEATURES), dtype=np.float32), columns=names)
    np.testing.assert_array_equal(loaded.predict(table), -table["f2"].to_numpy(np.float64))
    np.testing.assert_array_equal(
        loaded.predict(table.assign(qid=[3, 3, 1, 1, 1, 9])), -table["f2"].to_numpy(np.float64)
    )
    for kind in (np.float64, np.int32, np.int64):
        numbers = table.mul(9).round().astype(kind)
        np.testing.assert_array_equal(loaded.predict(numbers), -numbers["f2"].to_numpy(np.float64))
    assert len(loaded.predict(loaded.input_example)) == len(loaded.input_example)
    own, other = loaded.metadata, mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/fold3").metadata
    assert own.model_uuid != other.model_uuid and own.utc_time_created < other.utc_time_created
    folder = Path(mlflow.artifacts.download_artifacts(f"runs:/{run.info.run_id}/fold2"))
    counted = [
        *folder.glob("*input_example.json"),
        *(path for path in folder.rglob("data/**/*") if path.is_file()),
    ]
    assert own.model_size_bytes == sum(path.stat().st_size for path in counted)
    with pytest.raises(Exception, match="f5"):
        loaded.predict(table.drop(columns="f5"))
    files = artefacts(client(uri), run.info.run_id)
    assert "fold3/data/fold/model/single_feature.json" in files and "per_query.parquet" in files
    assert not [name for name in files if name.endswith((".pkl", ".pickle"))]
    needed = (
        Path(client(uri).download_artifacts(run.info.run_id, "fold2/requirements.txt")).read_text().split()
    )
    assert {"gradrank==0.1.0", "torch==2.13.0"} <= set(needed)


def test_nothing_but_the_store_is_written_and_no_network_is_tried(tmp_path, monkeypatch):
    def refuse(*address):
        raise AssertionError(f"tried to connect to {address[1:]}")

    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    results = make_results(project / "results", models=MODELS[:1])
    before = sorted(results.rglob("*"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    track(Path("results"), ["toy"], MODELS[:1], PARAMS)
    assert {path.name for path in project.iterdir()} == {
        "results",
        "mlflow.db",
        "mlflow.db.lock",
        "mlartifacts",
    }
    assert sorted(path for path in results.rglob("*") if path.name != ".track.lock") == before
    assert not list(home.iterdir())


def test_second_import_adds_nothing_and_changed_results_a_run_beside_the_old(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    first = track(results, ["toy"], MODELS, PARAMS, uri)
    imported = contents(uri)
    again = track(results, ["toy"], MODELS, PARAMS, uri)
    assert [item.run_id for item in again] == [item.run_id for item in first]
    assert [item.new for item in first] == [True, True] and [item.new for item in again] == [False, False]
    assert contents(uri) == imported

    per_query(seed=99).write_parquet(results / "toy/baseline/per_query.parquet")
    changed = track(results, ["toy"], MODELS, PARAMS, uri)
    assert [item.new for item in changed] == [True, False]
    versions = {
        run.info.run_id: run.data.tags["current"] for run in all_runs(uri) if run.info.run_name == "baseline"
    }
    assert versions == {first[0].run_id: "false", changed[0].run_id: "true"}

    per_query(seed=0).write_parquet(results / "toy/baseline/per_query.parquet")
    assert track(results, ["toy"], MODELS, PARAMS, uri) == again
    assert len(all_runs(uri)) == 4
    assert client(uri).get_run(first[0].run_id).data.tags["current"] == "true"


# Each line ends the importing process at that point, as `kill -9` would.
KILLED = (
    "import mlflow.store.db.utils as at; name, nth = '_upgrade_db', 1",  # tables half made
    "from mlflow import MlflowClient as at; name, nth = 'log_batch', 2",  # parameters without metrics
    f"import shutil as at; name, nth = 'copytree', {FOLDS + 3}",  # one model done, of the other a fold half copied
)
SCRIPT = """
import os, signal, sys
from pathlib import Path
from gradrank.pipeline.mlflow_store import _ENVIRONMENT
os.environ.update(_ENVIRONMENT)
{point}
original, calls = getattr(at, name), 0
def counted(*args, **kwargs):
    global calls
    calls += 1
    if calls == nth:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)
setattr(at, name, counted)
from gradrank.pipeline.mlflow_import import track
track(Path("results"), ["toy"], {models}, {params})
"""


def test_killed_import_is_completed_by_the_same_call(study, tmp_path, monkeypatch):
    make_results(tmp_path / "results")
    for point in KILLED:
        script = SCRIPT.format(point=point, models=MODELS, params=PARAMS)
        killed = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    monkeypatch.chdir(tmp_path)
    track(Path("results"), ["toy"], MODELS, PARAMS)
    assert contents(f"sqlite:///{tmp_path}/mlflow.db") == contents(study[1])
    assert not list(tmp_path.rglob("*partial*"))


def test_two_studies_imported_at_once_into_a_fresh_store(tmp_path):
    for dataset in ("toy", "other"):
        make_results(tmp_path / dataset / "results", dataset)
    script = "import sys; from pathlib import Path; from gradrank.pipeline.mlflow_import import track; "
    script += f"track(Path(sys.argv[1], 'results'), [sys.argv[1]], {MODELS}, {PARAMS})"
    command = [sys.executable, "-c", script]
    imports = [
        subprocess.Popen([*command, dataset], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        for dataset in ("toy", "other")
    ]
    errors = [process.communicate()[1] for process in imports]
    assert [process.returncode for process in imports] == [0, 0], errors
    tree = sorted((parent or "", name) for parent, name, _ in contents(f"sqlite:///{tmp_path}/mlflow.db"))
    assert tree == sorted([("", "toy"), ("", "other")] + [(d, m) for d in ("toy", "other") for m in MODELS])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def server(tmp_path):
    """A real `mlflow server` on the loopback interface, without the consumers of jobs that it knows how to run."""
    uri = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", uri.rsplit(":")[-1],
               "--workers", "1", "--backend-store-uri", f"sqlite:///{tmp_path}/server.db",
               "--artifacts-destination", str(tmp_path / "kept")]  # fmt: skip
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    environment = os.environ | quiet | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        for _ in range(1800):
            try:
                with opener.open(f"{uri}/health", timeout=1) as answer:
                    assert answer.status == 200
                break
            except OSError:
                if process.poll() is not None:
                    break
                time.sleep(0.1)
        else:
            pytest.skip("mlflow server did not answer within 3 min")
        if process.poll() is not None:
            pytest.skip(f"mlflow server does not start: {(tmp_path / 'server.log').read_text()[-300:]}")
        yield uri
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_holds_what_a_file_holds(study, server, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    results = make_results(tmp_path / "results")
    first = track(results, ["toy"], MODELS, PARAMS)
    assert track(results, ["toy"], MODELS, PARAMS) == [item._replace(new=False) for item in first]
    assert contents(server) == contents(study[1])
    assert not (tmp_path / "mlflow.db").exists()


def test_server_down_is_told_at_once_and_the_results_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    results = make_results(tmp_path / "results")
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    port = free_port()
    with pytest.raises(GradrankError) as caught:
        track(results, ["toy"], MODELS, PARAMS, f"http://user:secret@127.0.0.1:{port}")
    message = str(caught.value)
    assert f"127.0.0.1:{port}" in message and "repeat the same command" in message
    assert "secret" not in message
    assert (
        before.items() <= {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}.items()
    )


def test_unusable_stores_are_named(tmp_path, monkeypatch):
    results = make_results(tmp_path / "results", models=MODELS[:1])
    monkeypatch.chdir(tmp_path)
    Path("broken.db").write_text("not a database, and long enough to be taken for one " * 40)
    for uri in ("sqlite:///broken.db", "file:mlruns"):
        with pytest.raises(GradrankError, match=f"MLflow at {uri}: "):
            track(results, ["toy"], MODELS[:1], PARAMS, uri)


def test_incomplete_results_are_refused_before_anything_is_written(tmp_path):
    results, uri = make_results(tmp_path / "results"), f"sqlite:///{tmp_path}/mlflow.db"
    with pytest.raises(
        GradrankError, match=r"toy/absent: no per_query.parquet; train and evaluate absent on toy"
    ):
        track(results, ["toy"], [*MODELS, "absent"], PARAMS, uri)
    spec = results / "toy/baseline/fold2/spec.json"
    original = spec.read_text()
    spec.write_text(json.dumps(json.loads(original) | {"seed": 8}))
    with pytest.raises(GradrankError, match=r"toy/baseline: its folds differ in 'seed'"):
        track(results, ["toy"], MODELS, PARAMS, uri)
    spec.unlink()
    with pytest.raises(GradrankError, match=r"toy/baseline: has folds \[1, 3\]"):
        track(results, ["toy"], MODELS, PARAMS, uri)
    spec.write_text(original)
    with pytest.raises(GradrankError, match="not evaluated under convention 'trec'"):
        track(results, ["toy"], MODELS, {"evaluation": {"convention": "trec"}}, uri)


def test_a_folder_that_no_sqlite_address_can_name_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a?b").mkdir()
    monkeypatch.chdir(tmp_path / "a?b")
    with pytest.raises(GradrankError, match=r"a path with `\?` cannot stand in a SQLite address"):
        track(make_results(tmp_path / "results"), ["toy"], MODELS, PARAMS, "sqlite:///mlflow.db")
    assert not (tmp_path / "a").exists()
