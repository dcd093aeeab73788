"""Ranking data as a table, Parquet or CSV: a column of query ids, one of grades, and features."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.data.compressed import blocks, is_packed, plain_name
from gradrank.data.letor import schema
from gradrank.data.parquet import OF_POLARS, read_parquet
from gradrank.data.rows import Missing, fill
from gradrank.data.scan import HIGHEST_GRADE
from gradrank.errors import GradrankError

# Names that a column may have, in any letter case, where none is declared.
QUERY = ("qid", "query_id", "query", "topic", "topic_id")
LABEL = ("label", "relevance", "grade", "rel")
DOCID = ("docid", "doc_id", "document_id", "docno")
ESTIMATES = ("inc", "prob")  # LETOR's, kept where they are there
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Columns:
    """What a user says of a table's columns: their names, where they have others than usual, and those to leave out."""

    query: str | None = None
    label: str | None = None
    docid: str | None = None
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table in memory and its queries, as `text_file.Source` has them; `features` are its own names of f1..fd."""

    path: Path
    frame: pl.DataFrame
    features: list[str]
    qids: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    names: list[str] | None

    @property
    def ids(self) -> np.ndarray:
        return self.qids if self.names is None else np.array(self.names, object)

    def cost(self, width: int) -> np.ndarray:
        return self.rows * width * 4

    def error_at(self, query: int, message: str) -> GradrankError:
        return GradrankError(f"{self.path}: row {self.starts[query] + 1}: {message}")

    def differing_row(self, others: Sequence["Table"]) -> int | None:
        """The first row, from 1, that is another than in `others` one after the other; None where this repeats them."""
        theirs = pl.concat([other.frame for other in others])
        if self.frame.equals(theirs):
            return None
        shared = min(len(self.frame), len(theirs))
        same = pl.select(
            pl.all_horizontal(
                own.head(shared).eq_missing(theirs[own.name].head(shared)) for own in self.frame
            ).alias("same")
        )["same"]
        return shared + 1 if same.all() else int(same.arg_min()) + 1

    def taken(self, queries: np.ndarray, missing: Missing) -> pl.DataFrame:
        """The rows of the queries at these positions, in the columns of `schema`."""
        rows = np.concatenate(
            [np.arange(self.starts[q], self.starts[q] + self.rows[q]) for q in queries.tolist()]
        )
        found = self.frame[rows]
        if missing == "keep":
            return found
        names = [name for name in found.columns if name[:1] == "f"]
        features = np.array(found.select(names).to_numpy().T, order="C")  # its own: it is written to
        fill(features, self.rows[queries], missing)
        return found.with_columns(pl.Series(name, own) for name, own in zip(names, features, strict=True))


def read_tables(paths: Sequence[Path], columns: Columns) -> list[Table]:
    """Tables of one collection: with the same features, and query ids that are text in all of them or in none.

    Raises GradrankError with file, column and row of what is not as it should be.
    """
    raw = [read_table(path) for path in paths]
    found = [_roles(path, frame, columns) for path, frame in zip(paths, raw, strict=True)]
    features = found[0][1]
    for path, (_, own) in zip(paths, found, strict=True):
        if own != features:
            other = ", ".join(sorted(set(own) ^ set(features))) or "the same in another order"
            raise GradrankError(
                f"{path}: not the features of {paths[0]}: {other}; give all files the same columns"
            )
    numeric = all(_whole(frame[roles["query"]]) for frame, (roles, _) in zip(raw, found, strict=True))
    known: dict[str, int] | None = None if numeric else {}
    return [
        _table(path, frame, roles, features, known)
        for path, frame, (roles, _) in zip(paths, raw, found, strict=True)
    ]


def read_table(path: Path, as_text: bool = False) -> pl.DataFrame:
    """A table as it lies there. as_text: every column is text, as CSV has it, whole numbers without a point.

    Raises GradrankError for what is no table.
    """
    kind = plain_name(path).suffix.lower()
    content = BytesIO(b"".join(blocks(path))) if is_packed(path) else None
    if kind == ".parquet":
        frame = read_parquet(path, content=content)
        return frame.select(_text(path, column) for column in frame) if as_text else frame
    try:
        return pl.read_csv(content or path, infer_schema=not as_text, infer_schema_length=None, glob=False)
    except (*OF_POLARS, UnicodeDecodeError) as error:
        raise GradrankError(f"{path}: not a {kind[1:]} table: {str(error).splitlines()[0]}") from None


def _text(path: Path, values: pl.Series) -> pl.Series:
    if values.dtype.is_nested():
        raise GradrankError(f"{path}: column {values.name!r} is {values.dtype}, not text or numbers")
    whole = values.dtype.is_float() and _whole(values)
    return (values.cast(pl.Int64) if whole else values).cast(pl.String)


def _roles(path: Path, frame: pl.DataFrame, columns: Columns) -> tuple[dict[str, str], list[str]]:
    """The columns of query ids, grades and (if any) document ids, and those of the features in their order."""
    roles = {}
    for role, usual in (("query", QUERY), ("label", LABEL), ("docid", DOCID)):
        declared = getattr(columns, role)
        candidates = [declared] if declared else [name for name in frame.columns if name.lower() in usual]
        candidates = [name for name in candidates if name in frame.columns and name not in columns.ignore]
        if len(candidates) > 1:
            raise GradrankError(
                f"{path}: {' and '.join(candidates)} may each be the {role} column; say `{role}: {candidates[0]}`"
            )
        if candidates:
            roles[role] = candidates[0]
        elif declared or role != "docid":
            wanted = (
                f"{declared!r}, as declared" if declared else f"one of {', '.join(usual)}, or a declared one"
            )
            raise GradrankError(
                f"{path}: no {role} column; expected {wanted} (`{role}: NAME` for this data set in params.yaml, "
                f"`--{role} NAME` of `gradrank parse`); found {', '.join(frame.columns[:12])}"
            )
    taken = {*roles.values(), *columns.ignore, *ESTIMATES}
    features = [name for name in frame.columns if name not in taken]
    for name in features:
        if not (frame[name].dtype.is_numeric() or frame[name].dtype in (pl.Boolean, pl.Null)):
            raise GradrankError(
                f"{path}: column {name!r} is {frame[name].dtype}, not numbers; every column but query, label, docid, "
                f"inc and prob is a feature: make it numbers, or leave it out (`ignore: [{name}]` for this data set in "
                f"params.yaml, `--ignore {name}` of `gradrank parse`)"
            )
    if not features:
        raise GradrankError(f"{path}: no column is left for features; found {', '.join(frame.columns[:12])}")
    return roles, features


def _whole(ids: pl.Series) -> bool:
    if ids.dtype.is_float():
        return ids.is_finite().all() and (ids == ids.floor()).all() and bool((ids.abs() < 2**53).all())
    return ids.dtype.is_integer() and ids.dtype != pl.UInt64


def _table(
    path: Path, frame: pl.DataFrame, roles: dict[str, str], features: list[str], known: dict[str, int] | None
) -> Table:
    ids = frame[roles["query"]]
    if frame.is_empty():
        raise GradrankError(f"{path}: no rows")
    if ids.null_count():
        raise _bad_row(path, roles["query"], ids.is_null(), "has no query id")
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]).to_numpy()])
    firsts = ids[starts]
    if firsts.is_duplicated().any():
        again = firsts.filter(~firsts.is_first_distinct())[0]
        raise GradrankError(
            f"{path}: column {roles['query']!r}: query {again} comes back; sort the table by this column, so that the "
            "rows of a query are together"
        )
    rows = np.diff(np.r_[starts, len(ids)])
    names, qids = None, firsts
    if known is None:
        qids = firsts.cast(pl.Int64).to_numpy()
    else:
        names = firsts.cast(pl.String).to_list()
        qids = np.array([known.setdefault(name, len(known) + 1) for name in names], np.int64)
    own = {"qid": pl.Series(np.repeat(qids, rows)), "label": _grades(path, frame[roles["label"]])}
    own |= {} if names is None else {"query": ids}
    own |= {"docid": frame[roles["docid"]]} if "docid" in roles else {}
    own |= {name: frame[name] for name in ESTIMATES if name in frame.columns}
    own |= {f"f{k}": _feature(path, frame[name]) for k, name in enumerate(features, start=1)}
    columns = schema(len(features), names is not None)
    whole = pl.DataFrame([series.alias(name) for name, series in own.items()])
    try:
        whole = whole.select(
            (pl.col(name) if name in own else pl.lit(None)).cast(kind).alias(name)
            for name, kind in columns.items()
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise GradrankError(f"{path}: ids or estimates that are no text or numbers: {reason}") from None
    return Table(path, whole, features, qids, rows, starts, names)


def _grades(path: Path, labels: pl.Series) -> pl.Series:
    numbers = labels.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | (numbers != numbers.floor()) | (numbers < 0) | (numbers > HIGHEST_GRADE)
    if bad.any():
        raise _bad_row(
            path, labels.name, bad, f"expected a grade, a whole number from 0 to {HIGHEST_GRADE}", labels
        )
    return numbers.cast(pl.Int16)


def _feature(path: Path, values: pl.Series) -> pl.Series:
    """As float32, NaN where missing, beyond its range its largest."""
    numbers = values.cast(pl.Float64).fill_null(np.nan)
    if numbers.is_infinite().any():
        raise _bad_row(path, values.name, numbers.is_infinite(), "expected a finite number or none", values)
    return numbers.clip(-LARGEST, LARGEST).cast(pl.Float32)


def _bad_row(
    path: Path, column: str, bad: pl.Series, expected: str, values: pl.Series | None = None
) -> GradrankError:
    row = int(bad.arg_true()[0])
    found = "" if values is None else f", found {values[row]!r}"
    return GradrankError(f"{path}: column {column!r}, row {row + 1}: {expected}{found}")
