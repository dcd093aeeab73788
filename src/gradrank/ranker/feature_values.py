"""Conversion of features in memory to numbers, by the rules that files follow (data/tables/table.py).

Numbers, Booleans, decimals and categories of numbers are features. A missing value (None, NaN, NaT, NA, null, or a
masked element) is NaN. Text, dates, durations and all other types are refused, even if the text consists of digits.
Tables are converted by column, because operations on single columns do not wait for the threads of Polars, which do
not exist in a forked process.
"""

import sys
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError

if TYPE_CHECKING:
    import pandas

MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy
NO_NUMBERS = "USTMm"  # codes of NumPy's types for text, dates and durations


class FeatureValues(NamedTuple):
    """The features of a caller.

    values: an (n, d) array of numbers, or any other object, whose conversion is left to scikit-learn. named: the object
    from which scikit-learn reads the number and the names of the features.
    """

    values: Any
    named: Any

    @property
    def is_table(self) -> bool:
        """True if `values` were read from the columns of a table."""
        return self.values is not self.named


def feature_values(X: Any, where: str, trained: Sequence[str] | None = None) -> FeatureValues:
    """Return the features in `X`.

    where: the name of X in error messages. trained: the names of the features of the training data; empty if they had
    no names, and None if X is the training data.

    Raises GradrankError for a column that does not contain numbers, a column without a name, two columns of one name,
    and columns that are numbered in another order than those of the training data.
    """
    if isinstance(X, pl.LazyFrame):
        raise GradrankError(f"{where}: a LazyFrame, which has no rows yet. Fix: give X.collect()")
    if (table := _polars_table(X, where)) is not None:
        _check_names(table.columns, where)
        columns = [_polars_column(column, where) for column in table]
        return FeatureValues(_stacked(columns, len(table)), table)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        names = [str(label) for label in X.columns]
        _check_names(names, where)
        named = _named(X, names, where, trained)
        if all(isinstance(kind, np.dtype) and kind.kind in "iuf" for kind in X.dtypes):
            return FeatureValues(X.to_numpy(), named)
        columns = [_pandas_column(X.iloc[:, place], name, where) for place, name in enumerate(names)]
        return FeatureValues(_stacked(columns, len(X)), named)
    values = _array(X)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.dtype.kind in NO_NUMBERS:
            raise _not_numbers(where, 0, f"values of type {values.dtype}")
        if values.dtype == object:
            values = _stacked([_numbers(column, place, where) for place, column in enumerate(values.T)], len(values))
    return FeatureValues(values, values)


def _named(X: "pandas.DataFrame", names: list[str], where: str, trained: Sequence[str] | None) -> Any:
    """Return an object with the names of the columns as text, or without names if the columns are numbered 0, 1, ..

    scikit-learn ignores names that are not text, so that it would not notice another order of such columns.
    """
    if all(isinstance(label, str) for label in X.columns):
        return X
    numbered = [str(number) for number in range(len(names))]
    if names == numbered and {*(trained or ())} != {*names}:
        return np.broadcast_to(np.int8(0), X.shape)
    if trained is not None and not trained and {*names} == {*numbered}:
        raise GradrankError(
            f"{where}: the columns are numbered {', '.join(names[:12])}, but the columns of the training data were "
            "numbered 0, 1, .. in ascending order. Fix: give the columns in this order"
        )
    return X.set_axis(names, axis="columns")


def _check_names(names: Sequence[str], where: str) -> None:
    for place, name in enumerate(names):
        if not name.strip():
            raise GradrankError(
                f"{where}: column {place}, counted from 0, has no name. Fix: give the column a name, or leave it out"
            )
    if len({*names}) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise GradrankError(f"{where}: {names.count(name)} columns are called {name!r}. Fix: rename all but one")


def _stacked(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Return the (n, d) array of d columns."""
    return np.column_stack(columns) if columns else np.empty((rows, 0), np.float32)


def _polars_table(X: Any, where: str) -> pl.DataFrame | None:
    """Return a Polars or Arrow table as a Polars table, and None for any other object."""
    if isinstance(X, pl.DataFrame):
        return X
    pandas = sys.modules.get("pandas")
    is_of_arrow = any(hasattr(X, name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))
    has_columns = any(hasattr(X, name) for name in ("schema", "columns", "__dataframe__"))
    if not (is_of_arrow and has_columns) or (pandas is not None and isinstance(X, pandas.DataFrame)):
        return None
    if isinstance(names := getattr(X, "column_names", None), list):
        _check_names(names, where)  # Polars replaces empty names
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(X, arrow.Table | arrow.RecordBatch):
        for field in X.schema:
            if "decimal256" in str(field.type):  # Polars would print the backtrace of a panic
                raise _not_numbers(where, field.name, f"values of type {field.type}")
    try:
        return pl.DataFrame(X)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise GradrankError(
            f"{where}: not a table: {str(error).strip().splitlines()[0]}. Fix: give a table of numbers"
        ) from None


def _polars_column(column: pl.Series, where: str) -> np.ndarray:
    if column.dtype in (pl.Boolean, pl.Null) or column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if not column.dtype.is_numeric():
        raise _not_numbers(where, column.name, f"values of type {column.dtype}")
    return column.to_numpy()


def _pandas_column(column: "pandas.Series", name: str, where: str) -> np.ndarray:
    import pandas
    from pandas.api import types

    kind = column.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        values = _pandas_column(pandas.Series(kind.categories), name, where).astype(np.float64)
        return np.append(values, np.nan)[column.cat.codes.to_numpy()]  # the code of a missing value is -1
    if types.is_bool_dtype(kind) or (types.is_numeric_dtype(kind) and not types.is_complex_dtype(kind)):
        return column.to_numpy() if isinstance(kind, np.dtype) else column.to_numpy(np.float64, na_value=np.nan)
    if types.is_object_dtype(kind) or str(kind) == "null[pyarrow]":
        return _numbers(column.to_numpy(object), name, where)
    raise _not_numbers(where, name, f"values of type {kind}")


def _array(X: Any) -> Any:
    """Return lists and masked arrays as arrays, and every other object as it is. A masked element becomes NaN."""
    if isinstance(X, list | tuple) and len(X):
        try:
            masked = any(isinstance(row, np.ma.MaskedArray) for row in X)
            values = np.ma.stack(X) if masked else np.asarray(X)
            # With text in one column, NumPy turns all numbers into text.
            X = values if values.dtype.kind not in NO_NUMBERS else np.asarray(X, dtype=object)
        except (TypeError, ValueError):
            return X
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "biuf" and np.ma.is_masked(X):
        return np.ma.filled(X.astype(np.float32 if X.dtype == np.float32 else np.float64), np.nan)
    return X.filled(None) if X.dtype == object else X.data


def _numbers(values: np.ndarray, column: str | int, where: str) -> np.ndarray:
    """Return (n,) Python objects as float64. Raises GradrankError for an object that is neither a number nor missing.

    column: the name of the column, or its position.
    """
    missing = set()
    for kind in {*map(type, values)}:
        if kind.__name__ in MISSING_TYPES:
            missing.add(kind)
        elif not (kind is type(None) or issubclass(kind, Real | Decimal | np.bool_)):
            row = next(row for row, value in enumerate(values) if type(value) is kind)
            raise _not_numbers(where, column, f"{values[row]!r} in row {row}")
    if missing:
        values = np.array([None if type(value) in missing else value for value in values], dtype=object)
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise _not_numbers(where, column, "a number beyond the range of floats") from None


def _not_numbers(where: str, column: str | int, found: str) -> GradrankError:
    shown = repr(column) if isinstance(column, str) else f"{column}, counted from 0,"
    return GradrankError(
        f"{where}: column {shown} has {found}, not numbers. Fix: convert it to numbers, or leave it out"
    )
