"""Nested parameters under dotted names."""

from collections.abc import Mapping
from typing import Any


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys: {"grid": {"C": 1}} -> {"grid.C": 1}."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= flat(inner, f"{prefix}{key}.") if isinstance(inner, Mapping) else {f"{prefix}{key}": inner}
    return found
