"""Import finished results into MLflow: one process, after the fact, as often as wanted.

What a user sees in `mlflow ui`: a parent run a data set, below it a run a model. A model's run holds

- parameters: the model's, flattened (`hidden`, `grid.C`), `seed`, `convention`, the data's (`data.queries`);
- `test/ndcg_at_10`: the mean over folds of their means (MLflow forbids `@`); so `vali/...`, `train/...`;
- `test_by_fold/ndcg_at_10`: a fold's mean, step = fold;
- `fold1/vali_map`: a curve of history.parquet, step = epoch or round;
- `cost/seconds` (sum over folds), `cost/peak_memory_mb` (the largest), and `cost_by_fold/...`;
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank import __version__
from gradrank.errors import GradrankError
from gradrank.files import read_json, sha256
from gradrank.pipeline.mlflow_store import DEFAULT_URI, exclusive, open_store
from gradrank.pipeline.provenance import git_revision
from gradrank.validation import flat

if TYPE_CHECKING:
    import polars as pl
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

FINISHED = "FINISHED"
_METRICS_A_CALL, _PARAMS_A_CALL, _VALUE_LENGTH = 1000, 100, 6000  # MLflow's limits


class Tracked(NamedTuple):
    """One (data set, model) in MLflow; `new` says whether this import wrote it."""

    dataset: str
    model: str
    run_id: str
    new: bool


@dataclass(frozen=True)
class Result:
    """results/<dataset>/<model>/ as it lies there. specs: spec.json of fold 1, 2, ..."""

    folder: Path
    dataset: str
    model: str
    convention: str
    specs: tuple[dict[str, Any], ...]

    @cached_property
    def spec_sha256(self) -> str:
        return _digest(self.specs)

    @cached_property
    def key(self) -> str:
        """Equal for equal results of one name: how each fold was trained and what each query got."""
        return _digest(
            [self.model, self.spec_sha256, sha256(self.folder / "per_query.parquet"), self.convention]
        )

    def fold(self, number: int) -> Path:
        return self.folder / f"fold{number}"


def track(
    results: Path,
    datasets: Sequence[str],
    models: Sequence[str],
    params: Mapping[str, Any] | None = None,
    uri: str | None = None,
) -> list[Tracked]:
    """Import results/<dataset>/<model>/ of all `datasets` and `models`, in this order.

    params: params.yaml: `evaluation.convention` says which values are shown (letor4 without it), and the
    settings of `datasets.<dataset>` are recorded. uri: the store; else MLFLOW_TRACKING_URI, else
    sqlite:///mlflow.db in the current folder. Raises GradrankError for results that are missing or do not
    belong together, before anything is written, and for a store that cannot be reached.
    """
    results = Path(results)
    params = params or {}
    convention = params.get("evaluation", {}).get("convention", "letor4")
    found = [_read(results, dataset, model, convention) for dataset in datasets for model in models]
    uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    tracked = []
    with exclusive(results / ".track.lock"), open_store(uri) as (client, experiment):
        for dataset in datasets:
            own = [result for result in found if result.dataset == dataset]
            data = flat(params.get("datasets", {}).get(dataset) or {}, "data.")
            tracked += _import(client, experiment, own, data, results / ".track.partial")
    return tracked


def _read(results: Path, dataset: str, model: str, convention: str) -> Result:
    """Raises GradrankError unless every fold is there, trained like the others and evaluated."""
    import polars as pl

    folder = results / dataset / model
    if not (folder / "per_query.parquet").is_file():
        raise GradrankError(f"{folder}: no per_query.parquet; train and evaluate {model} on {dataset} first")
    if convention not in pl.read_parquet(folder / "per_query.parquet", columns=["convention"])["convention"]:
        raise GradrankError(f"{folder}: not evaluated under convention {convention!r}; evaluate it again")
    specs = sorted(
        (read_json(path) for path in folder.glob("fold*/spec.json")), key=lambda spec: spec["fold"]
    )
    numbers = [spec["fold"] for spec in specs]
    if not specs or numbers != list(range(1, len(specs) + 1)):
        raise GradrankError(f"{folder}: has folds {numbers}; train the missing ones first")
    for name in ("params", "seed", "data_sha256", "features"):
        if any(spec[name] != specs[0][name] for spec in specs):
            raise GradrankError(f"{folder}: its folds differ in {name!r} (spec.json); train them again")
    return Result(folder, dataset, model, convention, tuple(specs))


def _import(
    client: "MlflowClient", experiment: str, found: list[Result], data: dict[str, Any], partial: Path
) -> list[Tracked]:
    """One data set's results below its parent run, which is found again by the data's hash."""
    if not found:
        return []
    dataset, source = found[0].dataset, found[0].specs[0]["data_sha256"]
    parent = _find_or_create(
        client,
        experiment,
        dataset,
        {"kind": "study", "dataset": dataset, "data_sha256": source, "key": _digest([dataset, source])},
    )
    tracked, revision = [], git_revision(found[0].folder)
    for result in found:
        tags = {
            "kind": "model",
            "dataset": dataset,
            "model": result.model,
            "key": result.key,
            "spec_sha256": result.spec_sha256,
            "data_sha256": source,
            "convention": result.convention,
            "gradrank_version": __version__,
            "mlflow.parentRunId": parent.info.run_id,
            "mlflow.source.name": "gradrank track",
        }
        if revision:
            tags |= {"git_revision": revision, "mlflow.source.git.commit": revision}
        run = _find_or_create(client, experiment, result.model, tags)
        new = run.info.status != FINISHED
        if new:
            _log(client, run, result, data, partial)
        _mark_current(client, experiment, result, run.info.run_id)
        tracked.append(Tracked(dataset, result.model, run.info.run_id, new))
    if parent.info.status != FINISHED or any(item.new for item in tracked):
        client.set_terminated(parent.info.run_id)
    return tracked


def _find_or_create(client: "MlflowClient", experiment: str, name: str, tags: dict[str, str]) -> "Run":
    same = client.search_runs([experiment], f"tags.kind = '{tags['kind']}' AND tags.key = '{tags['key']}'")
    return same[0] if same else client.create_run(experiment, tags=tags, run_name=name)


def _mark_current(client: "MlflowClient", experiment: str, result: Result, run_id: str) -> None:
    """Of all versions of a (data set, model), tag `current` the one that the results folder holds."""
    wanted = f"tags.kind = 'model' AND tags.dataset = '{result.dataset}' AND tags.model = '{result.model}'"
    for version in client.search_runs([experiment], wanted):
        current = "true" if version.info.run_id == run_id else "false"
        if version.data.tags.get("current") != current:
            client.set_tag(version.info.run_id, "current", current)


def _log(client: "MlflowClient", run: "Run", result: Result, data: dict[str, Any], partial: Path) -> None:
    """Everything of one result; the run is terminated last, which marks it as complete."""
    from mlflow.entities import Param

    run_id, spec = run.info.run_id, result.specs[0]
    values = flat(spec["params"]) | {"seed": spec["seed"], "convention": result.convention} | data
    params = [Param(key, _text(value)[:_VALUE_LENGTH]) for key, value in values.items()]
    metrics = list(_metrics(result, run.info.start_time))
    for start in range(0, len(params), _PARAMS_A_CALL):
        client.log_batch(run_id, params=params[start : start + _PARAMS_A_CALL])
    for start in range(0, len(metrics), _METRICS_A_CALL):
        client.log_batch(run_id, metrics=metrics[start : start + _METRICS_A_CALL])
    client.log_artifact(run_id, str(result.folder / "per_query.parquet"))
    shutil.rmtree(partial, ignore_errors=True)  # left by an import that was killed
    for number, fold_spec in enumerate(result.specs, 1):
        _save_pyfunc(result.fold(number), fold_spec, partial / f"fold{number}")
    client.log_artifacts(run_id, str(partial))
    shutil.rmtree(partial)
    client.set_terminated(run_id)


def _metrics(result: Result, timestamp: int) -> Iterator["Metric"]:
    """Means, fold means, costs and curves under their names in MLflow."""
    import polars as pl

    per_query = pl.read_parquet(result.folder / "per_query.parquet")
    rows = per_query.filter(pl.col("convention") == result.convention).drop("convention", "qid")
    # Polars' mean skips nulls: queries that the convention leaves out.
    means = rows.group_by("split", "fold").mean().sort("split", "fold")
    for (split,), folds in means.group_by("split", maintain_order=True):
        yield from _curves(f"{split}_by_fold", folds.drop("split"), timestamp)
        yield from _curves(split, folds.select(pl.lit(0), pl.exclude("split", "fold").mean()), timestamp)
    costs = pl.DataFrame(
        [
            {"fold": spec["fold"]} | read_json(result.fold(spec["fold"]) / "timing.json")
            for spec in result.specs
        ]
    )
    yield from _curves("cost_by_fold", costs, timestamp)
    total = costs.select(pl.lit(0), pl.col("^.*seconds$").sum(), pl.col("^peak_.*$").max())
    yield from _curves("cost", total, timestamp)
    for spec in result.specs:
        history = pl.read_parquet(result.fold(spec["fold"]) / "history.parquet")
        yield from _curves(f"fold{spec['fold']}", history, timestamp)


def _curves(group: str, table: "pl.DataFrame", timestamp: int) -> Iterator["Metric"]:
    """A metric `group/column` a column after the first, which is the step; null is left out."""
    from mlflow.entities import Metric

    step, *names = table.columns
    for name in names:
        key = f"{group}/{name.replace('@', '_at_')}"
        for at, value in table.select(step, name).drop_nulls().iter_rows():
            yield Metric(key, float(value), timestamp, at)


def _save_pyfunc(fold: Path, spec: dict[str, Any], out: Path) -> None:
    """The trained fold as an MLflow model that `gradrank.predict` loads: its own files, no pickle.

    The input example is made up; rows of a licensed collection must not travel with a model.
    """
    import mlflow.pyfunc
    import numpy as np
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    names = [f"f{i}" for i in range(1, spec["features"] + 1)]
    columns = [ColSpec("long", "qid", required=False), *(ColSpec("float", name) for name in names)]
    # Links, so that MLflow copies the model and its spec but not the scores beside them.
    staged = out.with_name("fold")
    staged.mkdir(parents=True)
    for name in ("model", "spec.json"):
        (staged / name).symlink_to((fold / name).absolute())
    mlflow.pyfunc.save_model(
        out,
        loader_module="gradrank.predict",
        data_path=staged,
        signature=ModelSignature(Schema(columns), Schema([ColSpec("double", "score")])),
        input_example=pd.DataFrame(np.eye(2, len(names), dtype=np.float32), columns=names),
        pip_requirements=[  # without a build's own label, as in torch 2.13.0+cpu: indexes do not carry those
            f"{name}=={number.partition('+')[0]}"
            for name, number in spec["versions"].items()
            if name != "python"
        ],
    )
    shutil.rmtree(staged)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
