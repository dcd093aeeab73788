"""Click logs: the documents that sessions have shown, their positions and their clicks."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.base.files import atomic

# key: a column of a click log. value: the names with this role, in lower case and without `_`, `-`, `.` and blanks.
ROLE_NAMES = {
    "session": ("session", "sessionid", "impressionid", "searchid", "requestid", "serpid"),
    "qid": ("qid", "queryid", "query", "querymd5", "topic"),
    "docid": ("docid", "documentid", "docno", "doc", "document", "urlmd5", "url", "itemid", "productid"),
    "position": ("position", "positions", "rank", "pos"),
    "clicks": ("clicks", "click", "clicked", "isclick", "isclicked"),
    "impressions": ("impressions", "impression", "views", "shown"),
}
REQUIRED = ("qid", "docid", "position", "clicks")
SHOWN = 5  # the number of rows of each problem that a message shows


@dataclass(frozen=True, eq=False)
class ClickLog:
    """The shown documents of a log, with positions and clicks.

    Parameters
    ----------
    rows
        Frame with the columns `qid`, `docid`, `position` (from 1), `clicks` and `impressions`. A log of sessions also
        has the column `session`, and one row per shown document with `impressions` = 1 and `clicks` 0 or 1. Without
        sessions, a row counts all impressions of a document of a query at a position.

    Examples
    --------
    >>> import polars as pl
    >>> from gradrank.clicks import ClickLog
    >>> rows = {"session": [1, 1, 2, 2], "qid": ["a"] * 4, "docid": [7, 8, 8, 7], "position": [1, 2, 1, 2]}
    >>> log = ClickLog.read(pl.DataFrame(rows | {"clicked": [1, 0, 1, 0]}))
    >>> log.has_sessions, log.rows["clicks"].sum()
    (True, 2)
    """

    rows: pl.DataFrame

    @classmethod
    def read(cls, source: Any, columns: Mapping[str, str] | None = None) -> "ClickLog":
        """Return the log in a file or a frame.

        Parameters
        ----------
        source
            Path of a CSV, Parquet or JSON lines file, or a frame of Polars, pandas or Arrow.
        columns
            Dict from a role (`session`, `qid`, `docid`, `position`, `clicks`, `impressions`) to the name of its column.
            By default, columns are recognised by usual names, such as `query_id`, `rank` and `is_click`.

        Raises
        ------
        GradrankError
            If a column is missing or not recognised, or if rows contradict each other: values that are missing,
            positions below 1, a position or document twice in a session, clicks other than 0 and 1 in a session, more
            clicks than impressions. All problems are shown together, each with its first rows.

        A GradrankWarning says that every query has one order of documents: relevance and position are then confounded.
        """
        where = str(source) if isinstance(source, str | Path) else "clicks"
        frame = _with_roles(_frame(source, where), dict(columns or {}), where)
        _check(frame, where)
        log = cls(frame.with_columns(pl.col("position", "clicks", "impressions").cast(pl.Int64)))
        if not log.orders_vary():
            warnings.warn(
                f"{where}: each document of a query has always the same position, so the log cannot separate relevance "
                "from position. Fix: log more than one ranking per query, or give known propensities",
                GradrankWarning,
                stacklevel=2,
            )
        return log

    @property
    def has_sessions(self) -> bool:
        """True if each row is one document of one session."""
        return "session" in self.rows.columns

    @property
    def depth(self) -> int:
        """The last position."""
        return int(self.rows["position"].max()) if len(self.rows) else 0  # type: ignore[arg-type]

    def orders_vary(self) -> bool:
        """Return True if a document of a query is shown at several positions."""
        positions = self.rows.group_by("qid", "docid").agg(pl.col("position").n_unique())["position"]
        return bool((positions > 1).any())

    def sessions(self) -> pl.DataFrame:
        """Return the number of `sessions` of each `qid`: without sessions, the impressions of position 1."""
        if self.has_sessions:
            counted = pl.col("session").n_unique().cast(pl.Float64)
            return self.rows.group_by("qid", maintain_order=True).agg(sessions=counted)
        first = pl.col("impressions").filter(pl.col("position") == 1).sum().cast(pl.Float64)
        return self.rows.group_by("qid", maintain_order=True).agg(sessions=first).filter(pl.col("sessions") > 0)

    def aggregated(self) -> "ClickLog":
        """Return the log without sessions: one row per query, document and position, in this order."""
        keys = ["qid", "docid", "position"]
        counts = self.rows.group_by(keys).agg(pl.col("clicks", "impressions").sum())
        return ClickLog(counts.sort(keys))

    def write(self, path: Path | str) -> None:
        """Write the log as a Parquet file, which `read` reads."""
        with atomic(path) as partial:
            self.rows.write_parquet(partial, compression="zstd")


def _frame(source: Any, where: str) -> pl.DataFrame:
    """Return the table in a file or an object."""
    if not isinstance(source, str | Path):
        try:
            return source.collect() if isinstance(source, pl.LazyFrame) else pl.DataFrame(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise GradrankError(f"{where}: not a table ({error}). Fix: give a data frame or a path") from None
    readers = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson, ".ndjson": pl.read_ndjson}
    reader = readers.get(Path(source).suffix.lower())
    if reader is None:
        raise GradrankError(f"{where}: unknown form. Fix: give a file whose name ends with {', '.join(readers)}")
    try:
        return reader(source)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise GradrankError(f"{where}: cannot be read ({error}). Fix: check the file") from None


def _with_roles(frame: pl.DataFrame, columns: dict[str, str], where: str) -> pl.DataFrame:
    """Return the columns of a log under the names of their roles."""
    problems = []
    for role, name in columns.items():
        if role not in ROLE_NAMES:
            problems.append(f"columns: unknown role {role!r} (valid: {', '.join(ROLE_NAMES)})")
        elif name not in frame.columns:
            problems.append(f"columns: no column {name!r} (there are {', '.join(frame.columns)})")
    plain = {name: "".join(each for each in name.lower() if each not in "_-. ") for name in frame.columns}
    found = dict(columns)
    for role, names in ROLE_NAMES.items():
        candidates = [name for name in frame.columns if plain[name] in names and name not in found.values()]
        if role in found or not candidates:
            continue
        if len(candidates) > 1:
            problems.append(f"{role}: the columns {', '.join(candidates)} (say which one: columns={{{role!r}: ...}})")
        found[role] = candidates[0]
    problems += [
        f"{role}: no column (usual names: {', '.join(ROLE_NAMES[role][:3])})" for role in REQUIRED if role not in found
    ]
    if "session" not in found and "impressions" not in found:
        problems.append("session or impressions: no column (one row per session and document, or counts)")
    if problems:
        raise GradrankError(f"{where}: " + "; ".join(problems) + ". Fix: name the columns with columns={...}")
    selected = frame.select(pl.col(found[role]).alias(role) for role in ROLE_NAMES if role in found)
    for role in ("position", "clicks", "impressions"):
        if role in selected.columns:
            kind = selected.schema[role]
            if not (kind.is_numeric() or kind == pl.Boolean):
                raise GradrankError(f"{where}: column {found[role]!r} has {kind}. Fix: give integers")
    whole = pl.col("position", "clicks").cast(pl.Float64)
    selected = selected.with_columns(whole)
    if "impressions" in selected.columns:
        return selected.with_columns(pl.col("impressions").cast(pl.Float64))
    return selected.with_columns(impressions=pl.lit(1.0))


def _check(frame: pl.DataFrame, where: str) -> None:
    """Raise GradrankError with all rows that cannot be rows of a log; otherwise all columns are valid."""
    numbered = frame.with_row_index("row", 1)
    faults: list[tuple[str, pl.Expr]] = [
        (f"{name} is missing", pl.col(name).is_null() | (pl.col(name).is_nan() if kind.is_float() else False))
        for name, kind in frame.schema.items()
    ]
    position, clicks, impressions = pl.col("position"), pl.col("clicks"), pl.col("impressions")
    faults += [
        ("the position is not an integer from 1", (position < 1) | (position != position.floor())),
        ("the number of clicks is not an integer from 0", (clicks < 0) | (clicks != clicks.floor())),
        (
            "the number of impressions is not an integer from 1",
            (impressions < 1) | (impressions != impressions.floor()),
        ),
        ("there are more clicks than impressions", clicks > impressions),
    ]
    if "session" in frame.columns:
        faults += [
            ("the session has this position twice", pl.struct("session", "qid", "position").is_duplicated()),
            ("the session shows this document twice", pl.struct("session", "qid", "docid").is_duplicated()),
        ]
    else:
        faults.append(
            (
                "the query has this document at this position twice",
                pl.struct("qid", "docid", "position").is_duplicated(),
            )
        )
    problems = []
    for text, condition in faults:
        rows = numbered.filter(condition)["row"]
        if len(rows):
            shown = ", ".join(map(str, rows.head(SHOWN))) + (" ..." if len(rows) > SHOWN else "")
            problems.append(f"{text} ({len(rows):,} rows: {shown})")
    if problems:
        raise GradrankError(f"{where}: " + "; ".join(problems) + ". Fix: correct or leave out these rows")
