"""Large Parquet, CSV and TSV files in slices of whole queries, so that one slice is in memory at a time.

A first pass reads the query ids and finds where the file can be divided. A second pass reads one slice after another.
"""

import tempfile
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, require
from gradrank.data.exact_values import WHOLE, text_ids
from gradrank.data.file_forms import blocks, open_decompressed, plain_name
from gradrank.data.reader import Batch, TrainingSchema, batches, read_new
from gradrank.data.tables.files import SEPARATORS, index_columns, separator
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable

PARQUET = ".parquet"
SLICE_VALUES = 1 << 20  # values of a table that are in memory at a time; 8 MB as float64 numbers
BLOCK_BYTES = 4 << 20  # bytes of a CSV file that the first pass reads at once
LONGEST_ROW = 64 << 20  # bytes


class Slices(NamedTuple):
    """The rows of a table in batches of whole queries.

    query, docid: the names of the columns with ids. A file may have no column of document ids; docid is then None.
    is_text: True if the query ids are text. The ids of a single slice may still look like numbers.
    """

    query: str
    docid: str | None
    is_text: bool
    batches: Iterator[Batch]


def table_slices(data: Path, schema: TrainingSchema, columns: Columns | None) -> Slices | None:
    """Return the rows of a large file with about SLICE_VALUES values in memory at a time.

    The arguments are those of `gradrank.data.reader.read_new`. Returns None for a file that must be read as a whole: a
    small or malformed file, a file in another form, and a file in which a query comes back after other queries. The
    reader of the whole file reports what is wrong. An error in a slice is raised by the iterator.
    """
    suffix = plain_name(data).suffix.lower()
    if not data.is_file() or suffix not in (PARQUET, *SEPARATORS):
        return None
    require("pyarrow", extra="arrow", needed_by=data)
    import pyarrow as pa

    try:
        if suffix != PARQUET:
            return _separated_slices(data, schema, columns)
        return _parquet_slices(data, schema, columns) if data.suffix.lower() == PARQUET else None
    except (GradrankError, pa.ArrowException, OSError, pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


class _Division:
    """The rows at which a file can be divided, found from its query ids in blocks. It keeps eight bytes per query."""

    def __init__(self, rows: int) -> None:
        """Begin with the first row. rows: the least number of rows per slice, unless it is the last one."""
        self.rows = rows
        self.cuts = [0]
        self.height = 0
        self.is_whole = True  # all ids are whole numbers
        self._last: pl.Series | None = None
        self._hashes: list[np.ndarray] = []

    def add(self, ids: pl.Series) -> list[int]:
        """Add the next ids as text, and return the new cuts: row numbers of the file, from 0."""
        if ids.is_empty():
            return []
        before = ids[:1] if self._last is None else self._last
        is_first = ids.ne_missing(pl.concat([before, ids[:-1]])).to_numpy().copy()
        is_first[0] |= self._last is None
        starts = np.flatnonzero(is_first)
        firsts = ids[starts]
        self._hashes.append(firsts.hash(seed=0).to_numpy())
        self.is_whole &= bool(firsts.str.contains(WHOLE).all())
        found, rows = [], starts + self.height
        while (place := int(np.searchsorted(rows, self.cuts[-1] + self.rows))) < len(rows):
            self.cuts.append(int(rows[place]))
            found.append(self.cuts[-1])
        self.height += len(ids)
        self._last = ids[-1:]
        return found

    @property
    def has_slices(self) -> bool:
        """True if there are several slices, and no query comes back after other queries.

        Two queries with the same hash count as one that comes back. The file is then read as a whole.
        """
        hashes = np.concatenate(self._hashes) if self._hashes else np.empty(0)
        return len(self.cuts) > 1 and len(np.unique(hashes)) == len(hashes)


def _table(data: Path | pl.DataFrame, schema: TrainingSchema, columns: Columns | None) -> DataTable:
    (source,) = read_new(data, schema, columns).sources
    assert isinstance(source, DataTable)
    return source


def _parquet_slices(data: Path, schema: TrainingSchema, columns: Columns | None) -> Slices | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(data, buffer_size=1 << 20)  # reads pages, in place of all values of a column of a row group
    names = file.schema_arrow.names
    is_wide = any("decimal256" in str(kind) for kind in file.schema_arrow.types)  # unknown to Polars
    rows = max(1, SLICE_VALUES // max(1, len(names)))
    is_small = file.metadata.num_rows <= rows
    if is_small or is_wide or index_columns(data) or len({*names}) < len(names):
        return None
    roles = _table(pl.DataFrame(next(file.iter_batches(1))), schema, columns).roles
    if roles.query is None:
        return None
    division = _Division(rows)
    for record in file.iter_batches(rows, columns=[roles.query]):
        ids = pl.DataFrame(record)[roles.query]
        if ids.null_count():
            return None
        division.add(text_ids(ids, roles.query, data))
    if not division.has_slices:
        return None

    def found() -> Iterator[Batch]:
        records, pending, end = file.iter_batches(rows), [], 0
        for start, stop in pairwise([*division.cuts, division.height]):
            while end < stop:
                record = next(records)
                record.validate(full=True)
                pending, end = [*pending, record], end + len(record)
            table = pa.Table.from_batches(pending)
            try:
                yield from batches(read_new(pl.DataFrame(table[: stop - start]), schema, columns))
            except GradrankError as error:
                raise GradrankError(f"{data}, rows {start + 1:,} to {stop:,}: {error}") from None
            pending = table[stop - start :].to_batches()

    is_text = file.schema_arrow.field(roles.query).type in (pa.string(), pa.large_string(), pa.string_view())
    return Slices(roles.query, roles.docid, is_text or not division.is_whole, found())


def _separated_slices(data: Path, schema: TrainingSchema, columns: Columns | None) -> Slices | None:
    name = plain_name(data).name
    parts = _rows(data)
    content, ends = next(parts, (b"", np.empty(0, np.int64)))
    header = content[: ends[0]] if schema.columns.header and len(ends) else b""
    skipped = 1 if header else 0
    if len(ends) <= skipped:
        return None
    with tempfile.TemporaryDirectory(prefix="gradrank-") as folder:
        Path(folder, name).write_bytes(content[: ends[skipped]])
        first = _table(Path(folder, name), schema, columns)
    if first.roles.query is None:
        return None
    names = [*first.kinds]
    division = _Division(max(1, SLICE_VALUES // len(names)))
    positions, position, place = [len(header)], 0, names.index(first.roles.query)
    for block, found_ends in chain([(content, ends)], parts):
        begins, height = np.r_[0, found_ends[:-1]][skipped:], division.height
        ids = _column(block[begins[0] :], separator(data), place) if len(begins) else pl.Series(dtype=pl.String)
        if len(ids) != len(begins):  # such as a file with empty lines
            return None
        positions += [position + int(begins[row - height]) for row in division.add(ids)]
        position, skipped = position + len(block), 0
    if not division.has_slices:
        return None

    def found() -> Iterator[Batch]:
        rows, ranges = pairwise([*division.cuts, division.height]), pairwise([*positions, position])
        with tempfile.TemporaryDirectory(prefix="gradrank-") as folder, open_decompressed(data) as stream:
            stream.read(len(header))
            for (start, stop), (begin, end) in zip(rows, ranges, strict=True):
                copy = Path(folder, name)
                copy.write_bytes(header + stream.read(end - begin))
                try:
                    yield from batches(read_new(copy, schema, columns))
                except GradrankError as error:
                    read_new(data, schema, columns)  # reports the error with the line of the file
                    raise GradrankError(f"{data}, rows {start + 1:,} to {stop:,}: {error}") from None

    return Slices(first.roles.query, first.roles.docid, not division.is_whole, found())


def _rows(data: Path) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yield blocks of whole rows of a CSV file, each with the (n,) ends of its n rows.

    A line end between two quotes is a part of a field. Raises GradrankError for a row of more than LONGEST_ROW bytes.
    """
    left = b""
    for block in blocks(data, BLOCK_BYTES):
        content = left + block
        values = np.frombuffer(content, np.uint8)
        lines, quotes = np.flatnonzero(values == ord("\n")), np.flatnonzero(values == ord('"'))
        ends = lines[np.searchsorted(quotes, lines) % 2 == 0] + 1
        if not len(ends):
            left = content
            if len(left) > LONGEST_ROW:
                raise GradrankError(f"{data}: a row is longer than {LONGEST_ROW >> 20} MiB. Fix: shorten it")
            continue
        left = content[ends[-1] :]
        yield content[: ends[-1]], ends
    if left:
        yield left, np.array([len(left)])


def _column(content: bytes, delimiter: str, place: int) -> pl.Series:
    """Return a column of CSV rows as text. place: its position, from 0."""
    import pyarrow as pa
    from pyarrow import csv

    name = f"f{place}"
    table = csv.read_csv(
        pa.BufferReader(content),
        csv.ReadOptions(use_threads=False, autogenerate_column_names=True, block_size=len(content) + 1),
        csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        csv.ConvertOptions(include_columns=[name], column_types={name: pa.string()}),
    )
    return pl.DataFrame(table)[name]
