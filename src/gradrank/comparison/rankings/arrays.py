"""Conversion of one-dimensional data of other libraries to NumPy arrays and Polars Series.

The data can be NumPy arrays, lists, Polars Series, pandas Series, Arrow arrays, or any object that NumPy converts to an
array. pandas and pyarrow are only used if the caller passes their objects.
"""

import sys
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_numbers import EXACT, first_gap, merged_array_row, merged_object_row, merged_row
from gradrank.data.ids import query_id_error, text_ids


def numbers(values: Any, name: str) -> np.ndarray:
    """Return (n,) numbers as a NumPy array of integers or floats; booleans become 0 and 1.

    name: name of the argument in error messages. Raises GradrankError if the data are not one-dimensional, not numeric,
    have missing values, or have different numbers that would be equal as float64. A nan is not a missing value.
    """
    array = values if isinstance(values, np.ndarray) else _column(values, name)
    if isinstance(array, np.ndarray) and (array.dtype.kind == "O" or _may_be_rounded(values, array)):
        _refuse_merged(merged_object_row(np.asarray(values, dtype=object).ravel()), name)
    if isinstance(array, pl.Series) or array.dtype.kind not in "iufb" or isinstance(array, np.ma.MaskedArray):
        array = _numeric(array if isinstance(array, pl.Series) else _series(array, name), name)
    if array.ndim != 1:
        raise GradrankError(_shape_error(array.shape, name))
    _refuse_merged(merged_array_row(array), name)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def ids(values: Any, name: str) -> pl.Series:
    """Return (n,) ids as a Polars Series of Int64 or text. Whole numbers become Int64 if they are small enough.

    name: name of the argument in error messages. Raises GradrankError if the data are not one-dimensional, or if an id
    is missing or a fraction.
    """
    column = _column(values, name)
    series = column if isinstance(column, pl.Series) else _series(column, name)
    _check_missing(series, name)
    if series.dtype.is_float():
        return pl.Series(_whole(series.to_numpy(), name))
    if series.dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)  # null if the id is too large
        return whole if not whole.null_count() else series.cast(pl.String)
    return text_ids(series, name, name)


def _whole(values: np.ndarray, name: str) -> np.ndarray:
    """Return float ids as int64. NumPy checks them, because Polars' expressions do not return in a forked process."""
    if np.isnan(values).any():
        raise GradrankError(_missing_error(int(np.isnan(values).argmax()), name))
    is_odd = (values != np.floor(values)) | (np.abs(values) >= first_gap(values.dtype))
    if is_odd.any():
        row = int(is_odd.argmax())
        raise GradrankError(
            f"{name}: the id {values[row]} in row {row} (counted from 0) is a fraction or too large for a "
            f"{values.dtype}. Fix: give ids as text or whole numbers"
        )
    return values.astype(np.int64)


def query_ids(values: Any, name: str) -> pl.Series:
    """Return (n,) query ids as `ids` does. Also raises GradrankError for text that files refuse as a query id."""
    series = ids(values, name)
    if series.dtype == pl.String:
        for text in dict.fromkeys(series.to_list()):
            if reason := query_id_error(text):
                row = series.to_list().index(text)
                raise GradrankError(f"{name}: row {row} (counted from 0) {reason}. Fix: correct the id of this row")
    return series


def same_length(values: Any, rows: int, name: str, others: str) -> Any:
    """Return `values`. Raises GradrankError if their number is not `rows`, the number of `others`."""
    if len(values) != rows:
        raise GradrankError(f"{name}: {len(values)} values for {rows} {others}. Fix: give as many values as {others}")
    return values


def _numeric(series: pl.Series, name: str) -> np.ndarray:
    if series.dtype.is_decimal() or series.dtype in (pl.Int128, pl.UInt128):
        _refuse_merged(merged_row(series), name)
        series = series.cast(pl.Float64)
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean or series.dtype == pl.Null):
        raise GradrankError(
            f"{name}: expected one number per document, found {series.dtype}. Fix: convert {name} to numbers"
        )
    _check_missing(series, name)
    return series.to_numpy()


def _may_be_rounded(values: Any, array: np.ndarray) -> bool:
    """Return True for a list with large values that NumPy converted to floats; they may have been whole numbers."""
    is_float_list = isinstance(values, list | tuple) and array.dtype.kind == "f"
    return is_float_list and bool((np.abs(array) >= EXACT).any())


def _refuse_merged(row: int | None, name: str) -> None:
    if row is not None:
        raise GradrankError(
            f"{name}: the number of row {row} (counted from 0) is too large or has too many digits for a 64-bit float, "
            "in which it equals another number. Fix: give smaller numbers, such as the ranks of the values"
        )


def _check_missing(series: pl.Series, name: str) -> None:
    if series.null_count():
        raise GradrankError(_missing_error(series.is_null().arg_max(), name))


def _column(values: Any, name: str) -> pl.Series | np.ndarray:
    """Return the data as a Series if a library describes its missing values, and as an array otherwise."""
    if values is None:
        raise GradrankError(f"{name}: missing; {name} should be a 1d array. Fix: give one value per document")
    if isinstance(values, pl.Series | np.ndarray):
        return values
    if isinstance(values, str | bytes | dict) or hasattr(values, "collect_schema"):
        kind = type(values).__name__
        raise GradrankError(f"{name}: expected one value per document, found {kind}. Fix: give an array or a column")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.Series | pandas.Index):
        missing = np.asarray(values.isna())
        if missing.any() and not (isinstance(values.dtype, np.dtype) and values.dtype.kind == "f"):
            raise GradrankError(_missing_error(int(np.argmax(missing)), name))
        return values.to_numpy()
    try:
        if "decimal256" in str(getattr(values, "type", "")):  # Polars would print the backtrace of a panic
            raise GradrankError(f"{name}: its type is {values.type}. Fix: convert {name} to float64, int64 or text")
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            return pl.Series(values)
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError, pl.exceptions.PolarsError) as error:
        raise GradrankError(f"{name}: not an array: {_first_line(error)}. Fix: give a one-dimensional array") from None


def _series(array: np.ndarray, name: str) -> pl.Series:
    if array.ndim != 1:
        raise GradrankError(_shape_error(array.shape, name))
    if isinstance(array, np.ma.MaskedArray):
        return pl.Series(array.tolist())
    try:
        return pl.Series(array.tolist() if array.dtype.kind == "O" else array)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise GradrankError(
            f"{name}: the values do not have one type: {_first_line(error)}. Fix: convert {name} to numbers or text"
        ) from None


def _missing_error(row: int | None, name: str) -> str:
    return f"{name}: the value of row {row} (counted from 0) is missing. Fix: leave this row out of all arguments"


def _shape_error(shape: tuple[int, ...], name: str) -> str:
    fix = f"give {name}.ravel()" if sum(size != 1 for size in shape) == 1 else "give one value per document"
    return f"{name}: expected one dimension, found an array of shape {shape}. Fix: {fix}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
