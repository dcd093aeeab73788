"""Look up the primary convention of a data set in the content of a params.yaml.

The content is not validated, because an older version of gradrank may have written the file next to the results.
"""

from collections.abc import Mapping
from typing import Any

DEFAULT = "letor4"


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """Return the value of `datasets.<dataset>.convention`, or the default if this key is not set.

    default: if None, the value of `evaluation.convention` is used, or DEFAULT if that key is not set either.
    """
    settings = _section(_section(params, "datasets"), dataset)
    return settings.get("convention") or default or _section(params, "evaluation").get("convention") or DEFAULT


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}
