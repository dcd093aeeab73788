"""A user's own pairs: a table, CSV or Parquet, packed or not, of preferences or of probabilities.

A row is a pair of documents of one query, in the columns

- qid (or another name of a query column that data/tables/roles.py knows): the query's id;
- first, second: the documents' ids; or first_row, second_row: their places in the query, from 1, in the data's order;
- target: the probability, from 0 to 1, that the first ranks above the second; 1 in all rows without this column;
- weight: the factor, above 0, of the pair's cost; 1 in all rows without this column.

Nothing need be complete or consistent: P_ij, P_jk and P_ki may go in a circle. But a pair stands there once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest
from gradrank.data.ids import text_ids
from gradrank.data.layout import TABLES, is_table
from gradrank.data.pairs import Pairs
from gradrank.data.tables.roles import ROLE_NAMES, normalised
from gradrank.data.tables.table import RawTable, floats, is_number, raw_table

IDS, PLACES, NUMBERS = ("first", "second"), ("first_row", "second_row"), ("target", "weight")
EXPECTED = "qid; first and second (ids), or first_row and second_row (places in the query, from 1); target; weight"
ROUNDING = 1e-9  # P_ij + P_ji need not be 1 to the last digit
ENDS = ("i", "j")  # rows of the first and the second document within their part


@dataclass(frozen=True)
class PairTable:
    """The file's rows, ids and places as text and numbers as float64, and what its columns of queries and documents
    are.

    raw: the file as it was read, with the columns' names in lower case.
    """

    raw: RawTable
    frame: pl.DataFrame
    query: str
    documents: tuple[str, str]

    @property
    def path(self) -> Path | str:
        return self.raw.where

    def refuse(self, bad: pl.Series, column: str, expected: str) -> None:
        """Raise GradrankError at the first row that is `bad`."""
        self.raw.refuse(column, bad, expected)

    def error(self, row: int, column: str, message: str) -> GradrankError:
        return self.raw.bad_row(column, row, message)

    def place(self, row: int) -> str:
        return self.raw.place(row)


def read_given(path: Path, parts: Mapping[int, Path]) -> dict[int, Pairs]:
    """The pairs of each part, whose rows are in these Parquet files.

    Raises GradrankError with line and column for a query or a document that is not there or is not the only one of its
    name, a target that is no probability, a weight that is no positive number, and a pair that comes twice.
    """
    given = _read(path)
    queries, documents = _index(parts)
    placed = _placed(given, queries, documents)
    target, weight = (given.frame[name] for name in NUMBERS)
    given.refuse(~target.is_between(0.0, 1.0), "target", "a probability from 0 to 1")
    given.refuse(~((weight > 0.0) & weight.is_finite()), "weight", "a number above 0")
    whole = placed.with_columns(target, weight)
    _check_once(given, whole)
    return {part: _pairs(whole.filter(part=part)) for part in parts}


def _read(path: Path) -> PairTable:
    if not is_table(path):
        raise GradrankError(f"{path}: expected a table of pairs, {' or '.join(TABLES)}, packed or not")
    given = raw_table(path, path)
    names = [name.lower() for name in given.names]
    known = {"qid", *IDS, *PLACES, *NUMBERS}
    for name, low in zip(given.names, names, strict=True):
        if low not in known and normalised(low) not in ROLE_NAMES["query"]:
            raise GradrankError(f"{path}: unknown column {name!r}{nearest(low, known)}; expected {EXPECTED}")
    if len({*names}) < len(names):
        raise GradrankError(f"{path}: two columns of one name but for letter case: {', '.join(given.names)}")
    raw = RawTable(path, names, given.frame)
    queries = [name for name in names if normalised(name) in ROLE_NAMES["query"]]
    documents = [ends for ends in (IDS, PLACES) if {*ends} & {*names}]
    whole = [ends for ends in documents if {*ends} <= {*names}]
    if len(queries) != 1 or len(documents) != 1 or not whole:
        raise GradrankError(
            f"{path}: expected one column of queries and two of documents: {EXPECTED}; found {', '.join(names)}"
        )
    if raw.frame.is_empty():
        raise GradrankError(f"{path}: no rows; expected a pair per row: {EXPECTED}")
    columns = {name: text_ids(raw.column(name), name, path) for name in (*queries, *whole[0])}
    for name, values in columns.items():
        raw.refuse(name, values.is_null() | (values == ""), "a value")
    columns |= {name: _numbers(raw, name) for name in NUMBERS}
    return PairTable(raw, pl.DataFrame([each.alias(name) for name, each in columns.items()]), queries[0], whole[0])


def _index(parts: Mapping[int, Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A row a query of all parts (number, part, position there, name, start, size), and one a document."""
    frames = []
    for part, path in parts.items():
        rows = pl.scan_parquet(path)
        name = "query" if "query" in rows.collect_schema() else "qid"
        found = rows.select("docid", run=pl.col("qid").rle_id(), name=pl.col(name).cast(pl.String))
        frames.append(found.with_row_index("row").with_columns(part=pl.lit(part)).collect())
    documents = pl.concat(frames).with_columns(number=pl.struct("part", "run").rle_id())
    queries = documents.group_by("number", maintain_order=True).agg(
        pl.col("part", "name").first(),
        pl.col("run").first().alias("position"),
        pl.col("row").first().alias("start"),
        pl.len().alias("size"),
    )
    return queries, documents.select("number", "docid", "row")


def _placed(given: PairTable, queries: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """For each row of the file the part, the query's position in it and the rows `i` and `j` of the two documents."""
    names = given.frame[given.query]
    again = names.is_in(queries.filter(pl.col("name").is_duplicated())["name"].implode())
    given.refuse(again, given.query, "the id of one query; several parts have one of this id: number them apart")
    found = given.frame.join(queries, left_on=given.query, right_on="name", how="left", maintain_order="left")
    given.refuse(found["part"].is_null(), given.query, "the id of a query of the data")
    for end, column in zip(ENDS, given.documents, strict=True):
        row = _rows(given, found, column, documents) if given.documents == IDS else _places(given, found, column)
        found = found.with_columns(row.cast(pl.Int32).alias(end))
    same = found["i"] == found["j"]
    given.refuse(same, given.documents[1], "another document than the first")
    return found.select("part", "position", *ENDS)


def _places(given: PairTable, found: pl.DataFrame, column: str) -> pl.Series:
    place = found[column].cast(pl.Int64, strict=False)
    size = found["size"].cast(pl.Int64)
    inside = (place >= 1) & (place <= size)
    for row in (~inside.fill_null(False)).arg_true()[:1]:
        expected = f"a document's place in its query, from 1 to {size[row]}"
        raise given.error(row, column, f"expected {expected}, found {found[column][row]!r}")
    return found["start"].cast(pl.Int64) + place - 1


def _rows(given: PairTable, found: pl.DataFrame, column: str, documents: pl.DataFrame) -> pl.Series:
    if documents["docid"].null_count() == len(documents):
        raise GradrankError(
            f"{given.path}: column {column!r}: the data have no document ids; say each document's place in its query "
            f"instead, from 1, in columns {' and '.join(PLACES)}"
        )
    own = documents.group_by("number", "docid").agg(pl.col("row").first(), pl.len().alias("count"))
    keys = {"left_on": ["number", column], "right_on": ["number", "docid"]}
    joined = found.join(own, **keys, how="left", maintain_order="left")
    given.refuse(joined["row"].is_null(), column, "the id of a document of this query")
    given.refuse(joined["count"] > 1, column, f"one document of the query; several have this id, use {PLACES[0]}")
    return joined["row"]


def _numbers(raw: RawTable, name: str) -> pl.Series:
    """A column of numbers; 1 in all rows where there is none."""
    if name not in raw.names:
        return pl.repeat(1.0, len(raw.frame), eager=True)
    values = raw.column(name)
    if not (values.dtype == pl.String or is_number(values)):
        raise GradrankError(f"{raw.where}: column {name!r} is {values.dtype}, not numbers")
    found = floats(values)[0] if values.dtype == pl.String else values.cast(pl.Float64)
    raw.refuse(name, found.is_null() | found.is_nan(), "a number")
    return found


def _check_once(given: PairTable, pairs: pl.DataFrame) -> None:
    """Raise GradrankError where two documents are paired twice, whichever of them is the first."""
    ends = pairs.select("part", low=pl.min_horizontal(*ENDS), high=pl.max_horizontal(*ENDS)).with_row_index("row")
    again = ends.with_columns(other=pl.col("row").first().over("part", "low", "high")).filter(
        pl.col("row") != pl.col("other")
    )
    if again.is_empty():
        return
    row, other = again["row"][0], again["other"][0]
    target = [pairs["target"][each] for each in (row, other)]
    turned = pairs["i"][row] != pairs["i"][other]
    expected = 1.0 - target[1] if turned else target[1]
    said = "repeats" if abs(target[0] - expected) < ROUNDING else "contradicts"
    raise given.error(
        row,
        "target",
        f"{target[0]:g} {said} {given.place(other)}, which has {target[1]:g} for the same two documents"
        f"{' the other way round' if turned else ''}; give a pair once: of several judges the share that prefers the "
        "first as its target, their number as its weight",
    )


def _pairs(rows: pl.DataFrame) -> Pairs:
    """Of one part, the likelier document first; of equally likely ones that which comes first."""
    turned = (rows["target"] < 0.5) | ((rows["target"] == 0.5) & (rows["i"] > rows["j"]))
    frame = rows.select(
        better=pl.when(turned).then("j").otherwise("i"),
        worse=pl.when(turned).then("i").otherwise("j"),
        query=pl.col("position").cast(pl.Int32),
        target=pl.when(turned).then(1.0 - pl.col("target")).otherwise("target"),
        weight="weight",
    ).sort("query", "better", "worse")
    return Pairs(*(np.ascontiguousarray(column.to_numpy()) for column in frame))
