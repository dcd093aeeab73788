"""Comparison of the tables in numbers.json with recomputed ones, for the scripts that do not import gradrank."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

TOLERANCE = 2e-6  # numbers.json has six decimals

Rows = list[dict]


def differences(wanted: Rows, rows: Rows, keys: Sequence[str]) -> Iterator[str]:
    """Yield one line per number or word of a table that was recomputed differently. The order of rows is free.

    wanted: rows of numbers.json. rows: recomputed rows. keys: the columns that together identify a row.
    """
    found = {tuple(row[key] for key in keys): row for row in rows}
    if len(wanted) != len(rows):
        yield f"{len(wanted)} rows, recomputed {len(rows)}"
    for row in wanted:
        own = found.get(tuple(row[key] for key in keys), {})
        for name, value in row.items():
            if name in own and not same(value, own[name]):
                yield f"{' '.join(str(row[key]) for key in keys)}: {name}: {value}, recomputed {own[name]}"
            elif name not in own:
                yield f"{' '.join(str(row[key]) for key in keys)}: {name}: not recomputed"


def same(a: object, b: object) -> bool:
    """Return whether two numbers agree to six decimals, or two words are equal. None is an undefined number."""
    numbers = [math.nan if value is None else value for value in (a, b)]
    if not all(isinstance(value, int | float | np.number) for value in numbers):
        return a == b
    x, y = map(float, numbers)
    return (math.isnan(x) and math.isnan(y)) or x == y or abs(x - y) <= TOLERANCE * max(1.0, abs(x))
