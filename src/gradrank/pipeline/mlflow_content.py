"""What an MLflow run of ours holds: parameters, metrics by name, and trained folds as MLflow models.

The names are `gradrank.pipeline.mlflow_import`'s to explain and `gradrank.pipeline.mlflow_runs`'s to read back.
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gradrank.data.reader import Trained
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QUERY, read_test_queries
from gradrank.evaluation.seeds import timings
from gradrank.results import Fold, Method
from gradrank.validation import flat

if TYPE_CHECKING:
    import polars as pl
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

COST = "cost"  # the group of a method's whole cost
DATA = "data."  # begins the name of a parameter of the data set
SEED, SEEDS, CONVENTION = "seed", "seeds", "convention"  # parameters that are no model's
_DESCRIPTION, _DATA = "MLmodel", "data/fold"  # where an MLflow model has them
_VALUE_LENGTH, _METRICS_A_CALL, _PARAMS_A_CALL = 6000, 1000, 100  # MLflow's limits


def parameters(spec: Mapping[str, Any], convention: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Of a job's specification and its data set's settings, by name, as text that MLflow takes."""
    return texts(flat(spec["params"]) | {SEED: spec["seed"], CONVENTION: convention} | flat(data, DATA))


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as text of the length that MLflow takes."""
    return {
        key: (value if isinstance(value, str) else json.dumps(value))[:_VALUE_LENGTH]
        for key, value in values.items()
    }


def means(method: Method, convention: str, timestamp: int, seed: int | None = None) -> Iterator["Metric"]:
    """Means and fold means under their names in MLflow; of one seed, or of all there are."""
    import polars as pl

    per_query = pl.read_parquet(method.per_query_path)
    if seed is not None:
        per_query = per_query.filter(pl.col(SEED) == seed)
    rows = per_query.filter(pl.col("convention") == convention).drop("convention", "qid")
    rows = rows.drop(SEED, QUERY, strict=False)
    # Polars' mean skips nulls: queries that the convention leaves out.
    table = rows.group_by("split", "fold").mean().sort("split", "fold")
    for (split,), folds in table.group_by("split", maintain_order=True):
        yield from _curves(f"{split}_by_fold", folds.drop("split"), timestamp)
        yield from _curves(split, folds.select(pl.lit(0), pl.exclude("split", "fold").mean()), timestamp)


def over_seeds(method: Method, convention: str, timestamp: int) -> Iterator["Metric"]:
    """The whole cost of several seeds, and the standard deviation of each metric's test mean over them."""
    import polars as pl

    values = read_test_queries(method.per_query_path)[convention]
    deviations = pl.DataFrame({"step": 0} | {metric: values.spread(metric) for metric in values.values})
    yield from _curves("test_seed_deviation", deviations.fill_nan(None), timestamp)
    yield from _cost(timings(method), timestamp)


def _cost(times: Sequence[Mapping[str, float]], timestamp: int) -> Iterator["Metric"]:
    import polars as pl

    yield from _curves(COST, pl.DataFrame({"step": 0} | asdict(Cost.of(times))), timestamp)


def training(folds: Sequence[Fold], timestamp: int) -> Iterator["Metric"]:
    """Costs and curves of training, of one job a fold, under their names in MLflow."""
    import polars as pl

    times = [(fold.number, fold.timing()) for fold in folds]
    costs = pl.DataFrame([{"fold": number} | timing for number, timing in times])
    yield from _curves("cost_by_fold", costs, timestamp)
    yield from _cost([timing for _, timing in times], timestamp)
    for fold in folds:
        yield from _curves(f"fold{fold.number}", fold.history(), timestamp)


def _curves(group: str, table: "pl.DataFrame", timestamp: int) -> Iterator["Metric"]:
    """A metric `group/column` a column after the first, which is the step; null is left out."""
    from mlflow.entities import Metric

    (_, steps), *columns = table.to_dict(as_series=False).items()
    for name, values in columns:
        key = f"{group}/{name.replace('@', '_at_')}"
        for step, value in zip(steps, values, strict=True):
            if value is not None:
                yield Metric(key, float(value), timestamp, step)


def log_numbers(
    client: "MlflowClient", run: "Run", described: Mapping[str, str], values: Iterable["Metric"]
) -> None:
    """Parameters and metrics of a run; twice is as good as once."""
    from mlflow.entities import Param

    run_id, values = run.info.run_id, list(values)
    params = [Param(*each) for each in described.items()]
    for start in range(0, len(params), _PARAMS_A_CALL):
        client.log_batch(run_id, params=params[start : start + _PARAMS_A_CALL])
    for start in range(0, len(values), _METRICS_A_CALL):
        client.log_batch(run_id, metrics=values[start : start + _METRICS_A_CALL])


def log_models(client: "MlflowClient", run: "Run", folds: Sequence[Fold], partial: Path) -> None:
    """The trained folds as artefacts `fold1`, `fold2`, ...; partial: a folder to write them in first."""
    shutil.rmtree(partial, ignore_errors=True)  # left by an import that was killed
    for fold in folds:
        save_pyfunc(fold, partial / f"fold{fold.number}")
    _log_folders(client, run, partial)
    shutil.rmtree(partial)


def _log_folders(client: "MlflowClient", run: "Run", made: Path) -> None:
    """Folders as artefacts: where these are files of this machine moved, since of so many a copy takes its time."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
    from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

    artefacts = get_artifact_repository(run.info.artifact_uri, client.tracking_uri)
    if not isinstance(artefacts, LocalArtifactRepository):
        return client.log_artifacts(run.info.run_id, str(made))
    place = Path(artefacts.artifact_dir)
    place.mkdir(parents=True, exist_ok=True)
    for folder in sorted(made.iterdir()):
        shutil.rmtree(place / folder.name, ignore_errors=True)  # left by an import that was killed
        shutil.move(folder, place)


def save_pyfunc(fold: Fold, out: Path) -> None:
    """The trained fold as an MLflow model that `gradrank.predict` loads: its own files, no pickle.

    Its columns may hold any numbers, as pandas reads them: MLflow would narrow no double to the model's 32-bit floats,
    and take no whole number for a double. The input example is made up; rows of a licensed collection must not travel
    with a model.
    """
    spec = fold.spec()
    requirements = [  # without a build's own label, as in torch 2.13.0+cpu: indexes do not carry those
        f"{name}=={number.partition('+')[0]}" for name, number in spec["versions"].items() if name != "python"
    ]
    data = out / _DATA
    data.mkdir(parents=True)
    trained = Trained.of(spec)
    columns = (trained.columns.query or "qid", *trained.feature_names)
    description, size, files = _described(columns, tuple(requirements), out.parent)
    shutil.copy(fold.spec_path, data)
    shutil.copytree(fold.model_path, data / fold.model_path.name)
    for name, content in files.items():
        (out / name).write_bytes(content)
    own = {
        "model_uuid": uuid.uuid4().hex,
        "utc_time_created": f"'{datetime.now(UTC).replace(tzinfo=None)}'",
        "model_size_bytes": size + sum(path.stat().st_size for path in data.rglob("*") if path.is_file()),
    }
    for name, value in own.items():
        description = re.sub(rf"^{name}: .*$", f"{name}: {value}", description, flags=re.MULTILINE)
    (out / _DESCRIPTION).write_text(description, encoding="utf-8")


@cache
def _described(
    names: tuple[str, ...], requirements: tuple[str, ...], partial: Path
) -> tuple[str, int, dict[str, bytes]]:
    """MLflow's description of a model of columns with these names (query ids, features), without files, its size, and
    what lies beside it; made in the folder `partial`.

    MLflow looks up every requirement, which takes longer than all else that is done for a fold, and finds the same for
    all folds and most models; to write its YAML takes as long as the rest.
    """
    import mlflow.pyfunc
    import numpy as np
    import pandas as pd
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType

    query, *features = names
    columns = [ColSpec(AnyType(), query, required=False), *(ColSpec(AnyType(), name) for name in features)]
    model = Model()
    with TemporaryDirectory(dir=partial) as folder:
        fold, out = Path(folder, Path(_DATA).name), Path(folder, "described")
        fold.mkdir()
        mlflow.pyfunc.save_model(
            out,
            mlflow_model=model,
            loader_module="gradrank.predict",
            data_path=fold,
            signature=ModelSignature(Schema(columns), Schema([ColSpec("double", "score")])),
            input_example=pd.DataFrame(np.eye(2, len(features)), columns=features),
            pip_requirements=[*requirements],
        )
        files = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    return files.pop(_DESCRIPTION).decode(), model.model_size_bytes, files
