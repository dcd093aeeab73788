"""Ranking data as a table: Parquet, Feather, JSON lines, CSV, TSV or a data frame.

Each column has a role (see data/tables/roles.py).

Query ids and document ids are text and are not reformatted: `1`, `01`, `1.0` and `1e0` are four queries. If a column of
ids has numbers, they must be whole, and each id is the decimal form of its number. An empty value or a word in MISSING
counts as missing. Missing values are allowed in features and document ids, but are errors in grades and query ids.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import MISSING, merges, numbered, query_id_error, text_ids
from gradrank.data.file_forms import FEATHER, JSON_LINES, content_of, is_packed, plain_name
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.order import row_ranges
from gradrank.data.tables.files import (
    SEPARATORS,
    index_columns,
    line_of,
    read_feather,
    read_json_lines,
    read_parquet,
    read_separated,
)
from gradrank.data.tables.roles import (
    Columns,
    Required,
    Roles,
    check_exist,
    find_roles,
    is_index,
    is_of_run,
    named_columns,
    normalised,
)
from gradrank.data.text.letor import schema

LARGEST = float(np.finfo(np.float32).max)
# Text with more different values than both of these is probably not a category.
MOST_LEVELS, LEVEL_SHARE = 50, 0.5  # number of levels, and share of the rows
NO_LABEL = 0  # the grade of all rows of a table without grades, which can still be scored


@dataclass(frozen=True)
class RawTable:
    """A table whose columns do not have roles yet.

    Parameters
    ----------
    where
        The file, or the name that error messages use.
    names
        The column names, which may contain duplicates.
    frame
        The columns, which are named c0, c1 and so on.
    index
        The names of the columns that were the index of a data frame.
    header
        False if the file is CSV or TSV without a header.
    """

    where: Path | str
    names: list[str]
    frame: pl.DataFrame
    index: list[str] = field(default_factory=list)
    header: bool = True

    def column(self, name: str) -> pl.Series:
        """Return the first column with this name."""
        return self.frame[f"c{self.names.index(name)}"]

    @property
    def is_text(self) -> bool:
        """True if the file is CSV or TSV, so that all columns are text."""
        return isinstance(self.where, Path) and plain_name(self.where).suffix.lower() in SEPARATORS

    def location(self, row: int) -> str:
        """Return the line number of a row (CSV or TSV) or its row number (other forms), as text for messages.

        `row` is counted from 0. The returned numbers are counted from 1.
        """
        if isinstance(self.where, Path) and self.is_text:
            return f"line {line_of(self.where, row + self.header)}"
        return f"row {row + 1}"

    def bad_row(self, column: str, row: int, message: str) -> GradrankError:
        """Return the error for a row. Rows are counted from 0."""
        return GradrankError(f"{self.where}: {self.location(row)}, column {column!r}: {message}")

    def refuse(self, column: str, bad: pl.Series, expected: str) -> None:
        """Raise GradrankError for the first row in which `bad` is True, if any."""
        if bad.any():
            row = int(bad.arg_true()[0])
            raise self.bad_row(column, row, f"expected {expected}, found {self.column(column)[row]!r}")


@dataclass(frozen=True)
class DataTable:
    """A table in memory and its queries.

    Parameters
    ----------
    path
        The file, or the name of a data frame in error messages.
    frame
        The rows, in the columns of `letor.schema`.
    roles
        The columns of the file by role.
    qids, rows, starts
        (q,) query numbers, numbers of rows per query, and first rows of the queries, in file order.
    names
        The q query ids if they are text. None if the ids are whole numbers, which `qids` then contains.
    kinds
        The data type of each column of the file.
    order
        (n,) positions in the file of the rows of `frame`, if the rows of the queries were grouped; otherwise None.
    merged
        The positions of the features of training data with distinct values that are equal in float32.
    levels
        A dict from the name of a feature with categories to its levels. The features are the codes of the levels.
    """

    path: Path | str
    frame: pl.DataFrame
    roles: Roles
    qids: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    names: list[str] | None
    kinds: Mapping[str, str] = field(default_factory=dict)
    order: np.ndarray | None = None
    merged: Sequence[int] = ()
    levels: dict[str, list[str]] = field(default_factory=dict)

    @property
    def unread(self) -> list[str]:
        """The columns of the file without a role, other than those of runs and qrels and the index of a data frame."""
        return [
            name for name in self.kinds if name not in self.roles.named and not is_index(name) and not is_of_run(name)
        ]

    @property
    def ids(self) -> np.ndarray:
        """The (q,) query ids in the file, as int64 or as text (dtype object)."""
        return self.qids if self.names is None else np.array(self.names, object)

    def cost(self, width: int) -> np.ndarray:
        """Return the (q,) sizes of the features of each query in bytes. width: the number of features."""
        return self.rows * max(width, 1) * 4

    def error_at(self, query: int, message: str) -> GradrankError:
        """Return the error for the first row of the query at this position."""
        return GradrankError(f"{self.path}: row {self._number(self.starts[query])}: {message}")

    def _number(self, row: int) -> int:
        """Return the number in the file, counted from 1, of the row at a position in `frame`."""
        return int(row if self.order is None else self.order[row]) + 1

    def digests(self, queries: np.ndarray) -> list[bytes]:
        """Return a digest of the rows of each query, in their order. queries: ascending positions."""
        rows = self.rows_of(queries).hash_rows().to_numpy()
        ends = np.cumsum(self.rows[queries]).tolist()
        return [blake2b(rows[start:end].tobytes(), digest_size=16).digest() for start, end in pairwise([0, *ends])]

    def differing_row(self, others: Sequence["DataTable"]) -> int | None:
        """Return the number of the first row that differs from the concatenated `others`, or None if no row differs.

        Rows are counted from 1.
        """
        expected = pl.concat([other.frame for other in others])
        if self.frame.equals(expected):
            return None
        shared = min(len(self.frame), len(expected))
        columns = [column.head(shared).eq_missing(expected[column.name].head(shared)) for column in self.frame]
        is_equal = pl.select(pl.all_horizontal(columns).alias("is_equal"))["is_equal"]
        if is_equal.all():
            return shared + 1
        return self._number(int(is_equal.not_().arg_true()[0]))

    def rows_of(self, queries: np.ndarray) -> pl.DataFrame:
        """Return the rows of the queries at the positions `queries`."""
        starts, ends = self.starts[queries], self.starts[queries] + self.rows[queries]
        if np.array_equal(starts[1:], ends[:-1]):  # no copy of adjacent queries
            return self.frame[starts[0] : ends[-1]] if len(queries) else self.frame.clear()
        rows, _ = row_ranges(starts, ends)
        return self.frame[rows]


def read_tables(
    raws: Sequence[RawTable],
    columns: Columns,
    required: Required,
    trained_levels: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[DataTable]:
    """Read the tables of one collection.

    All tables must have the features of the first table. The features of every table are put into the order of the
    first table. If query ids are text in one table, they are text in all tables.

    trained_levels: the levels of a model's categories. Without `required.features`, the levels of all tables are used.
    A feature has categories if its column has categories or text, or if it is declared.

    Raises GradrankError if a table is malformed. The message contains the file and, for a malformed value, the column
    and the row.
    """
    if required.features is None:
        check_exist({raw.where: raw.names for raw in raws}, columns)
    first = find_roles(raws[0].where, raws[0].names, columns, required, raws[0].index)
    roles = [first]
    for raw in raws[1:]:
        further = find_roles(raw.where, raw.names, columns, required, raw.index)
        if unequal := sorted({*further.features} ^ {*first.features}):
            raise GradrankError(
                f"{raw.where}: its features differ from those of {raws[0].where}: {', '.join(unequal[:12])}. Fix: give "
                "all files the same columns"
            )
        roles.append(replace(further, features=first.features))
    if empty := [raw.where for raw in raws if raw.frame.is_empty()]:
        raise GradrankError(f"{empty[0]}: no rows. Fix: add rows below the header")
    is_training = required.features is None
    queries = [_queries(raw, each, columns.group_rows, is_training) for raw, each in zip(raws, roles, strict=True)]
    numbers = numbered([found.ids for found in queries])
    levels = {name: list(values) for name, values in trained_levels.items()}
    if is_training:
        levels = {
            name: levels_of([raw.column(name) for raw in raws], name, raws, columns.categorical)
            for name in first.features
            if any(_has_categories(raw, name, columns.categorical) for raw in raws)
        }
    return [
        _table(raw, columns_of, found, qids, names, columns.grade_edges, is_training, levels)
        for raw, columns_of, found, (qids, names) in zip(raws, roles, queries, numbers, strict=True)
    ]


def grades_in_scores(raw: RawTable, columns: Columns) -> Columns:
    """Return the columns with `score` as the label if the table is qrels in the form of BEIR or ranx.

    These have the columns of ids and a column `score` of grades, and no other columns.
    """
    scores = [name for name in raw.names if normalised(name) == "score"]
    others = [name for name in raw.names if name not in scores and not is_index(name) and name not in raw.index]
    named = [len(named_columns(role, others)) for role in ("query", "label", "docid")]
    if columns.label or len(scores) != 1 or len(others) != 2 or named != [1, 0, 1]:
        return columns
    print(
        f"note: {raw.where}: the grades are in column {scores[0]!r}, as in the qrels of BEIR and ranx", file=sys.stderr
    )
    return replace(columns, label=scores[0])


def raw_table(data: Path | pl.DataFrame, where: Path | str, header: bool = True) -> RawTable:
    """Read a table file or a data frame. Raises GradrankError if a file is malformed.

    where: the name of the table in error messages. header: False if CSV and TSV files have no header.
    """
    index: list[str] = []
    if isinstance(data, pl.DataFrame):
        names, frame = data.columns, data
    elif plain_name(data).suffix.lower() in SEPARATORS:
        names, frame = read_separated(data, header)
    elif plain_name(data).suffix.lower() in FEATHER:
        frame = read_feather(data)
        names = frame.columns
    elif plain_name(data).suffix.lower() in JSON_LINES:
        frame = read_json_lines(data)
        names = frame.columns
    else:
        from io import BytesIO

        content = BytesIO(content_of(data)) if is_packed(data) else None
        frame = read_parquet(data, content=content)
        names, index = frame.columns, index_columns(data, content=content)
    frame = pl.DataFrame([column.alias(f"c{number}") for number, column in enumerate(frame)])
    return RawTable(where, list(names), frame, index, header)


class _Queries(NamedTuple):
    """The q queries of a table: their ids, the (q,) first rows, and the (n,) order that groups the rows, or None."""

    ids: list[str]
    starts: np.ndarray
    order: np.ndarray | None = None


def _queries(raw: RawTable, roles: Roles, group_rows: bool, is_training: bool) -> _Queries:
    """Find the queries of a table. is_training: whether the caller has the option `group_rows`.

    Raises GradrankError for an invalid id, and for a query whose rows are not contiguous unless `group_rows` is True.
    """
    if roles.query is None:
        return _Queries(["1"], np.array([0]))
    ids = text_ids(raw.column(roles.query), roles.query, raw.where).fill_null("")
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]).to_numpy()])
    firsts = ids[starts]
    for name, row in zip(firsts, starts.tolist(), strict=True):
        if reason := query_id_error(name):
            raise raw.bad_row(roles.query, row, reason)
    if not firsts.is_duplicated().any():
        return _Queries(firsts.to_list(), starts)
    if not group_rows:
        row = int(starts[(~firsts.is_first_distinct()).arg_true()[0]])
        grouped = ", or group the rows (`group_rows: true` in params.yaml, `--group-rows` on the command line)"
        raise raw.bad_row(
            roles.query,
            row,
            f"query {ids[row]} comes back after other queries. Fix: sort the table by this column"
            f"{grouped if is_training else ''}",
        )
    distinct = firsts.unique(maintain_order=True)
    position = {name: place for place, name in enumerate(distinct)}
    positions = ids.replace_strict(position, return_dtype=pl.Int64).to_numpy()
    starts = np.r_[0, np.cumsum(np.bincount(positions))[:-1]]
    return _Queries(distinct.to_list(), starts, np.argsort(positions, kind="stable"))


def _table(
    raw: RawTable,
    roles: Roles,
    queries: _Queries,
    qids: np.ndarray,
    names: list[str] | None,
    edges: Sequence[float],
    is_training: bool,
    levels: dict[str, list[str]],
) -> DataTable:
    """Convert a table to the columns of `letor.schema`. Raises GradrankError for a malformed value.

    is_training: True to find features whose values merge. levels: the levels of the features with categories.
    """
    count = len(raw.frame)
    rows = np.diff(np.r_[queries.starts, count])
    values: dict[str, pl.Series] = {}
    values["label"] = _labels(raw, roles.label, edges) if roles.label else pl.repeat(NO_LABEL, count, eager=True)
    if roles.docid:
        ids = text_ids(raw.column(roles.docid), roles.docid, raw.where)
        values["docid"] = pl.select(pl.when(ids != "").then(ids))[ids.name]
    if roles.weight:
        values["weight"] = _weights(raw, roles.weight)
    values |= {name: numbers(raw, name) for name in roles.estimates}
    features = {f"f{k}": _feature(raw, name, levels) for k, name in enumerate(roles.features, start=1)}
    query, merged = _query_of_row(queries, count), []
    if is_training:
        pairs = enumerate(zip(roles.features, features.values(), strict=True))
        numeric = [(k, name, column) for k, (name, column) in pairs if name not in levels]
        merged = [k for k, name, column in numeric if merges(_wide(raw.column(name), column), query)]
    values |= {name: _float32(column) for name, column in features.items()}
    if queries.order is not None:
        values = {name: column.gather(queries.order) for name, column in values.items()}
    values["qid"] = pl.Series(np.repeat(qids, rows))
    if names is not None:
        values["query"] = pl.Series(names).gather(np.repeat(np.arange(len(names)), rows))
    columns = schema(len(roles.features), names is not None, roles.weight is not None)
    empty = pl.repeat(None, count, eager=True)
    frame = pl.DataFrame([values.get(name, empty).cast(kind).alias(name) for name, kind in columns.items()]).rechunk()
    kinds = {name: _kind(raw.column(name)) for name in raw.names}
    kinds |= {name: f"{len(values)} {'level' if len(values) == 1 else 'levels'}" for name, values in levels.items()}
    return DataTable(raw.where, frame, roles, qids, rows, queries.starts, names, kinds, queries.order, merged, levels)


def _query_of_row(queries: _Queries, count: int) -> np.ndarray:
    """Return the (n,) positions of the queries of the rows, in the order of the file. count: n."""
    of_row = np.repeat(np.arange(len(queries.starts)), np.diff(np.r_[queries.starts, count]))
    if queries.order is None:
        return of_row
    in_file = np.empty_like(of_row)
    in_file[queries.order] = of_row
    return in_file


def _wide(stored: pl.Series, feature: pl.Series) -> np.ndarray:
    """Return the values of a feature in the widest type: whole numbers as they are stored, all others as floats."""
    whole = stored.dtype.is_integer() and not stored.has_nulls()
    return (stored if whole else feature).to_numpy()


def _labels(raw: RawTable, name: str, edges: Sequence[float]) -> pl.Series:
    """Return a column of labels as grades (int16). Raises GradrankError if a value is not a label.

    edges: the edges of grades (see `Columns`); empty if the labels are grades.
    """
    labels = _role_values(raw, name, f"grades. Fix: store whole numbers from 0 to {HIGHEST_GRADE}")
    if edges:
        raw.refuse(name, ~labels.is_finite().fill_null(False), "a finite number as label")
        return pl.Series(np.searchsorted(edges, labels.to_numpy(), side="right")).cast(pl.Int16)
    is_bad = labels.is_null() | (labels != labels.floor()) | (labels < 0) | (labels > HIGHEST_GRADE)
    raw.refuse(name, is_bad, f"a grade, a whole number from 0 to {HIGHEST_GRADE}")
    return labels.cast(pl.Int16)


def _weights(raw: RawTable, name: str) -> pl.Series:
    """Return a column of weights as float64. Raises GradrankError if a value is missing, negative or not finite."""
    weights = _role_values(raw, name, "weights. Fix: store finite numbers of at least 0")
    is_bad = weights.is_null() | ~weights.is_finite() | (weights < 0)
    raw.refuse(name, is_bad, "a weight, a finite number of at least 0")
    return weights


def _role_values(raw: RawTable, name: str, expected: str) -> pl.Series:
    """Return a column of numbers as float64. A value is null if it is missing, or if it is text and not a number.

    expected: what the column should contain, for the GradrankError that is raised for another data type.
    """
    values = raw.column(name)
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if not (is_number(values) or values.dtype == pl.String):
        raise GradrankError(f"{raw.where}: column {name!r} is {values.dtype}, not {expected}")
    return floats(values)[0] if values.dtype == pl.String else values.cast(pl.Float64)


def _has_categories(raw: RawTable, name: str, declared: Sequence[str]) -> bool:
    """Return whether a column has categories: it is declared, has categories or text, or is text without a number."""
    values = raw.column(name)
    if name in declared or values.dtype in (pl.Categorical, pl.Enum):
        return True
    if values.dtype != pl.String:
        return False
    parsed, is_bad = floats(values)
    return bool(is_bad.any()) and parsed.null_count() == len(parsed)


def levels_of(
    columns: Sequence[pl.Series], name: str, raws: Sequence[RawTable], declared: Sequence[str] = ()
) -> list[str]:
    """Return the levels of a feature in several tables: those of an enum in its order, all others sorted.

    Levels that are all numbers are sorted as numbers. Raises GradrankError for a column that does not have categories.
    declared: the names of the features that the user declared to have categories.
    """
    if isinstance(columns[0].dtype, pl.Enum) and all(column.dtype == columns[0].dtype for column in columns):
        return columns[0].dtype.categories.to_list()
    found = {level for column in columns for level in category_text(column).drop_nulls().unique().to_list()}
    rows = sum(map(len, columns))
    is_text = any(column.dtype == pl.String for column in columns)
    if is_text and name not in declared and len(found) > max(MOST_LEVELS, LEVEL_SHARE * rows):
        where = raws[0].where
        raise GradrankError(
            f"{where}: column {name!r} has {len(found):,} different texts in {rows:,} rows, so it may be an id "
            f"or free text and not a category. Fix: set it aside (`ignore: [{name}]`, `--ignore {name}`), declare it "
            f"as the document id (`docid: {name}`, `--docid {name}`), or as a category (`categorical: [{name}]`, "
            f"`--categorical {name}`)"
        )
    return sorted(found, key=_order_of_levels(found))


def _order_of_levels(levels: Collection[str]) -> Callable[[str], Any]:
    try:
        numbers = {level: float(level) for level in levels}
    except ValueError:
        return str
    return lambda level: (numbers[level], level)


def category_text(values: pl.Series) -> pl.Series:
    """Return a column of categories as text, with null for a missing value."""
    if values.dtype == pl.String:
        stripped = values.str.strip_chars(" \t")
        return pl.select(pl.when(~stripped.str.to_lowercase().is_in(MISSING)).then(stripped)).to_series()
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if (values.drop_nulls() == values.drop_nulls().floor()).all():
            values = values.cast(pl.Int64, strict=False)
    return values.cast(pl.String)


def codes_of(values: pl.Series, levels: Sequence[str]) -> pl.Series:
    """Return the codes of a column of categories as float32: the places in `levels`, and NaN for all other values."""
    places = {level: float(place) for place, level in enumerate(levels)}
    codes = category_text(values).replace_strict(places, default=None, return_dtype=pl.Float32)
    return codes.fill_null(float("nan"))


def _feature(raw: RawTable, name: str, levels: Mapping[str, Sequence[str]]) -> pl.Series:
    """Return a feature as float32 if it is stored so and complete or has categories, and as float64 otherwise."""
    values = raw.column(name)
    if name in levels:
        return codes_of(values, levels[name])
    if values.dtype == pl.Float32 and not values.has_nulls() and values.is_finite().all():
        return values
    return numbers(raw, name)


def _float32(feature: pl.Series) -> pl.Series:
    """Return a feature as float32. Missing values are NaN, and values beyond the range of float32 are clipped."""
    if feature.dtype == pl.Float32:
        return feature
    return feature.fill_null(np.nan).clip(-LARGEST, LARGEST).cast(pl.Float32)


def numbers(raw: RawTable, name: str) -> pl.Series:
    """Return a column as float64. Missing values are null. The text of CSV and TSV files is parsed.

    Raises GradrankError if a value is not a finite number.
    """
    values = raw.column(name)
    if values.dtype == pl.String and raw.is_text:
        parsed, is_bad = floats(values)
        raw.refuse(
            name,
            is_bad,
            f"a number or nothing (or leave the column out: `ignore: [{name}]`, or declare it as a "
            f"category: `categorical: [{name}]`)",
        )
        return parsed
    if not is_number(values):
        raise GradrankError(
            f"{raw.where}: column {name!r} is {values.dtype}, not numbers; every column without a role is a "
            f"feature. Fix: store it as numbers, or set it aside (`ignore: [{name}]` for this data set in params.yaml, "
            f"`--ignore {name}` on the command line)"
        )
    converted = values.cast(pl.Float64).fill_nan(None)
    raw.refuse(name, converted.is_infinite().fill_null(False), "a finite number or none")
    return converted


def floats(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Parse a column of text.

    Returns two columns: the values as float64, null if missing, and a Boolean column that is True for each value that
    is not a number. If all values are `true`, `false` or missing, `true` becomes 1 and `false` becomes 0.
    """
    parsed = values.cast(pl.Float64, strict=False)
    is_doubtful = parsed.is_null() | ~parsed.is_finite()
    if not is_doubtful.any():
        return parsed, is_doubtful
    stripped = values.str.strip_chars(" \t").str.to_lowercase()
    is_word, is_missing = stripped.is_in(["true", "false"]), stripped.is_in(MISSING)
    if (is_word | is_missing).all() and not is_missing.all():
        numbers = pl.select(pl.when(is_word).then((stripped == "true").cast(pl.Float64))).to_series()
        return numbers, ~(is_word | is_missing)
    parsed = stripped.cast(pl.Float64, strict=False)
    has_digits = stripped.str.contains(r"\d")
    is_missing = is_missing | values.is_null()
    is_bad = ~is_missing & (parsed.is_null() | (~parsed.is_finite() & ~has_digits))
    return pl.select(pl.when(~is_missing).then(parsed)).to_series(), is_bad


def is_number(values: pl.Series) -> bool:
    """Return True if a column contains numbers, Booleans or only nulls."""
    return values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)


def _kind(values: pl.Series) -> str:
    """Return the data type of a column, for `describe_roles`."""
    return "text" if values.dtype == pl.String else str(values.dtype)
