"""Lookup of features that a user gives by name or by number."""

import re
from collections.abc import Iterable, Sequence

from gradrank.base.errors import GradrankError, unknown


def feature_columns(features: Iterable[str], count: int, names: Sequence[str] | None, where: str) -> list[int]:
    """Return the sorted columns, from 0, of features. Each feature is a name, a number from 1, or a range "11-15".

    count, names, where: see `feature_column`. Raises GradrankError if the data have no such feature.
    """
    columns: set[int] = set()
    for feature in features:
        bounds = re.fullmatch(r"(\d+)-(\d+)", feature)
        if bounds is None or feature in (names or ()):
            columns.add(feature_column(feature, count, names, where))
            continue
        first, last = (feature_column(bound, count, names, where) for bound in bounds.groups())
        if first > last:
            raise GradrankError(f"{where}: the range {feature} is empty. Fix: give the lower number first")
        columns.update(range(first, last + 1))
    return sorted(columns)


def feature_column(feature: str, count: int, names: Sequence[str] | None, where: str) -> int:
    """Return the column, from 0, of a feature.

    feature: the name of a feature, or its number from 1. Digits are a name if the data have a feature whose name
    consists of digits. count: the number of features. names: the names of the features, or None if they only have
    numbers. where: the name of the parameter, for the error message. Raises GradrankError if the data have no such
    feature.
    """
    names = names or ()
    if feature.isdecimal() and not any(map(str.isdecimal, names)):
        if not 1 <= int(feature) <= count:
            raise GradrankError(f"{where}: no feature {feature}. Fix: give a number from 1 to {count}")
        return int(feature) - 1
    if not names:
        raise GradrankError(
            f"{where}: {feature!r} is a name, but the features of these data have no names. "
            f"Fix: give a number from 1 to {count}"
        )
    if feature not in names:
        raise GradrankError(f"{where}: {unknown('feature', feature, names)}. Fix: give the name of a feature")
    return names.index(feature)
