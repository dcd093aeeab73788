"""Reading of CSV and TSV files as columns of text. Fields are not converted, and every row is checked."""

import csv
import re
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require
from gradrank.data.compressed import blocks, plain_name

SEPARATORS = {".csv": ",", ".tsv": "\t"}
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
    from pyarrow import csv as arrow

    content = b"".join(blocks(path))
    names = _first_row(path, content)
    _check_quotes(path, content)
    types = {f"f{number}": pa.string() for number in range(len(names))}
    bad: list[tuple[int, int]] = []

    def note(row: "arrow.InvalidRow") -> str:
        bad.append((row.number, row.actual_columns))
        return "error"

    try:
        table = arrow.read_csv(
            BytesIO(content),
            arrow.ReadOptions(use_threads=False, autogenerate_column_names=True, block_size=LONGEST_ROW),
            arrow.ParseOptions(delimiter=separator(path), newlines_in_values=True, invalid_row_handler=note),
            arrow.ConvertOptions(column_types=types),
        )
    except pa.ArrowInvalid as error:
        if bad:
            number, fields = bad[0]
            raise GradrankError(
                f"{path}: line {line_of(path, number - 1)}: {fields} fields, but the "
                f"{'header' if header else 'first row'} has {len(names)}. Fix: complete the row or delete it; a field "
                "that contains the separator must be quoted"
            ) from None
        if "Empty CSV" in str(error):
            return names, pl.DataFrame(schema={f"c{number}": pl.String for number in range(len(names))})
        raise GradrankError(f"{path}: not {path.suffix[1:].upper()} text: {str(error).splitlines()[0]}") from None
    frame = pl.DataFrame(table)
    frame = frame.rename({name: f"c{name[1:]}" for name in frame.columns})
    return (names, frame[1:]) if header else ([str(number) for number in range(1, len(names) + 1)], frame)


def separator(path: Path) -> str:
    """Return the character that separates the fields of a file. It depends on the suffix of the file."""
    return SEPARATORS[plain_name(path).suffix.lower()]


def line_of(path: Path, row: int) -> int:
    """Return the number of the line in which a row ends, counted from 1. The first row, or the header, is row 0."""
    reader = _reader(path, b"".join(blocks(path)))
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
