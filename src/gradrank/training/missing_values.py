"""The check that methods accept the missing values of a data set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.training.registry import models

MOST_NAMED = 10  # maximum number of features that the message lists


def check_missing_values(data: Path, description: Mapping[str, Any], methods: Sequence[str]) -> None:
    """Raise GradrankError if a feature has missing values. The message names all such features and all methods.

    data: the folder of the stored collection. description: the content of its collection.json. methods: the names of
    methods that do not accept missing values.
    """
    missing = description.get("missing_values", {})
    if not (missing and methods):
        return
    names = description.get("names")
    called = {feature: f" ({names[int(feature[1:]) - 1]!r})" if names else "" for feature in missing}
    counts = [f"{feature}{called[feature]} in {rows:,}" for feature, rows in missing.items()]
    more = f", .. ({len(counts):,} features in all)" if len(counts) > MOST_NAMED else ""
    shown = ", ".join(counts[:MOST_NAMED]) + more
    refuse = f"{methods[0]} does" if len(methods) == 1 else f"{', '.join(methods[:-1])} and {methods[-1]} do"
    capable = ", ".join(name for name, cls in models().items() if cls.takes_missing)
    raise GradrankError(
        f"{data}: features are missing in some of {description['rows']:,} rows: {shown}; "
        f"{refuse} not accept missing values. Fix: replace them (`missing: mean`, `zero` or `least` for "
        f"{description['dataset']} in params.yaml), or choose methods that accept them: {capable}"
    )
