"""The `pairs` stage: write the pairs of a stored collection once, for all folds and models.

A user's file of pairs is a CSV, TSV or Parquet table of preferences or of preference probabilities. Each row is a pair
of documents of one query. The columns are:

- `qid`, or another query column name of data/tables/roles.py: the id of the query;
- `first` and `second`: the ids of the documents. Alternatively, `first_row` and `second_row`: the positions of the
  documents within the query, counted from 1 in the order of the data;
- `target` (optional, default 1): the probability, from 0 to 1, that the first document ranks above the second;
- `weight` (optional, default 1): a number above 0, by which the cost of the pair is multiplied.

The pairs need not be complete or consistent: P_ij, P_jk and P_ki may form a cycle. A pair must not occur twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.files import sha256
from gradrank.base.stamps import write_sealed
from gradrank.data.exact_values import text_ids
from gradrank.data.layout import TABLES, is_table
from gradrank.data.pairs import Pairs, pair_batches
from gradrank.data.part_files import GIVEN, GRADES, HALF, PAIRS, check_part_folder, write_parts
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import named_columns
from gradrank.data.tables.table import RawTable, floats, is_number, raw_table

IDS, POSITIONS, NUMBERS = ("first", "second"), ("first_row", "second_row"), ("target", "weight")
EXPECTED = "qid; first and second (ids), or first_row and second_row (positions in the query, from 1); target; weight"
ROUNDING = 1e-9  # tolerance of P_ij + P_ji = 1
ENDS = ("i", "j")  # columns with the row numbers of the first and the second document within their part


@dataclass(frozen=True)
class PairTable:
    """A file of pairs with checked columns.

    Parameters
    ----------
    raw
        The file as it was read, with column names in lower case.
    frame
        The columns of ids and positions as text, and `target` and `weight` as float64.
    query
        The name of the query column.
    documents
        The names of the two document columns: IDS or POSITIONS.
    """

    raw: RawTable
    frame: pl.DataFrame
    query: str
    documents: tuple[str, str]

    @property
    def path(self) -> Path | str:
        """The name of the file in messages."""
        return self.raw.where

    def refuse(self, bad: pl.Series, column: str, expected: str) -> None:
        """Raise GradrankError for the first row in which `bad` is True, if any."""
        self.raw.refuse(column, bad, expected)

    def error(self, row: int, column: str, message: str) -> GradrankError:
        """Return the error for a row. Rows are counted from 0."""
        return self.raw.bad_row(column, row, message)

    def location(self, row: int) -> str:
        """Return the line number or row number of a row (counted from 0) as text for messages."""
        return self.raw.location(row)


def read_given(path: Path, parts: Mapping[int, Path]) -> dict[int, Pairs]:
    """Read a user's file of pairs, and return a dict from part number to the pairs of that part.

    parts: a dict from part number to the Parquet file with the rows of that part.

    Raises GradrankError for an unknown or ambiguous query or document, a target that is not a probability, a weight
    that is not a positive number, and a pair that occurs twice. The message contains the line or row and the column.
    """
    table = _read(path)
    queries, documents = _index(parts)
    located = _located(table, queries, documents)
    target, weight = (table.frame[name] for name in NUMBERS)
    table.refuse(~target.is_between(0.0, 1.0), "target", "a probability from 0 to 1")
    table.refuse(~((weight > 0.0) & weight.is_finite()), "weight", "a number above 0")
    pairs = located.with_columns(target, weight)
    _check_unique(table, pairs)
    return {part: _pairs(pairs.filter(part=part)) for part in parts}


def _read(path: Path) -> PairTable:
    """Read a file of pairs and check its columns. Raises GradrankError if the columns are not those in EXPECTED."""
    if not is_table(path):
        raise GradrankError(
            f"{path}: not a table of pairs. Fix: give a file of the form {' or '.join(TABLES)}, which may be compressed"
        )
    original = raw_table(path, path)
    names = [name.lower() for name in original.names]
    recognised = {"qid", *IDS, *POSITIONS, *NUMBERS}
    for name, lower in zip(original.names, names, strict=True):
        if lower not in recognised and not named_columns("query", [lower]):
            raise GradrankError(
                f"{path}: unknown column {name!r}{nearest(lower, recognised)}; expected {EXPECTED}. Fix: rename or "
                "delete this column"
            )
    if len({*names}) < len(names):
        raise GradrankError(
            f"{path}: two columns whose names differ only in letter case: {', '.join(original.names)}. Fix: delete one"
        )
    raw = RawTable(path, names, original.frame)
    queries = named_columns("query", names)
    present = [ends for ends in (IDS, POSITIONS) if {*ends} & {*names}]
    complete = [ends for ends in present if {*ends} <= {*names}]
    if len(queries) != 1 or len(present) != 1 or not complete:
        raise GradrankError(
            f"{path}: expected one query column and two document columns: {EXPECTED}; found {', '.join(names)}. Fix: "
            "rename the columns"
        )
    if raw.frame.is_empty():
        raise GradrankError(f"{path}: no rows. Fix: write one pair per row: {EXPECTED}")
    columns = {name: text_ids(raw.column(name), name, path) for name in (*queries, *complete[0])}
    for name, values in columns.items():
        raw.refuse(name, values.is_null() | (values == ""), "a value")
    columns |= {name: _numbers(raw, name) for name in NUMBERS}
    frame = pl.DataFrame([values.alias(name) for name, values in columns.items()])
    return PairTable(raw, frame, queries[0], complete[0])


def _index(parts: Mapping[int, Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Index the queries and documents of all parts.

    The first returned frame has one row per query, with the columns `number`, `part`, `name` (the query id), `position`
    (of the query in the part), `start` (the first row) and `size` (the number of documents). The second frame has one
    row per document, with the columns `number` (of the query), `docid` and `row`.
    """
    frames = []
    for part, path in parts.items():
        rows = pl.scan_parquet(path)
        name = "query" if "query" in rows.collect_schema() else "qid"
        runs = rows.select("docid", run=pl.col("qid").rle_id(), name=pl.col(name).cast(pl.String))
        frames.append(runs.with_row_index("row").with_columns(part=pl.lit(part)).collect())
    documents = pl.concat(frames).with_columns(number=pl.struct("part", "run").rle_id())
    queries = documents.group_by("number", maintain_order=True).agg(
        pl.col("part", "name").first(),
        pl.col("run").first().alias("position"),
        pl.col("row").first().alias("start"),
        pl.len().alias("size"),
    )
    return queries, documents.select("number", "docid", "row")


def _located(table: PairTable, queries: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with one row per pair.

    The columns are `part`, `position` (of the query in the part), and `i` and `j` (the row numbers of the documents).
    """
    names = table.frame[table.query]
    ambiguous = names.is_in(queries.filter(pl.col("name").is_duplicated())["name"].implode())
    table.refuse(ambiguous, table.query, "a query id that is in only one part (several parts have this id)")
    rows = table.frame.join(queries, left_on=table.query, right_on="name", how="left", maintain_order="left")
    table.refuse(rows["part"].is_null(), table.query, "the id of a query in the data")
    for end, column in zip(ENDS, table.documents, strict=True):
        row = _rows_by_id(table, rows, column, documents) if table.documents == IDS else _rows(table, rows, column)
        rows = rows.with_columns(row.cast(pl.Int32).alias(end))
    table.refuse(rows["i"] == rows["j"], table.documents[1], "a document other than the first")
    return rows.select("part", "position", *ENDS)


def _rows(table: PairTable, rows: pl.DataFrame, column: str) -> pl.Series:
    """Return the row numbers of documents that the file identifies by their positions within the query."""
    position = rows[column].cast(pl.Int64, strict=False)
    size = rows["size"].cast(pl.Int64)
    is_valid = (position >= 1) & (position <= size)
    for row in (~is_valid.fill_null(False)).arg_true()[:1]:
        expected = f"a document's position in its query, from 1 to {size[row]}"
        raise table.error(row, column, f"expected {expected}, found {rows[column][row]!r}")
    return rows["start"].cast(pl.Int64) + position - 1


def _rows_by_id(table: PairTable, rows: pl.DataFrame, column: str, documents: pl.DataFrame) -> pl.Series:
    """Return the row numbers of documents that the file identifies by their ids."""
    if documents["docid"].null_count() == len(documents):
        raise GradrankError(
            f"{table.path}: column {column!r}: the data have no document ids. Fix: give each document's position in "
            f"its query, from 1, in columns {' and '.join(POSITIONS)}"
        )
    by_id = documents.group_by("number", "docid").agg(pl.col("row").first(), pl.len().alias("count"))
    matches = rows.join(
        by_id, left_on=["number", column], right_on=["number", "docid"], how="left", maintain_order="left"
    )
    table.refuse(matches["row"].is_null(), column, "the id of a document of this query")
    table.refuse(matches["count"] > 1, column, f"an id that only one document of the query has (or use {POSITIONS[0]})")
    return matches["row"]


def _numbers(raw: RawTable, name: str) -> pl.Series:
    """Return a column as float64, or all 1 if there is no such column.

    Raises GradrankError if a value is missing or is not a number.
    """
    if name not in raw.names:
        return pl.repeat(1.0, len(raw.frame), eager=True)
    values = raw.column(name)
    if not (values.dtype == pl.String or is_number(values)):
        raise GradrankError(f"{raw.where}: column {name!r} is {values.dtype}, not numbers. Fix: store it as numbers")
    numbers = floats(values)[0] if values.dtype == pl.String else values.cast(pl.Float64)
    raw.refuse(name, numbers.is_null() | numbers.is_nan(), "a number")
    return numbers


def _check_unique(table: PairTable, pairs: pl.DataFrame) -> None:
    """Raise GradrankError if a pair occurs twice, in the same order or in opposite orders."""
    ends = pairs.select("part", low=pl.min_horizontal(*ENDS), high=pl.max_horizontal(*ENDS)).with_row_index("row")
    repeated = ends.with_columns(earlier=pl.col("row").first().over("part", "low", "high")).filter(
        pl.col("row") != pl.col("earlier")
    )
    if repeated.is_empty():
        return
    row, earlier = repeated["row"][0], repeated["earlier"][0]
    target, earlier_target = pairs["target"][row], pairs["target"][earlier]
    is_reversed = pairs["i"][row] != pairs["i"][earlier]
    expected = 1.0 - earlier_target if is_reversed else earlier_target
    verb = "repeats" if abs(target - expected) < ROUNDING else "contradicts"
    raise table.error(
        row,
        "target",
        f"{target:g} {verb} {table.location(earlier)}, which has {earlier_target:g} for the same two documents"
        f"{' in opposite order' if is_reversed else ''}. Fix: give each pair once; if there are several judges, "
        "the target is the share of judges who prefer the first document, and the weight is the number of judges",
    )


def _pairs(rows: pl.DataFrame) -> Pairs:
    """Return the pairs of one part. In each pair, the document that is more likely to rank above the other comes first.

    If the target is 1/2, the document that is earlier in the data comes first.
    """
    is_swapped = (rows["target"] < 0.5) | ((rows["target"] == 0.5) & (rows["i"] > rows["j"]))
    frame = rows.select(
        better=pl.when(is_swapped).then("j").otherwise("i"),
        worse=pl.when(is_swapped).then("i").otherwise("j"),
        query=pl.col("position").cast(pl.Int32),
        target=pl.when(is_swapped).then(1.0 - pl.col("target")).otherwise("target"),
        weight="weight",
    ).sort("query", "better", "worse")
    return Pairs(*(np.ascontiguousarray(column.to_numpy()) for column in frame))


BATCH = 1_000_000  # number of pairs in memory at once while writing: about 29 MB of columns
SCHEMA = {"query": pl.Int32, "better": pl.Int32, "worse": pl.Int32, "target": pl.Float64, "weight": pl.Float64}


def write_pairs(
    collection: Path | str, out: Path | str, ties: Literal["omit", "half"] = "omit", given: Path | str | None = None
) -> None:
    """Write the pairs of a stored collection into the folder `out`: part1.parquet and so on, and pairs.json.

    Pairs that follow from the grades are written in batches of queries, so memory does not grow with the number of
    pairs.

    The Parquet columns are those of `Pairs`. `query` (the position of the query in the part), `better` and `worse` (row
    numbers in the part) are Int32, and `target` and `weight` are Float64. Rows are sorted by query.

    pairs.json has the keys `targets`, `parts`, and either `ties` or `given_sha256`. `targets` is `grades` or `given`.
    `given_sha256` is the SHA-256 of the user's file. `parts` has three entries per part: the number of `pairs`, the
    `sha256` of the file of pairs, and `of`, the SHA-256 of the part file with the documents.

    Parameters
    ----------
    collection
        The folder of the stored collection.
    ties
        `omit` if documents of equal grade are not pairs, `half` if they are pairs with target 1/2.
    given
        A user's file of pairs (see data/pair_files.py), which replaces the pairs of the grades.

    Raises GradrankError for an error in the user's file, and if `out` contains files of others. `out` then
    stays as it was.
    """
    stored, out = StoredCollection.open(collection), Path(out)
    inputs = [Path(collection), *([] if given is None else [Path(given)])]
    check_part_folder(out / PAIRS, inputs, lambda columns: columns == list(SCHEMA))
    rows = {part: stored.part_file(part) for part in stored.parts}
    batches: dict[int, Iterable[Pairs]]
    if given is None:
        settings: dict[str, Any] = {"targets": GRADES, "ties": ties}
        batches = {part: _pairs_of_grades(path, ties == HALF) for part, path in rows.items()}
    else:
        settings = {"targets": GIVEN, "given_sha256": sha256(Path(given))}
        batches = {part: [pairs] for part, pairs in read_given(Path(given), rows).items()}
    writers = {part: partial(_write, batches[part], checksum) for part, checksum in stored.checksums.items()}
    written = write_parts(out, PAIRS, writers)
    write_sealed(out / PAIRS, settings | {"parts": written})


def _pairs_of_grades(rows: Path, ties: bool) -> Iterator[Pairs]:
    """Yield the crucial pairs of one part file in batches. With `ties`, documents of equal grade are pairs as well."""
    frame = pl.scan_parquet(rows).select("qid", "label").collect()
    qid, labels = frame["qid"].to_numpy(), frame["label"].to_numpy().astype(np.int32)
    offsets = np.r_[0, np.flatnonzero(qid[1:] != qid[:-1]) + 1, len(labels)].astype(np.int64)
    yield from pair_batches(labels, offsets, ties, BATCH)


def _write(batches: Iterable[Pairs], rows_sha256: str, path: Path) -> dict[str, int | str]:
    """Write the pairs of one part, and return its entries for pairs.json."""
    count = 0

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal count
        for pairs in batches:
            count += len(pairs)
            yield pl.DataFrame({name: _column(pairs, name) for name in SCHEMA}, schema=SCHEMA)

    with path.open("wb") as file:  # opened here and not by Polars, as in parse.py
        register_io_source(frames, schema=SCHEMA).sink_parquet(file)
    return {"pairs": count, "of": rows_sha256}


def _column(pairs: Pairs, name: str) -> Any:
    values = getattr(pairs, name)
    return pl.repeat(1.0, len(pairs), eager=True) if values is None else values
