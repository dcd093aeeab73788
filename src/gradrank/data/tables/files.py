"""Reading of Parquet, Feather, JSON lines, CSV and TSV files from unknown sources.

Parquet is read with pyarrow. If a file is damaged, Polars' own reader may end the process, or raise a PanicException,
which is not a subclass of Exception. Stored collections and the scores of trained folds are read with Polars
nevertheless, because their checksums are verified first.

CSV and TSV files are read as columns of text. Fields are not converted, and every row is checked.
"""

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gradrank.base.errors import GradrankError, require
from gradrank.data.file_forms import content_of, is_utf8, plain_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow


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


def read_feather(path: Path) -> pl.DataFrame:
    """Read a Feather file, of version 1 or 2 (the Arrow file format).

    Raises GradrankError if the file is damaged or not a Feather file.
    """
    require("pyarrow", extra="arrow", needed_by=path)
    from pyarrow import feather

    with _refused(path, "a Feather file"):
        return _checked(feather.read_table(BytesIO(content_of(path))))


def read_json_lines(path: Path) -> pl.DataFrame:
    """Read JSON lines: one object per line, whose keys are column names. A key that a line leaves out is missing.

    Raises GradrankError for a malformed line, and for a column with values of different types.
    """
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow as pa
    from pyarrow import json as arrow

    content = content_of(path)
    if not content.strip():
        raise GradrankError(f"{path}: empty; expected one JSON object per line. Fix: add rows")
    with _refused(path, "JSON lines of one table"):
        size = min(max(len(content), 1), 2**31 - 1)  # one block, because types are inferred from the first block
        options = arrow.ReadOptions(use_threads=False, block_size=size)
        table = arrow.read_json(BytesIO(content), options)
        # pyarrow reads text in the form of a time as a time, so the same id could be of two types in two files
        schema = pa.schema([(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in table.schema])
        if schema != table.schema:
            parse = arrow.ParseOptions(explicit_schema=schema)
            table = arrow.read_json(BytesIO(content), options, parse)
        return _checked(table)


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
def _refused(path: Path, form: str = "a Parquet file") -> Iterator[None]:
    """Convert errors of pyarrow and Polars into a GradrankError that names the file. form: the expected form."""
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
        raise GradrankError(f"{path}: not {form}: {str(error).splitlines()[0]}. Fix: write the file again") from None


SEPARATORS = {".csv": ",", ".tsv": "\t"}
BLOCK = 8 << 20  # bytes that are parsed together; twice as fast as LONGEST_ROW
LONGEST_ROW = 64 << 20  # bytes


def read_separated(path: Path, header: bool = True) -> tuple[list[str], pl.DataFrame]:
    """Return the column names, and a frame of the rows.

    The columns of the frame are text and are named `c0`, `c1` and so on. An empty field is "". header: False if the
    first row is not a header. The names of the columns are then their numbers, counted from 1.

    Fields may be quoted with `"`, as in RFC 4180. Quoted fields may contain separators and line ends.

    Raises GradrankError with the line number for a row with more or fewer fields than the first row, and for a quote
    inside a field. Also raises GradrankError for text that is not UTF-8, and for an empty file.
    """
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow as pa

    content = content_of(path)
    names = _first_row(path, content)
    _check_quotes(path, content)
    bad: list[tuple[int, int]] = []
    try:
        try:
            table = _parsed(content, separator(path), len(names), BLOCK, bad)
        except pa.ArrowInvalid:
            if bad:
                raise
            table = _parsed(content, separator(path), len(names), LONGEST_ROW, bad)
    except pa.ArrowInvalid as error:
        if not bad and "Empty CSV" in str(error):
            return names, pl.DataFrame(schema={f"c{number}": pl.String for number in range(len(names))})
        raise _refusal(path, bad, len(names), header, error) from None
    frame = pl.DataFrame(pl.from_arrow(table, rechunk=False))
    frame = frame.rename({name: f"c{name[1:]}" for name in frame.columns})
    return (names, frame[1:]) if header else ([str(number) for number in range(1, len(names) + 1)], frame)


def _parsed(content: bytes, delimiter: str, width: int, block: int, bad: list[tuple[int, int]]) -> "pa.Table":
    """Parse all rows as columns of text f0, f1 and so on. Raises pyarrow.ArrowInvalid if a row is malformed.

    block: number of bytes that are parsed together, at least the length of the longest row. bad: list to which the
    number, counted from 1, and the fields of a row are added if it does not have `width` fields.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    def note(row: "arrow.InvalidRow") -> str:
        bad.append((row.number, row.actual_columns))
        return "error"

    return arrow.read_csv(
        BytesIO(content),
        arrow.ReadOptions(use_threads=False, autogenerate_column_names=True, block_size=block),
        arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
        arrow.ConvertOptions(column_types={f"f{number}": pa.string() for number in range(width)}),
    )


def _refusal(path: Path, bad: list[tuple[int, int]], width: int, header: bool, error: Exception) -> GradrankError:
    """Return the error for a file that pyarrow does not parse. The arguments are those of `_parsed`."""
    if not bad:
        return GradrankError(f"{path}: not {path.suffix[1:].upper()} text: {str(error).splitlines()[0]}")
    number, fields = bad[0]
    return GradrankError(
        f"{path}: line {line_of(path, number - 1)}: {fields} fields, but the {'header' if header else 'first row'} has "
        f"{width}. Fix: complete the row or delete it; a field that contains the separator must be quoted"
    )


def separator(path: Path) -> str:
    """Return the character that separates the fields of a file. It depends on the suffix of the file."""
    return SEPARATORS[plain_name(path).suffix.lower()]


def line_of(path: Path, row: int) -> int:
    """Return the number of the line in which a row ends, counted from 1. The first row, or the header, is row 0."""
    reader = _reader(path, content_of(path))
    try:
        next((number for number, _ in enumerate(filter(None, reader)) if number == row), None)
    except csv.Error:  # a field is longer than the limit of the csv module
        return row + 1
    return reader.line_num


def _reader(path: Path, content: bytes):
    """Return a csv reader of the content of a file."""
    return csv.reader(TextIOWrapper(BytesIO(content), "utf-8-sig", newline=""), delimiter=separator(path))


def _first_row(path: Path, content: bytes) -> list[str]:
    """Return the fields of the first row. Raises GradrankError if the file is empty or not UTF-8 text."""
    if b"\0" in content:
        raise GradrankError(f"{path}: not text: it holds a zero byte. Fix: store the file as UTF-8 text")
    try:
        names = next((fields for fields in _reader(path, content) if fields), None)
    except (csv.Error, UnicodeDecodeError) as error:
        raise GradrankError(f"{path}: not UTF-8 text ({error}). Fix: store the file as UTF-8") from None
    if names is None:
        raise GradrankError(f"{path}: empty; expected a header with column names. Fix: add a header and rows")
    return [name.strip() for name in names]


def _check_quotes(path: Path, content: bytes) -> None:
    """Raise GradrankError for a quote inside a field.

    Quotes must enclose a whole field, or be doubled within a quoted field.
    """
    if b'"' not in content:
        return
    between = re.escape(separator(path).encode())
    fields = re.compile(
        rb"(?:\A(?:\xef\xbb\xbf)?|(?<=[\r\n" + between + rb']))"(?:[^"]|"")*"(?=[\r\n' + between + rb"]|\Z)"
    )
    stray = next((at for at in _outside(fields, content) if at >= 0), None)
    if stray is not None:
        line = len(re.findall(rb"\r\n|\r|\n", content[:stray])) + 1
        raise GradrankError(
            f'{path}: line {line}: a quote (") inside a field. Fix: quote the whole field and double the quotes in it'
        )


def _outside(fields: re.Pattern[bytes], content: bytes) -> Iterator[int]:
    """Yield the position of the first quote in each stretch of text outside the matches, or -1 if there is no quote."""
    end = 0
    for match in fields.finditer(content):
        yield content.find(b'"', end, match.start())
        end = match.end()
    yield content.find(b'"', end)
