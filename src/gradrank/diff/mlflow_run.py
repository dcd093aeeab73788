"""A run of `gradrank track` as a Side: one method's, or that of a data set or study with all methods below it."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gradrank.base.errors import GradrankError
from gradrank.base.results import PER_QUERY
from gradrank.diff.results import measured, methods_of
from gradrank.diff.state import State
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import label_test_queries
from gradrank.evaluation.seeds import SEED
from gradrank.tracking.content import CONVENTION, COST, DATA, SEEDS
from gradrank.tracking.runs import FINISHED, PARENT
from gradrank.tracking.store import open_store

if TYPE_CHECKING:
    import polars as pl
    from mlflow import MlflowClient
    from mlflow.entities import Run

MOST = 50_000  # runs per search, MLflow's limit


def read_run(run_id: str) -> State:
    """Read a run. Raises GradrankError if it is missing, unfinished or not of `gradrank track`."""
    import polars as pl

    with open_store(create=False) as (client, experiment):
        runs = _current(client, experiment, run_id)
        tables = [_values(client, run) for run in runs]
    if not runs:
        raise GradrankError(f"{run_id}: no finished run of `gradrank track`. Fix: give an id of tracked.json")
    conventions = {run.data.tags["dataset"]: run.data.tags[CONVENTION] for run in runs}
    params: dict[str, dict[str, Any]] = {}
    for run in runs:
        _add_params(params.setdefault(run.data.tags["dataset"], {"": {}}), run)
    return State(
        name=run_id,
        kind="MLflow run",
        revision=runs[0].data.tags.get("git_revision"),
        conventions=conventions,
        methods=methods_of(
            {}, measured(pl.concat(tables, how="diagonal"), conventions), {_method(run): _cost(run) for run in runs}
        ),
        params=params,
        data={run.data.tags["dataset"]: {"source": run.data.tags["data_sha256"]} for run in runs},
    )


def _method(run: "Run") -> tuple[str, str]:
    return run.data.tags["dataset"], run.data.tags["model"]


def _current(client: "MlflowClient", experiment: str, run_id: str) -> list["Run"]:
    """Return the run of a method, or per method below a parent the current run, else the newest."""
    found: dict[tuple[str, str], Run] = {}
    for one in (f"attributes.run_id = '{run_id}'", f"tags.`{PARENT}` = '{run_id}'"):
        query = f"{one} AND tags.kind = 'method' AND attributes.status = '{FINISHED}'"
        for run in client.search_runs([experiment], query, max_results=MOST):
            if _method(run) not in found or run.data.tags.get("current") == "true":
                found[_method(run)] = run
    return [found[method] for method in sorted(found)]


def _values(client: "MlflowClient", run: "Run") -> "pl.DataFrame":
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        table = pl.read_parquet(client.download_artifacts(run.info.run_id, PER_QUERY, folder))
    return label_test_queries(table, *_method(run))


def _add_params(params: dict[str, dict[str, Any]], run: "Run") -> None:
    """Add a run's parameters by section of params.yaml."""
    dataset, model = _method(run)
    values = {key: _value(text) for key, text in run.data.params.items() if key != CONVENTION}
    seeds = {key: values.pop(key) for key in (SEED, SEEDS)}
    params[""] |= seeds if len(seeds[SEEDS]) > 1 else {SEED: seeds[SEED]}
    params[f"datasets.{dataset}"] = _named(values, DATA)
    params[f"models.{model}"] = {key: values[key] for key in values if not key.startswith(DATA)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _cost(run: "Run") -> Cost | None:
    found = _named(run.data.metrics, f"{COST}/")
    return Cost(**{each.name: found.get(each.name) for each in fields(Cost)}) if found else None


def _named(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
