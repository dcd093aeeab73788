"""Ids of queries and documents. Ids are text in every input form and are never reformatted.

If all query ids of a collection are whole numbers in their usual spelling (no sign, no leading zeros, at most 18
digits), arrays and files hold these numbers, which take less space than text. Otherwise, queries are numbered from 1 in
the order of first appearance. Arrays and files then hold both the numbers and the ids.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_numbers import is_beyond_exact

WHOLE = r"^(?:0|[1-9][0-9]{0,17})$"
MISSING = ("", "nan", "na", "n/a", "<na>", "null", "none", "nat")  # words for a missing value, in lower case


def query_id_error(name: str) -> str | None:
    """Return the error message for an invalid query id, or None if the id is valid."""
    if name.strip().lower() in MISSING:
        return "has no query id" + (f", found {name!r}" if name else "")
    if name != name.strip() or any(character < " " or character in "\x7f\ufeff" for character in name):
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
