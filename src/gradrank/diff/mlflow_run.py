"""State of an MLflow run of `gradrank track`: the run of one method, or a parent run with the runs of its methods."""

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

MAX_RESULTS = 50_000  # MLflow's limit of runs per search


def read_run(run_id: str) -> State:
    """Return the state of a run. Raises GradrankError if it is missing, unfinished or not from `gradrank track`."""
    import polars as pl

    with open_store(create=False) as (client, experiment):
        runs = _current(client, experiment, run_id)
        tables = [_values(client, run) for run in runs]
    if not runs:
        raise GradrankError(f"{run_id}: not a finished run of `gradrank track`. Fix: give a run id from tracked.json")
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
    """Return a list with the run that has this id. If this run is a parent run, return one run per method instead.

    If a method has several runs, the run with the tag `current` is returned, or the newest run if there is no such run.
    """
    runs: dict[tuple[str, str], Run] = {}
    for condition in (f"attributes.run_id = '{run_id}'", f"tags.`{PARENT}` = '{run_id}'"):
        query = f"{condition} AND tags.kind = 'method' AND attributes.status = '{FINISHED}'"
        for run in client.search_runs([experiment], query, max_results=MAX_RESULTS):
            if _method(run) not in runs or run.data.tags.get("current") == "true":
                runs[_method(run)] = run
    return [runs[method] for method in sorted(runs)]


def _values(client: "MlflowClient", run: "Run") -> "pl.DataFrame":
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        table = pl.read_parquet(client.download_artifacts(run.info.run_id, PER_QUERY, folder))
    return label_test_queries(table, *_method(run))


def _add_params(params: dict[str, dict[str, Any]], run: "Run") -> None:
    """Add the parameters of a run to `params`, whose keys are sections of params.yaml."""
    dataset, model = _method(run)
    values = {key: _value(text) for key, text in run.data.params.items() if key != CONVENTION}
    seeds = {key: values.pop(key) for key in (SEED, SEEDS)}
    params[""] |= seeds if len(seeds[SEEDS]) > 1 else {SEED: seeds[SEED]}
    params[f"datasets.{dataset}"] = _with_prefix(values, DATA)
    params[f"models.{model}"] = {key: values[key] for key in values if not key.startswith(DATA)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _cost(run: "Run") -> Cost | None:
    costs: dict[str, Any] = _with_prefix(run.data.metrics, f"{COST}/")
    values: dict[str, Any] = {field.name: costs.get(field.name) for field in fields(Cost)}
    return Cost(**values) if costs else None


def _with_prefix(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the values whose key starts with the prefix. The keys of the result lack the prefix."""
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
