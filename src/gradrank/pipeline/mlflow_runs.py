"""Runs that `gradrank track` wrote, read back from MLflow: a parent with all its methods, or the one of a child."""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradrank.errors import GradrankError
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import labelled
from gradrank.pipeline.mlflow_content import CONVENTION, COST, DATA, SEED, SEEDS
from gradrank.pipeline.mlflow_import import FINISHED
from gradrank.pipeline.mlflow_store import DEFAULT_URI, open_store
from gradrank.results import PER_QUERY

if TYPE_CHECKING:
    import polars as pl
    from mlflow import MlflowClient
    from mlflow.entities import Run


@dataclass(frozen=True)
class TrackedMethod:
    """One method on one data set, as MLflow holds it.

    params: the model's, by dotted key. data: the data set's settings. seed: None where it was not recorded; seeds:
    all of several.
    cost: None where no times were; nan what an older import did not record. values: rows as of
    `per_query.labelled`.
    """

    dataset: str
    model: str
    convention: str
    revision: str | None
    data_sha256: str
    params: dict[str, Any]
    data: dict[str, Any]
    seed: int | None
    seeds: list[int] | None
    cost: Cost | None
    values: "pl.DataFrame"


def read_tracked(run_id: str) -> list[TrackedMethod]:
    """Those of a run, at least one. Raises GradrankError for a run that is not there, not ours or not finished."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        raise GradrankError(
            f"{run_id}: no MLflow store at {uri}; set MLFLOW_TRACKING_URI to the one that has it"
        )
    with open_store(uri) as (client, _), tempfile.TemporaryDirectory() as folder:
        found = _get(client, run_id, uri)
        runs = _newest(_methods(client, found))
        if not runs:
            raise GradrankError(
                f"{run_id}: no run that `gradrank track` finished; give a parent's or a child's id"
            )
        return [_method(run, _values(client, run, Path(folder))) for run in runs]


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
    query = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}' AND attributes.status = '{FINISHED}'"
    token = None
    while True:
        page = client.search_runs([parent.info.experiment_id], query, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _methods(client: "MlflowClient", run: "Run") -> Iterator["Run"]:
    """A method's own run, or those below a data set's, a study's or a sweep's."""
    if "convention" in run.data.tags:
        yield run
        return
    for child in _children(client, run):
        yield from _methods(client, child)


def _newest(children: Iterator["Run"]) -> list["Run"]:
    """Of the versions of each method the current one, else the newest."""
    found: dict[tuple[str, str], Run] = {}
    for run in children:
        key = run.data.tags["dataset"], run.data.tags["model"]
        if key not in found or run.data.tags.get("current") == "true":
            found[key] = run
    return [found[key] for key in sorted(found)]


def _values(client: "MlflowClient", run: "Run", folder: Path) -> "pl.DataFrame":
    import polars as pl

    own = folder / run.info.run_id
    own.mkdir()
    table = pl.read_parquet(client.download_artifacts(run.info.run_id, PER_QUERY, str(own)))
    return labelled(table, run.data.tags["dataset"], run.data.tags["model"])


def _method(run: "Run", values: "pl.DataFrame") -> TrackedMethod:
    tags = run.data.tags
    params = {key: _value(text) for key, text in run.data.params.items() if key != CONVENTION}
    seed, seeds = params.pop(SEED, None), params.pop(SEEDS, None)
    data = {key.removeprefix(DATA): params.pop(key) for key in list(params) if key.startswith(DATA)}
    return TrackedMethod(
        dataset=tags["dataset"],
        model=tags["model"],
        convention=tags["convention"],
        revision=tags.get("git_revision"),
        data_sha256=tags["data_sha256"],
        params=params,
        data=data,
        seed=seed,
        seeds=seeds,
        cost=_cost(run.data.metrics),
        values=values,
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _cost(metrics: dict[str, float]) -> Cost | None:
    if f"{COST}/seconds" not in metrics:
        return None
    return Cost(**{field.name: metrics.get(f"{COST}/{field.name}", float("nan")) for field in fields(Cost)})
