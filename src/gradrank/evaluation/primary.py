"""The primary convention of a data set, by a params.yaml that is read as it stands: beside results, of any age."""

from collections.abc import Mapping
from typing import Any

DEFAULT = "letor4"


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """`datasets.<dataset>.convention`, else the default, by default `evaluation.convention`."""
    own = _section(_section(params, "datasets"), dataset)
    return own.get("convention") or default or _section(params, "evaluation").get("convention") or DEFAULT


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}
