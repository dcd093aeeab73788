"""Reading of CSV and TSV files as columns of text. Fields are not converted, and every row is checked."""

import csv
import re
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.data.compressed import content_of, plain_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv as arrow

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
