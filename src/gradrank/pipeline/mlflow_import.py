"""Import finished results into MLflow: one process, after the fact, as often as wanted.

What a user sees in `mlflow ui`: a parent run a data set, below it a run a model. A model's run holds

- parameters: the model's, flattened (`hidden`, `grid.C`), `seed`, `convention`, the data's (`data.queries`);
- `test/ndcg_at_10`: the mean over folds of their means (MLflow forbids `@`); so `vali/...`, `train/...`;
- `test_by_fold/ndcg_at_10`: a fold's mean, step = fold;
- `fold1/vali_map`: a curve of history.parquet, step = epoch or round;
- `cost/jobs`, `cost/seconds` and `cost/fit_seconds` (sums over folds), `cost/slowest_fit_seconds`,
  `cost/peak_memory_mb` (the largest), and `cost_by_fold/...`;
- artefacts: per_query.parquet and, as `fold1` to `fold5`, each trained model in its own format with a pyfunc
  flavour: `mlflow.pyfunc.load_model("runs:/<id>/fold1").predict(table)` scores a table with columns f1..fd;
- tags, among them `current`: "true" on the version that the results folder held at the last import.

A run is found again by its content (tag `key`): what was imported before is left alone, changed results make
a new run beside the old, and a run that a killed import left unfinished is completed. Every write can be
repeated: metrics are stamped with their run's own start time, so MLflow recognises them as the same.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank import __version__
from gradrank.errors import GradrankError
from gradrank.evaluation.primary import primary_convention
from gradrank.files import sha256
from gradrank.git import revision
from gradrank.pipeline.mlflow_content import metrics, parameters, save_pyfunc
from gradrank.pipeline.mlflow_store import DEFAULT_URI, exclusive, open_store
from gradrank.results import PER_QUERY, SPEC, Method, Results

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FINISHED = "FINISHED"
_METRICS_A_CALL, _PARAMS_A_CALL = 1000, 100  # MLflow's limits


class Tracked(NamedTuple):
    """One (data set, model) in MLflow; `new` says whether this import wrote it."""

    dataset: str
    model: str
    run_id: str
    new: bool


@dataclass(frozen=True)
class Result:
    """A method as it lies in results/. specs: of fold 1, 2, ..."""

    method: Method
    convention: str
    specs: tuple[dict[str, Any], ...]

    @cached_property
    def spec_sha256(self) -> str:
        return _digest(self.specs)

    @cached_property
    def key(self) -> str:
        """Equal for equal results of one name: how each fold was trained and what each query got."""
        measured = sha256(self.method.per_query_path)
        return _digest([self.method.name, self.spec_sha256, measured, self.convention])


def track(
    results: Path,
    datasets: Sequence[str],
    models: Sequence[str],
    params: Mapping[str, Any] | None = None,
    uri: str | None = None,
) -> list[Tracked]:
    """Import results/<dataset>/<model>/ of all `datasets` and `models`, in this order.

    params: params.yaml: the primary convention of a data set says which values are shown (letor4 without it), and the
    settings of `datasets.<dataset>` are recorded. uri: the store; else MLFLOW_TRACKING_URI, else
    sqlite:///mlflow.db in the current folder. Raises GradrankError for results that are missing or do not
    belong together, before anything is written, and for a store that cannot be reached.
    """
    root = Results(Path(results))
    params = params or {}
    found = [
        _read(root.dataset(dataset).method(model), primary_convention(params, dataset))
        for dataset in datasets
        for model in models
    ]
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    tracked = []
    with exclusive(root.folder / ".track.lock"), open_store(uri) as (client, experiment):
        for dataset in datasets:
            own = [result for result in found if result.method.dataset == dataset]
            data = params.get("datasets", {}).get(dataset) or {}
            tracked += _import(client, experiment, own, data, root)
    return tracked


def _read(method: Method, convention: str) -> Result:
    """Raises GradrankError unless every fold is there, trained like the others and evaluated."""
    import polars as pl

    folder, model, dataset = method.folder, method.name, method.dataset
    if not method.evaluated:
        raise GradrankError(f"{folder}: no {PER_QUERY}; train and evaluate {model} on {dataset} first")
    if convention not in pl.read_parquet(method.per_query_path, columns=["convention"])["convention"]:
        raise GradrankError(f"{folder}: not evaluated under convention {convention!r}; evaluate it again")
    specs = [fold.spec() for fold in method.folds()]
    numbers = [spec["fold"] for spec in specs]
    if not specs or numbers != list(range(1, len(specs) + 1)):
        raise GradrankError(f"{folder}: has folds {numbers}; train the missing ones first")
    for name in ("params", "seed", "data_sha256", "features"):
        if any(spec[name] != specs[0][name] for spec in specs):
            raise GradrankError(f"{folder}: its folds differ in {name!r} ({SPEC}); train them again")
    return Result(method, convention, tuple(specs))


def _import(
    client: "MlflowClient", experiment: str, found: list[Result], data: dict[str, Any], root: Results
) -> list[Tracked]:
    """One data set's results below its parent run, which is found again by the data's hash."""
    if not found:
        return []
    dataset, source = found[0].method.dataset, found[0].specs[0]["data_sha256"]
    parent = _find_or_create(
        client,
        experiment,
        dataset,
        {"kind": "study", "dataset": dataset, "data_sha256": source, "key": _digest([dataset, source])},
    )
    tracked, commit = [], revision(root.project)
    for result in found:
        tags = {
            "kind": "model",
            "dataset": dataset,
            "model": result.method.name,
            "key": result.key,
            "spec_sha256": result.spec_sha256,
            "data_sha256": source,
            "convention": result.convention,
            "gradrank_version": __version__,
            "mlflow.parentRunId": parent.info.run_id,
            "mlflow.source.name": "gradrank track",
        }
        if commit:
            tags |= {"git_revision": commit, "mlflow.source.git.commit": commit}
        run = _find_or_create(client, experiment, result.method.name, tags)
        new = run.info.status != FINISHED
        if new:
            _log(client, run, result, data, root.folder / ".track.partial")
        _mark_current(client, experiment, result, run.info.run_id)
        tracked.append(Tracked(dataset, result.method.name, run.info.run_id, new))
    if parent.info.status != FINISHED or any(item.new for item in tracked):
        client.set_terminated(parent.info.run_id)
    return tracked


def _find_or_create(client: "MlflowClient", experiment: str, name: str, tags: dict[str, str]) -> "Run":
    same = client.search_runs([experiment], f"tags.kind = '{tags['kind']}' AND tags.key = '{tags['key']}'")
    return same[0] if same else client.create_run(experiment, tags=tags, run_name=name)


def _mark_current(client: "MlflowClient", experiment: str, result: Result, run_id: str) -> None:
    """Of all versions of a (data set, model), tag `current` the one that the results folder holds."""
    wanted = f"tags.kind = 'model' AND tags.dataset = '{result.method.dataset}' AND tags.model = '{result.method.name}'"
    for version in client.search_runs([experiment], wanted):
        current = "true" if version.info.run_id == run_id else "false"
        if version.data.tags.get("current") != current:
            client.set_tag(version.info.run_id, "current", current)


def _log(client: "MlflowClient", run: "Run", result: Result, data: dict[str, Any], partial: Path) -> None:
    """Everything of one result; the run is terminated last, which marks it as complete."""
    from mlflow.entities import Param

    run_id = run.info.run_id
    params = [Param(*each) for each in parameters(result.specs[0], result.convention, data).items()]
    values = list(metrics(result.method, result.convention, run.info.start_time))
    for start in range(0, len(params), _PARAMS_A_CALL):
        client.log_batch(run_id, params=params[start : start + _PARAMS_A_CALL])
    for start in range(0, len(values), _METRICS_A_CALL):
        client.log_batch(run_id, metrics=values[start : start + _METRICS_A_CALL])
    client.log_artifact(run_id, str(result.method.per_query_path))
    shutil.rmtree(partial, ignore_errors=True)  # left by an import that was killed
    for fold in result.method.folds():
        save_pyfunc(fold, partial / fold.name)
    client.log_artifacts(run_id, str(partial))
    shutil.rmtree(partial)
    client.set_terminated(run_id)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
