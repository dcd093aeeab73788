"""Conversions to float64 that keep different numbers apart."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

EXACT = 2**53  # all whole numbers up to this one are different as float64


def first_gap(kind: np.dtype) -> float:
    """Return the bound below which all whole numbers are different in a float type."""
    return 2.0 ** (np.finfo(kind).nmant + 1)


def merged_row(values: pl.Series) -> int | None:
    """Return the first row, from 0, whose number becomes equal to a different number as float64; None without one."""
    if not (values.dtype.is_integer() or values.dtype.is_decimal()):
        return None
    if values.dtype.is_integer():
        low, high = values.min(), values.max()
        if low is None or (low >= -EXACT and high <= EXACT):  # pyright: ignore[reportOperatorIssue]
            return None
    pairs = pl.DataFrame({"number": values, "float": values.cast(pl.Float64)}).with_row_index("row")
    distinct = pairs.unique("number").filter(pl.col("float").is_duplicated() & pl.col("number").is_not_null())
    return distinct["row"].min() if len(distinct) else None  # pyright: ignore[reportReturnType]


def merged_array_row(array: np.ndarray) -> int | None:
    """Return the result of `merged_row` for (n,) integers or floats."""
    is_wide = array.dtype.itemsize > 8 if array.dtype.kind == "f" else array.dtype.itemsize == 8 and array.size > 0
    if is_wide and array.dtype.kind in "iu":  # NumPy alone, because Polars' expressions do not return in a fork
        is_wide = bool(array.min() < -EXACT or array.max() > EXACT)
    return _first_merged(array.tolist(), array.astype(np.float64).tolist()) if is_wide else None


def merged_object_row(values: Iterable[Any]) -> int | None:
    """Return the result of `merged_row` for Python numbers. A whole number beyond the range of floats counts, too."""
    values = list(values)
    floats = []
    for row, value in enumerate(values):
        try:
            floats.append(float(value))
        except OverflowError:
            return row
        except (TypeError, ValueError):
            return None
    return _first_merged(values, floats)


def _first_merged(values: list[Any], floats: list[float]) -> int | None:
    seen: dict[float, Any] = {}
    for row, (value, converted) in enumerate(zip(values, floats, strict=True)):
        if seen.setdefault(converted, value) != value and value == value:
            return row
    return None


def merged_text(values: pl.Series) -> str | None:
    """Return the first whole number in a column of text that equals another one as float64, or None without one."""
    digits = values.filter(values.str.contains(r"^[+-]?[0-9]{16,37}$").fill_null(False))
    row = merged_row(digits.str.strip_prefix("+").cast(pl.Int128)) if len(digits) else None
    return None if row is None else digits[row]


def is_beyond_exact(values: pl.Series) -> pl.Series:
    """Return True for each float that is not a whole number below the first gap of its type (see `first_gap`)."""
    bound = first_gap(np.dtype(str(values.dtype).lower()))
    return ~(values.is_finite() & (values == values.floor()) & (values.cast(pl.Float64).abs() < bound))
