"""A comparison as plain data for other programs: the output of `gradrank diff --json`."""

import math
from dataclasses import asdict
from typing import Any

from gradrank.bench.diff.compare import Comparison, Query
from gradrank.bench.diff.state import State


def plain(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as dictionaries and lists. Numbers are not rounded, and nan becomes None."""
    return _without_nan(
        {
            "a": _state(comparison.a),
            "b": _state(comparison.b),
            "changes": {
                kind: None if changes is None else [change._asdict() for change in changes]
                for kind, changes in comparison.changes._asdict().items()
            },
            "rows": [asdict(row) for row in comparison.rows],
            "moved": [
                {
                    "dataset": moved.dataset,
                    "model": moved.model,
                    "metric": moved.metric,
                    "gained": list(map(_query, moved.gained)),
                    "lost": list(map(_query, moved.lost)),
                }
                for moved in comparison.moved
            ],
            "costs": [
                {"dataset": pair.dataset, "model": pair.model, "a": asdict(pair.a), "b": asdict(pair.b)}
                for pair in comparison.costs
            ],
            "renamed": [pair._asdict() for pair in comparison.renamed],
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "refused": comparison.refused,
            "notices": comparison.notices,
        }
    )


def _state(state: State) -> dict[str, Any]:
    return {"name": state.name, "kind": state.kind, "revision": state.revision, "conventions": dict(state.conventions)}


def _query(query: Query) -> dict[str, Any]:
    return query._asdict() | {"gap": query.gap}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
