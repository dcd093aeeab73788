"""A run that `gradrank track` wrote as a Side: a parent with all its methods, or the one method of a child."""

from typing import Any

from gradrank.diff.results import measured, methods_of
from gradrank.diff.side import Side
from gradrank.pipeline.mlflow_runs import TrackedMethod, read_tracked


def read_run(run_id: str) -> Side:
    """Raises GradrankError for a run that is not there, is no result of ours or is not finished."""
    import polars as pl

    found = read_tracked(run_id)
    conventions = {each.dataset: each.convention for each in found}
    values = measured(pl.concat([each.values for each in found], how="diagonal"), conventions)
    params: dict[str, dict[str, Any]] = {}
    for each in found:
        own = params.setdefault(each.dataset, {"": {}})
        own |= _params(each) | {"": own[""] | _seeds(each)}
    return Side(
        name=run_id,
        kind="MLflow run",
        revision=found[0].revision,
        conventions=conventions,
        methods=methods_of({}, values, {(each.dataset, each.model): each.cost for each in found}),
        params=params,
        data={each.dataset: {"source": each.data_sha256} for each in found},
    )


def _seeds(method: TrackedMethod) -> dict[str, Any]:
    """`seed`, and `seeds` of a method that has several, as far as they were recorded."""
    known = {"seed": method.seed, "seeds": method.seeds}
    return {key: value for key, value in known.items() if value is not None}


def _params(method: TrackedMethod) -> dict[str, dict[str, Any]]:
    """By section of params.yaml."""
    return {
        f"datasets.{method.dataset}": method.data,
        f"models.{method.model}": method.params,
    }
