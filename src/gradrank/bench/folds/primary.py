"""Look up the primary convention and the baseline of a data set in the content of a params.yaml.

The content is not validated, because an older version of gradrank may have written the file next to the results.
"""

from collections.abc import Mapping
from typing import Any

from gradrank.data.sources.catalogue import catalogue

DEFAULT = "letor4"
BASELINE = "ranksvm"  # Joachims 2002, the oldest method on pairs of documents with a published value on LETOR's data


def primary_convention(params: Mapping[str, Any], dataset: str, default: str | None = None) -> str:
    """Return the value of `datasets.<dataset>.convention`, or the default if this key is not set.

    default: if None, the convention in the catalogue is used, then the value of `evaluation.convention`, then DEFAULT.
    """
    settings, entry = _section(_section(params, "datasets"), dataset), catalogue().get(dataset)
    of_entry = entry.convention if entry else None
    of_run = _section(params, "evaluation").get("convention")
    return settings.get("convention") or default or of_entry or of_run or DEFAULT


def baseline_of(params: Mapping[str, Any]) -> str:
    """Return the value of `evaluation.baseline`, or BASELINE if this key is not set."""
    return _section(params, "evaluation").get("baseline") or BASELINE


def _section(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = values.get(name)
    return section if isinstance(section, Mapping) else {}
