"""Conversions that keep different ids and numbers apart, and detection of distinct values that become equal.

Numbers become float64 values. Features are float32 values. This type has 24 binary digits. Larger whole numbers, such
as times in seconds, may become equal.

Ids of queries and documents are text in every input form and are never reformatted. If all query ids of a collection
are whole numbers in their usual spelling (no sign, no leading zeros, at most 18 digits), arrays and files hold these
numbers, which take less space than text. Otherwise, queries are numbered from 1 in the order of first appearance.
Arrays and files then hold both the numbers and the ids.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError

EXACT_IN_FLOAT64 = 2**53  # all whole numbers up to this one are different as float64


def first_gap(kind: np.dtype) -> float:
    """Return the bound below which all whole numbers are different in a float type."""
    return 2.0 ** (np.finfo(kind).nmant + 1)


def merged_row(values: pl.Series) -> int | None:
    """Return the first row, from 0, whose number becomes equal to a different number as float64; None without one."""
    if not (values.dtype.is_integer() or values.dtype.is_decimal()):
        return None
    if values.dtype.is_integer():
        low, high = values.min(), values.max()
        if low is None or (low >= -EXACT_IN_FLOAT64 and high <= EXACT_IN_FLOAT64):  # pyright: ignore[reportOperatorIssue]
            return None
    pairs = pl.DataFrame({"number": values, "float": values.cast(pl.Float64)}).with_row_index("row")
    distinct = pairs.unique("number").filter(pl.col("float").is_duplicated() & pl.col("number").is_not_null())
    return distinct["row"].min() if len(distinct) else None  # pyright: ignore[reportReturnType]


def merged_array_row(array: np.ndarray) -> int | None:
    """Return the result of `merged_row` for (n,) integers or floats."""
    is_wide = array.dtype.itemsize > 8 if array.dtype.kind == "f" else array.dtype.itemsize == 8 and array.size > 0
    if is_wide and array.dtype.kind in "iu":  # NumPy alone, because Polars' expressions do not return in a fork
        is_wide = bool(array.min() < -EXACT_IN_FLOAT64 or array.max() > EXACT_IN_FLOAT64)
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


EXACT_IN_FLOAT32 = 2.0**24  # whole numbers up to this one are exact in float32
MERGED_SHARE = 0.01  # of the neighbouring values of a query; random float64 numbers merge far less often
ROUNDING = 2.0**-48  # relative difference of values that are equal but for rounding in float64
MOST_ROWS = 1 << 14  # rows of whole queries in which fractions are compared


def merges(values: np.ndarray, query: np.ndarray) -> bool:
    """Return True if distinct values of a feature become equal in float32.

    Whole numbers count if any become equal, and other numbers if a hundredth of the neighbouring values in the first
    queries become equal. values: (n,) numbers in their own type. query: (n,) numbers of the queries, from 0, in the
    order of their first rows.
    """
    if values.dtype.kind not in "iuf" or values.dtype.itemsize < 4 or values.dtype == np.float32 or not len(values):
        return False
    with np.errstate(invalid="ignore"):
        peak = max(abs(float(np.fmin.reduce(values))), abs(float(np.fmax.reduce(values))))
        is_whole = peak > EXACT_IN_FLOAT32 and bool(((values == np.floor(values)) | np.isnan(values)).all())
    if is_whole or values.dtype.kind != "f":
        return peak > EXACT_IN_FLOAT32 and len(np.unique(values)) > len(np.unique(_narrowed(values)))
    chosen = query <= np.searchsorted(np.cumsum(np.bincount(query)), MOST_ROWS)
    chosen &= np.isfinite(values)
    values, query = values[chosen], query[chosen] * (peak <= EXACT_IN_FLOAT32)  # large numbers count in the whole data
    order = np.lexsort((values, query))
    values, query = values[order], query[order]
    gaps = np.diff(values)
    differs = (np.diff(query) == 0) & (gaps > ROUNDING * np.abs(values[1:]))
    narrowed = _narrowed(values)
    merged = differs & (narrowed[1:] == narrowed[:-1])
    return bool(merged.any()) and merged.sum() >= MERGED_SHARE * differs.sum()


def _narrowed(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


WHOLE = r"^(?:0|[1-9][0-9]{0,17})$"
MISSING = ("", "nan", "na", "n/a", "<na>", "null", "none", "nat")  # words for a missing value, in lower case


CONTROL = re.compile("[\x00-\x1f\x7f\ufeff]")


def query_id_error(name: str) -> str | None:
    """Return the error message for an invalid query id, or None if the id is valid."""
    if name.strip().lower() in MISSING:
        return "has no query id" + (f", found {name!r}" if name else "")
    if name != name.strip() or CONTROL.search(name):
        return f"expected a query id without blanks around it and without control characters, found {name!r}"
    return None


def text_ids(ids: pl.Series, column: str, where: object) -> pl.Series:
    """Return a column of ids as text. Missing ids are null.

    column: the name of the column. where: the name of the data in error messages.

    Raises GradrankError for numbers that are not whole, for floats so large that different ids may be equal, for bytes
    that are not UTF-8, and for nested types.
    """
    kind = ids.dtype
    try:
        if kind.is_float():
            ids = ids.fill_nan(None)
            _refuse(ids, is_beyond_exact(ids), column, where, f"too large for a {str(kind).lower()}")
            return ids.cast(pl.Int64).cast(pl.String)
        if kind.is_decimal():
            whole = ids.cast(pl.Int128, strict=False)
            _refuse(ids, ids.is_not_null() & (whole.cast(kind, strict=False) != ids).fill_null(True), column, where)
            return whole.cast(pl.String)
        if kind.is_nested() or kind == pl.Object:
            raise GradrankError(f"{where}: column {column!r} is {kind}. Fix: store ids as text or whole numbers")
        return ids.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise GradrankError(
            f"{where}: column {column!r} holds ids that are not UTF-8 text. Fix: store ids as text"
        ) from None


def _refuse(ids: pl.Series, is_odd: pl.Series, column: str, where: object, or_else: str = "") -> None:
    """Raise GradrankError for the first id for which `is_odd` is True, if any."""
    if is_odd.any():
        row = int(is_odd.arg_true()[0])
        reason = f"a fraction or {or_else}" if or_else else "a fraction"
        raise GradrankError(
            f"{where}: row {row + 1}, column {column!r}: the id {ids[row]!r} is {reason}. Fix: store ids as text or "
            "whole numbers"
        )


def numbered(files: Sequence[Sequence[str]]) -> list[tuple[np.ndarray, list[str] | None]]:
    """Return the (q,) int64 query numbers and the query ids of each file.

    If all ids of all files are whole numbers, the query numbers are the ids, and None is returned in place of the ids.
    """
    if all(pl.Series(ids, dtype=pl.String).str.contains(WHOLE).all() for ids in files):
        return [(np.array([int(name) for name in ids], np.int64), None) for ids in files]
    numbers: dict[str, int] = {}
    return [
        (np.array([numbers.setdefault(name, len(numbers) + 1) for name in ids], np.int64), list(ids)) for ids in files
    ]
