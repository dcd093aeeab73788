"""A comparison as plain data, for programs: what `--json` prints."""

import math
from dataclasses import asdict
from typing import Any

from gradrank.diff.compare import Comparison, Query
from gradrank.diff.state import State


def plain(comparison: Comparison) -> dict[str, Any]:
    """Numbers with all their digits; nan as None."""
    return _without_nan(
        {
            "a": _side(comparison.a),
            "b": _side(comparison.b),
            "changes": {
                kind: None if found is None else [change._asdict() for change in found]
                for kind, found in comparison.changes._asdict().items()
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
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "refused": comparison.refused,
            "notices": comparison.notices,
        }
    )


def _side(side: State) -> dict[str, Any]:
    return {"name": side.name, "kind": side.kind, "revision": side.revision, "conventions": dict(side.conventions)}


def _query(query: Query) -> dict[str, Any]:
    return query._asdict() | {"gap": query.gap}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
