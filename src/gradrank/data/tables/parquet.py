"""Parquet of which nobody knows who wrote it, read by what survives a changed byte.

Of a damaged file Polars' own reader may panic, which is no Exception, or end the whole process. What a run has stored
is read by Polars: its hash says that it is what was written.
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
    """Its columns. Raises GradrankError, as all here, for what is no Parquet file."""
    import pyarrow.parquet as pq

    with _refused(path):
        return _checked(pq.ParquetFile(path).schema_arrow.empty_table()).schema


def read_parquet(path: Path, columns: Collection[str] | None = None, content: BytesIO | None = None) -> pl.DataFrame:
    """Whole; of the columns named those that there are. content: the file's, where it was packed."""
    import pyarrow.parquet as pq

    with _refused(path):
        return _checked(pq.ParquetFile(content or path).read(_there(path, columns)))


def index_columns(path: Path, content: BytesIO | None = None) -> list[str]:
    """The columns that were a pandas index when the file was written, as its metadata say."""
    import pyarrow.parquet as pq

    with _refused(path):
        named = (pq.read_schema(content or path).pandas_metadata or {}).get("index_columns", [])
    return [name for name in named if isinstance(name, str)]


def _there(path: Path, columns: Collection[str] | None) -> list[str] | None:
    return None if columns is None else [name for name in parquet_schema(path) if name in columns]


def _checked(table: "pa.Table") -> pl.DataFrame:
    table.validate(full=True)
    names = table.column_names  # names that are no text fail here
    frame = pl.from_arrow(table.rename_columns(names))
    return frame.rename(dict(zip(frame.columns, names, strict=True)))  # Polars invents a name for a column without one


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, *OF_POLARS, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError):
            raise
        raise GradrankError(f"{path}: not a Parquet file: {str(error).splitlines()[0]}") from None
