"""Ranking data as a table: Parquet, CSV, TSV or a data frame, its columns by their roles (see data/tables/roles.py).

Query ids and document ids are text, as they are written: `1`, `01`, `1.0` and `1e0` are four queries. Columns of whole
numbers, and of floats that are all whole, are read as these numbers are written. An empty value and one of MISSING is
missing: an error in a grade or a query id, no value in a feature.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import blocks, is_packed, plain_name
from gradrank.data.ids import MISSING, fault, numbered, text_ids
from gradrank.data.tables.parquet import index_columns, read_parquet
from gradrank.data.tables.roles import Columns, Required, Roles, check_exist, find_roles
from gradrank.data.tables.separated import SEPARATORS, line_of, read_separated
from gradrank.data.text.letor import schema
from gradrank.data.text.scan import HIGHEST_GRADE

LARGEST = float(np.finfo(np.float32).max)
NO_LABEL = 0  # stands in the column of grades where a table without grades is ranked


@dataclass(frozen=True)
class RawTable:
    """A table as it is given: `names` may hold one twice; the columns of `frame` are c0, c1, .. in their order."""

    where: Path | str
    names: list[str]
    frame: pl.DataFrame
    index: list[str] = field(default_factory=list)  # of the names, those of a data frame's index

    def column(self, name: str) -> pl.Series:
        return self.frame[f"c{self.names.index(name)}"]

    @property
    def is_text(self) -> bool:
        return isinstance(self.where, Path) and plain_name(self.where).suffix.lower() in SEPARATORS

    def location(self, row: int) -> str:
        """A row, counted from 0: its line in a text file, else its number from 1."""
        return f"line {line_of(self.where, row)}" if self.is_text else f"row {row + 1}"

    def bad_row(self, column: str, row: int, message: str) -> GradrankError:
        return GradrankError(f"{self.where}: {self.location(row)}, column {column!r}: {message}")

    def refuse(self, column: str, bad: pl.Series, expected: str) -> None:
        """Raise the error for the first row that is `bad`, if there is one."""
        if bad.any():
            row = int(bad.arg_true()[0])
            raise self.bad_row(column, row, f"expected {expected}, found {self.column(column)[row]!r}")


@dataclass(frozen=True)
class DataTable:
    """A table in memory and its queries, as `text_file.TextFile` has them; `roles` are its columns as they were found.

    frame: the columns of `letor.schema`. kinds: how each column of the file is stored.
    """

    path: Path | str
    frame: pl.DataFrame
    roles: Roles
    qids: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    names: list[str] | None
    kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> np.ndarray:
        return self.qids if self.names is None else np.array(self.names, object)

    def cost(self, width: int) -> np.ndarray:
        return self.rows * max(width, 1) * 4

    def error_at(self, query: int, message: str) -> GradrankError:
        return GradrankError(f"{self.path}: row {self.starts[query] + 1}: {message}")

    def differing_row(self, others: Sequence["DataTable"]) -> int | None:
        """Return the first row, from 1, that differs from the concatenation of `others`; None if none differs."""
        theirs = pl.concat([other.frame for other in others])
        if self.frame.equals(theirs):
            return None
        shared = min(len(self.frame), len(theirs))
        same = pl.select(
            pl.all_horizontal(own.head(shared).eq_missing(theirs[own.name].head(shared)) for own in self.frame).alias(
                "same"
            )
        )["same"]
        return shared + 1 if same.all() else int(same.arg_min()) + 1

    def taken(self, queries: np.ndarray) -> pl.DataFrame:
        """The rows of the queries at these positions."""
        return self.frame[
            np.concatenate([np.arange(self.starts[q], self.starts[q] + self.rows[q]) for q in queries.tolist()])
        ]


def read_tables(raws: Sequence[RawTable], columns: Columns, required: Required) -> list[DataTable]:
    """Tables of one collection, with the features of the first in its order; ids are numbers in all of them or in none.

    Raises GradrankError with file, column and row of what is not as it should be.
    """
    if required.features is None:
        check_exist({raw.where: raw.names for raw in raws}, columns)
    first = find_roles(raws[0].where, raws[0].names, columns, required, raws[0].index)
    roles = [first]
    for raw in raws[1:]:
        own = find_roles(raw.where, raw.names, columns, required, raw.index)
        if other := sorted({*own.features} ^ {*first.features}):
            raise GradrankError(
                f"{raw.where}: not the features of {raws[0].where}: {', '.join(other[:12])}. Fix: give all files "
                f"the same "
                "columns"
            )
        roles.append(Roles(own.query, own.label, own.docid, first.features, own.estimates, own.aside))
    if empty := [raw.where for raw in raws if raw.frame.is_empty()]:
        raise GradrankError(f"{empty[0]}: no rows")
    ids = [_query_ids(raw, own) for raw, own in zip(raws, roles, strict=True)]
    numbers = numbered([run for run, _ in ids])
    return [
        _table(raw, own, starts, *numbers_of)
        for raw, own, (_, starts), numbers_of in zip(raws, roles, ids, numbers, strict=True)
    ]


def raw_table(given: Path | pl.DataFrame, where: Path | str) -> RawTable:
    """A table file, or a frame. Raises GradrankError for what is no table."""
    index: list[str] = []
    if isinstance(given, pl.DataFrame):
        names, frame = given.columns, given
    elif plain_name(given).suffix.lower() in SEPARATORS:
        names, frame = read_separated(given)
    else:
        from io import BytesIO

        content = BytesIO(b"".join(blocks(given))) if is_packed(given) else None
        frame = read_parquet(given, content=content)
        names, index = frame.columns, index_columns(given, content=content)
    frame = pl.DataFrame([column.alias(f"c{number}") for number, column in enumerate(frame)])
    return RawTable(where, list(names), frame, index)


def _query_ids(raw: RawTable, roles: Roles) -> tuple[list[str], np.ndarray]:
    """The query id of each run of rows, and where the runs start. Raises GradrankError where a query comes back."""
    if roles.query is None:
        return ["1"], np.array([0])
    ids = text_ids(raw.column(roles.query), roles.query, raw.where).fill_null("")
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]).to_numpy()])
    firsts = ids[starts]
    for name, row in zip(firsts, starts.tolist(), strict=True):
        if reason := fault(name):
            raise raw.bad_row(roles.query, row, reason)
    if firsts.is_duplicated().any():
        row = int(starts[(~firsts.is_first_distinct()).arg_true()[0]])
        raise raw.bad_row(
            roles.query,
            row,
            f"query {ids[row]} comes back. Fix: sort the table by this column, so that the rows of a query are "
            f"together",
        )
    return firsts.to_list(), starts


def _table(raw: RawTable, roles: Roles, starts: np.ndarray, qids: np.ndarray, names: list[str] | None) -> DataTable:
    count = len(raw.frame)
    rows = np.diff(np.r_[starts, count])
    own = {"qid": pl.Series(np.repeat(qids, rows))}
    own["label"] = _grades(raw, roles.label) if roles.label else pl.repeat(NO_LABEL, count, eager=True)
    if names is not None:
        own["query"] = pl.Series(names).gather(np.repeat(np.arange(len(names)), rows))
    if roles.docid:
        ids = text_ids(raw.column(roles.docid), roles.docid, raw.where)
        own["docid"] = pl.select(pl.when(ids != "").then(ids))[ids.name]
    own |= {name: numbers(raw, name) for name in roles.estimates}
    own |= {f"f{k}": _feature(raw, name) for k, name in enumerate(roles.features, start=1)}
    columns = schema(len(roles.features), names is not None)
    empty = pl.repeat(None, count, eager=True)
    frame = pl.DataFrame([own.get(name, empty).cast(kind).alias(name) for name, kind in columns.items()])
    kinds = {name: _kind(raw.column(name)) for name in raw.names}
    return DataTable(raw.where, frame, roles, qids, rows, starts, names, kinds)


def _grades(raw: RawTable, name: str) -> pl.Series:
    values = raw.column(name)
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if not (is_number(values) or values.dtype == pl.String):
        raise GradrankError(
            f"{raw.where}: column {name!r} is {values.dtype}, not grades. Fix: make it whole numbers from 0 to "
            f"{HIGHEST_GRADE}"
        )
    found = floats(values)[0] if values.dtype == pl.String else values.cast(pl.Float64)
    bad = found.is_null() | (found != found.floor()) | (found < 0) | (found > HIGHEST_GRADE)
    raw.refuse(name, bad, f"a grade, a whole number from 0 to {HIGHEST_GRADE}")
    return found.cast(pl.Int16)


def _feature(raw: RawTable, name: str) -> pl.Series:
    """Return float32: NaN where missing, the largest float32 beyond its range."""
    return numbers(raw, name).fill_null(np.nan).clip(-LARGEST, LARGEST).cast(pl.Float32)


def numbers(raw: RawTable, name: str) -> pl.Series:
    """A column as float64, null where missing; text, such as a CSV file's, as the decimal numbers that it spells."""
    values = raw.column(name)
    if values.dtype == pl.String and raw.is_text:
        found, bad = floats(values)
        raw.refuse(name, bad, f"a number or nothing (or leave the column out: `ignore: [{name}]`)")
        return found
    if not is_number(values):
        raise GradrankError(
            f"{raw.where}: column {name!r} is {values.dtype}, not numbers; every column without a role is a "
            f"feature. Fix: "
            f"make it numbers, or set it aside (`ignore: [{name}]` for this data set in params.yaml, `--ignore "
            f"{name}` on "
            "the command line)"
        )
    found = values.cast(pl.Float64).fill_nan(None)
    raw.refuse(name, found.is_infinite().fill_null(False), "a finite number or none")
    return found


def floats(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Text as float64, null where missing, and which values are no numbers; true and false, if nothing else, are 1
    and 0.
    """
    found = values.cast(pl.Float64, strict=False)
    doubtful = found.is_null() | ~found.is_finite()
    if not doubtful.any():
        return found, doubtful
    plain = values.str.strip_chars(" \t").str.to_lowercase()
    if (truth := plain.is_in(["true", "false"]) | plain.is_in(MISSING)).all() and not plain.is_in(MISSING).all():
        found = pl.select(pl.when(plain.is_in(["true", "false"])).then((plain == "true").cast(pl.Float64))).to_series()
        return found, ~truth
    found = plain.cast(pl.Float64, strict=False)
    digits = plain.str.contains(r"\d")
    missing = plain.is_in(MISSING) | values.is_null()
    bad = ~missing & (found.is_null() | (~found.is_finite() & ~digits))
    return pl.select(pl.when(~missing).then(found)).to_series(), bad


def is_number(values: pl.Series) -> bool:
    return values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)


def _kind(values: pl.Series) -> str:
    return "text" if values.dtype == pl.String else str(values.dtype)
