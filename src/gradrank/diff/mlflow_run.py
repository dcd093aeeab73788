"""A run that `gradrank track` wrote as a Side: a parent with all its methods, or the one method of a child."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.diff.results import measured, methods_of
from gradrank.diff.side import Cost, Side
from gradrank.errors import GradrankError
from gradrank.pipeline.mlflow_store import DEFAULT_URI, open_store

if TYPE_CHECKING:
    import polars as pl
    from mlflow import MlflowClient
    from mlflow.entities import Run


def read_run(run_id: str) -> Side:
    """Raises GradrankError for a run that is not there, is no result of ours or is not finished."""
    import polars as pl

    uri = os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        raise GradrankError(
            f"{run_id}: no MLflow store at {uri}; set MLFLOW_TRACKING_URI to the one that has it"
        )
    with open_store(uri) as (client, _), tempfile.TemporaryDirectory() as folder:
        found = _get(client, run_id, uri)
        runs = _newest(_children(client, found)) if found.data.tags.get("kind") == "study" else [found]
        if not runs or any("convention" not in run.data.tags for run in runs):
            raise GradrankError(
                f"{run_id}: no run that `gradrank track` finished; give a parent's or a child's id"
            )
        frame = pl.concat([_values(client, run, Path(folder)) for run in runs], how="diagonal")
    tags = [run.data.tags for run in runs]
    conventions = {each["dataset"]: each["convention"] for each in tags}
    costs = {(each["dataset"], each["model"]): _cost(run) for each, run in zip(tags, runs, strict=True)}
    params: dict[str, dict[str, Any]] = {}
    for run in runs:
        params.setdefault(run.data.tags["dataset"], {}).update(_params(run))
    return Side(
        name=run_id,
        kind="MLflow run",
        revision=tags[0].get("git_revision"),
        conventions=conventions,
        methods=methods_of({}, measured(frame, conventions), costs),
        params=params,
        data={each["dataset"]: {"source": each["data_sha256"]} for each in tags},
    )


def _get(client: "MlflowClient", run_id: str, uri: str) -> "Run":
    from mlflow.exceptions import MlflowException

    try:
        return client.get_run(run_id)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        raise GradrankError(f"{run_id}: no such run in MLflow at {uri}") from None


def _children(client: "MlflowClient", parent: "Run") -> Iterator["Run"]:
    """Newest first."""
    query = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}' AND attributes.status = 'FINISHED'"
    token = None
    while True:
        page = client.search_runs([parent.info.experiment_id], query, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _newest(children: Iterator["Run"]) -> list["Run"]:
    """Of the versions of each method the current one, else the newest."""
    found: dict[tuple[str, str], Run] = {}
    for run in children:
        key = run.data.tags["dataset"], run.data.tags["model"]
        if key not in found or run.data.tags.get("current") == "true":
            found[key] = run
    return [found[key] for key in sorted(found)]


def _values(client: "MlflowClient", run: "Run", folder: Path) -> "pl.DataFrame":
    """Rows as `per_query.gather` returns them."""
    import polars as pl

    own = folder / run.info.run_id
    own.mkdir()
    frame = pl.read_parquet(client.download_artifacts(run.info.run_id, "per_query.parquet", str(own)))
    names = [pl.lit(run.data.tags[key]).alias(key) for key in ("dataset", "model")]
    return frame.filter(pl.col("split") == "test").select(*names, pl.exclude("split"))


def _params(run: "Run") -> dict[str, dict[str, Any]]:
    """By section of params.yaml; MLflow keeps the model's, the data's as `data.queries`, seed and convention."""
    dataset, model = f"datasets.{run.data.tags['dataset']}", f"models.{run.data.tags['model']}"
    found: dict[str, dict[str, Any]] = {"": {}, dataset: {}, model: {}}
    for key, text in run.data.params.items():
        if key == "seed":
            found[""][key] = _value(text)
        elif key.startswith("data."):
            found[dataset][key.removeprefix("data.")] = _value(text)
        elif key != "convention":
            found[model][key] = _value(text)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _cost(run: "Run") -> Cost | None:
    metrics = run.data.metrics
    if "cost/seconds" not in metrics:
        return None
    return Cost(metrics["cost/seconds"], metrics["cost/peak_memory_mb"])
