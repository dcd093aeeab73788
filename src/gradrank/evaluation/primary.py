"""The primary convention of a data set, by a params.yaml that is read as it stands: beside results, of any age."""

from collections.abc import Mapping
from typing import Any

DEFAULT = "letor4"


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """`datasets.<dataset>.convention`, else the default, by default `evaluation.convention`."""
    own = (params.get("datasets") or {}).get(dataset) or {}
    return own.get("convention") or default or (params.get("evaluation") or {}).get("convention") or DEFAULT
