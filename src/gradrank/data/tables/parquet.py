"""Reading of Parquet files from unknown sources, with pyarrow.

If a file is damaged, Polars' own reader may end the process, or raise a PanicException, which is not a subclass of
Exception. Stored collections and the scores of trained folds are read with Polars nevertheless, because their checksums
are verified first.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.data.compressed import is_utf8

if TYPE_CHECKING:
    import pyarrow as pa

OF_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def parquet_schema(path: Path) -> pl.Schema:
    """Return the schema of a Parquet file. Raises GradrankError if the file is damaged or not a Parquet file."""
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow.parquet as pq

    with _refused(path):
        return _checked(pq.ParquetFile(_source(path)).schema_arrow.empty_table()).schema


def read_parquet(path: Path, columns: Collection[str] | None = None, content: BytesIO | None = None) -> pl.DataFrame:
    """Read a Parquet file.

    columns: the names of the columns to read; None for all columns. Names that the file does not have are ignored.
    content: the decompressed content, if the file is compressed.

    Raises GradrankError if the file is damaged or not a Parquet file.
    """
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow.parquet as pq

    with _refused(path):
        file = pq.ParquetFile(_source(path, content))
        names = [name for name in file.schema_arrow.names if columns is None or name in columns]
        if file.schema.names != file.schema_arrow.names or len({*names}) < len(names):  # nested or repeated names
            return _checked(file.read(names))
        # A call for all columns holds their compressed bytes until its end, which doubles the memory.
        return pl.concat([_checked(file.read([name])) for name in names], how="horizontal")


def index_columns(path: Path, content: BytesIO | None = None) -> list[str]:
    """Return the names of the columns that were the index of a pandas data frame, according to the metadata."""
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow.parquet as pq

    with _refused(path):
        named = (pq.read_schema(_source(path, content)).pandas_metadata or {}).get("index_columns", [])
    return [name for name in named if isinstance(name, str)]


def _source(path: Path, content: BytesIO | None = None) -> Path | BytesIO:
    """Return what pyarrow opens: the path, or the content if pyarrow cannot open the path."""
    return content or (path if is_utf8(path) else BytesIO(path.read_bytes()))


def _checked(table: "pa.Table") -> pl.DataFrame:
    """Validate a table and return it as a data frame. Raises errors of pyarrow or Polars if the table is damaged."""
    table.validate(full=True)
    names = table.column_names  # fails if a name is not text
    if wide := [field for field in table.schema if "decimal256" in str(field.type)]:
        raise _unsupported(wide[0])  # Polars would print the backtrace of a panic
    try:
        frame = pl.DataFrame(table.rename_columns(names))
    except pl.exceptions.ComputeError:
        raise _unsupported(next(field for field in table.schema if not _is_supported(field))) from None
    return frame.rename(dict(zip(frame.columns, names, strict=True)))  # Polars replaces empty names


class _UnsupportedColumn(Exception):
    """A column whose type Polars cannot read."""


def _unsupported(field: "pa.Field") -> _UnsupportedColumn:
    return _UnsupportedColumn(f"column {field.name!r} has the type {field.type}")


def _is_supported(field: "pa.Field") -> bool:
    """Return True if Polars can read a column of this type."""
    import pyarrow as pa

    try:
        pl.DataFrame(pa.schema([field]).empty_table())
    except pl.exceptions.ComputeError:
        return False
    return True


@contextmanager
def results_table(where: object) -> Iterator[None]:
    """Convert errors of Polars about a table of results, at `where`, into a GradrankError."""
    try:
        yield
    except OF_POLARS as error:
        raise GradrankError(
            f"{where}: damaged, or not a table of results: {str(error).splitlines()[0]}. Fix: restore the file, or "
            "delete it and run the workflow again"
        ) from None


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow and Polars into a GradrankError that names the file."""
    from pyarrow import ArrowException

    try:
        yield
    except _UnsupportedColumn as error:
        raise GradrankError(
            f"{path}: {error}, which cannot be read. Fix: store it as numbers or text, or delete it"
        ) from None
    except (ArrowException, OSError, *OF_POLARS, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError):
            raise
        raise GradrankError(
            f"{path}: not a Parquet file: {str(error).splitlines()[0]}. Fix: write the file again"
        ) from None
