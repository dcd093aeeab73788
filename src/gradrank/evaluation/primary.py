"""The primary convention of a data set, from the content of any params.yaml.

The content is not validated, because the file next to results may have been written by an older version.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT = "letor4"


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """Return the convention of `datasets.<dataset>.convention`; if not set, the default.

    default: None stands for `evaluation.convention`, and for DEFAULT if that is not set either.
    """
    settings = _section(_section(params, "datasets"), dataset)
    return settings.get("convention") or default or _section(params, "evaluation").get("convention") or DEFAULT


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}
