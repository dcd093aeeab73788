"""Reading of Parquet files from unknown sources, with pyarrow.

With a damaged file, Polars' own reader may panic, which does not raise an Exception, or end the process. Stored
collections are read by Polars, because their checksums are verified first.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gradrank.base.errors import GradrankError

if TYPE_CHECKING:
    import pyarrow as pa

OF_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def parquet_schema(path: Path) -> pl.Schema:
    """Return the columns of a Parquet file. Raises GradrankError if it is damaged or not a Parquet file."""
    import pyarrow.parquet as pq

    with _refused(path):
        return _checked(pq.ParquetFile(path).schema_arrow.empty_table()).schema


def read_parquet(path: Path, columns: Collection[str] | None = None, content: BytesIO | None = None) -> pl.DataFrame:
    """Read a Parquet file.

    columns: the columns to read, if they are present; None for all. content: the decompressed file, if it was
    compressed.

    Raises GradrankError if it is damaged or not a Parquet file.
    """
    import pyarrow.parquet as pq

    with _refused(path):
        return _checked(pq.ParquetFile(content or path).read(_present(path, columns)))


def index_columns(path: Path, content: BytesIO | None = None) -> list[str]:
    """Return the columns that were the index of a pandas data frame, according to the metadata of the file."""
    import pyarrow.parquet as pq

    with _refused(path):
        named = (pq.read_schema(content or path).pandas_metadata or {}).get("index_columns", [])
    return [name for name in named if isinstance(name, str)]


def _present(path: Path, columns: Collection[str] | None) -> list[str] | None:
    """Return those of the columns that a file has; None stands for all columns."""
    return None if columns is None else [name for name in parquet_schema(path) if name in columns]


def _checked(table: "pa.Table") -> pl.DataFrame:
    """Return a validated table as a data frame. Raises pyarrow's or Polars' errors if it is damaged."""
    table.validate(full=True)
    names = table.column_names  # fails if a name is not text
    frame = pl.DataFrame(table.rename_columns(names))
    return frame.rename(dict(zip(frame.columns, names, strict=True)))  # Polars makes up a name for a column without one


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Turn the errors of pyarrow and Polars into a GradrankError that names the file."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, *OF_POLARS, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError):
            raise
        raise GradrankError(
            f"{path}: not a Parquet file: {str(error).splitlines()[0]}. Fix: write the file again"
        ) from None
