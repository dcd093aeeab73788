"""The column of a table whose values are the test folds of a user's own data."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, unknown
from gradrank.data.exact_values import text_ids
from gradrank.data.file_forms import FEATHER, JSON_LINES, is_packed, plain_name
from gradrank.data.tables.files import SEPARATORS, parquet_schema, read_parquet
from gradrank.data.tables.table import DataTable, raw_table


def fold_values(path: Path, column: str, header: bool = True) -> list[str]:
    """Return the distinct values of a column as text, in the order of the folds.

    If all values are numbers, they are in numeric order, otherwise in alphabetical order. header: False if a CSV or TSV
    file has no header.

    Raises GradrankError if there is no such column, if a row has no value, or if all rows have the same value.
    """
    return _distinct(path, column, _read(path, column, header))


def folds_of_queries(table: DataTable, column: str, header: bool = True) -> np.ndarray:
    """Return the (q,) numbers of the folds of the queries, counted from 0 in the order of `fold_values`.

    Raises GradrankError for the errors of `fold_values`, and if the rows of a query have different values.
    """
    path = Path(table.path)
    values = _read(path, column, header)
    if table.order is not None:
        values = values.gather(table.order)
    distinct = _distinct(path, column, values)
    of_rows = values.replace_strict(distinct, range(len(distinct)), return_dtype=pl.Int64).to_numpy()
    of_queries = of_rows[table.starts]
    differing = of_rows != np.repeat(of_queries, table.rows)
    if differing.any():
        row = int(differing.argmax())
        query = int(np.searchsorted(table.starts, row, side="right")) - 1
        raise table.error_at(
            query,
            f"query {table.ids[query]} is in folds {values[int(table.starts[query])]} and {values[row]} (column "
            f"{column!r}). Fix: give all rows of a query the same fold",
        )
    return of_queries


def _read(path: Path, column: str, header: bool) -> pl.Series:
    """Return a column as text, without the other columns of the file."""
    if plain_name(path).suffix.lower() in (*SEPARATORS, *FEATHER, *JSON_LINES) or is_packed(path):
        raw = raw_table(path, path, header)
        names = raw.names
        values = raw.column(column) if column in names else None
    else:
        names = list(parquet_schema(path))
        values = read_parquet(path, [column])[column] if column in names else None
    if values is None:
        raise GradrankError(f"{path}: {unknown('column', column, names)}")
    if values.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
        values = values.cast(pl.String)
    return text_ids(values, column, path)


def _distinct(path: Path, column: str, values: pl.Series) -> list[str]:
    is_missing = values.is_null() | (values.str.strip_chars() == "").fill_null(True)
    if is_missing.any():
        raise GradrankError(
            f"{path}: row {int(is_missing.arg_true()[0]) + 1}, column {column!r}: no fold. Fix: write the fold of each "
            "row into this column"
        )
    distinct = values.unique().to_list()
    if len(distinct) < 2:
        raise GradrankError(
            f"{path}: column {column!r} has only the value {distinct[0]!r}, but folds need at least two. Fix: name "
            "another column, or set `folds`, the number of folds"
        )
    numbers = pl.Series(distinct).cast(pl.Float64, strict=False)
    if numbers.is_null().any():
        return sorted(distinct)
    return [distinct[k] for k in np.lexsort((distinct, numbers.to_numpy()))]
