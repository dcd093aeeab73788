"""Describe how a file is understood: one row per column with role, type, count, range and share of missing values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from gradrank.data.tables.table import DataTable
from gradrank.data.text.text_file import Source

TEXT = {"query": "qid:", "label": "first word", "docid": "#docid =", "inc": "inc =", "prob": "prob ="}
STORED = 1_000  # features, at most, that are described
SHOWN = 20  # features, at most, in a printed table


@dataclass(frozen=True)
class Ranges:
    """The least value, the greatest value and the number of missing values per column, each (k,) float64; NaN if all
    are missing.
    """

    names: list[str]
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def row(self, name: str) -> tuple[float | None, float | None, int]:
        """Least, greatest, missing values of a column; None without any value."""
        place = self._places[name]
        low, high = (None if np.isnan(each[place]) else float(each[place]) for each in (self.low, self.high))
        return low, high, int(self.missing[place])


def ranges(frame: pl.DataFrame, features: np.ndarray) -> Ranges:
    """The ranges of a frame with the columns of `letor.schema`, whose (n, d) features are given."""
    heads = frame.select("qid", "label", "inc", "prob").cast(pl.Float64).to_numpy()
    docids = np.where(frame["docid"].is_null().to_numpy(), np.nan, 0.0)[:, None]
    names = ["qid", "label", "inc", "prob", "docid"] + [f"f{number}" for number in range(1, features.shape[1] + 1)]
    parts = [
        (np.fmin.reduce(each), np.fmax.reduce(each), np.isnan(each).sum(axis=0)) for each in (heads, docids, features)
    ]
    return Ranges(names, *(np.concatenate(each).astype(np.float64) for each in zip(*parts, strict=True)))


def joined(pieces: Iterable[Ranges]) -> Ranges:
    """The ranges of pieces, of which there is one at least, as those of the whole."""
    first, *others = pieces
    low, high, missing = first.low, first.high, first.missing
    for each in others:
        low, high, missing = np.fmin(low, each.low), np.fmax(high, each.high), missing + each.missing
    return Ranges(first.names, low, high, missing)


def describe_roles(
    source: Source | DataTable, names: Sequence[str] | None, whole: Ranges, rows: int, queries: int
) -> list[dict[str, Any]]:
    """A row per column: `role`, `column` (its name in the file), `type`, `count` (of rows with a value), `low`, `high`,
    `missing` (a share); for a column that is set aside `role` is null and `reason` says why.

    source: the first file. names: a table's own names of its features. whole: the ranges of all rows.
    """
    table = source if isinstance(source, DataTable) else None
    found = []
    for role in ("query", "label", "docid", "inc", "prob"):
        column = _column(table, role)
        span = whole.row("qid" if role == "query" else role)
        if column is None or (span[2] == rows and table is None):
            continue
        ids = "text" if role == "docid" or (role == "query" and source.names) else "number"
        span = (None, None, span[2]) if ids == "text" else span
        found.append(_row(role, column, _kind(table, column, ids), span, rows))
        if role == "query":
            found[-1]["queries"] = queries
    width = sum(name[:1] == "f" for name in whole.names)
    for number in range(1, min(width, STORED) + 1):
        column = names[number - 1] if names else str(number)
        found.append(_row("feature", column, _kind(table, column, "number"), whole.row(f"f{number}"), rows))
    for name, reason in table.roles.aside if table else ():
        found.append({"role": None, "column": name, "type": table.kinds[name], "reason": reason})
    return found


def role_table(roles: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rows of `describe_roles` as lines of text; of very many features the first ones."""
    features = [row for row in roles if row["role"] == "feature"]
    shown = [row for row in roles if row["role"] != "feature" or row in features[:SHOWN]]
    cells = [("role", "column", "type", "count", "range", "missing")]
    cells += [_cells(row) for row in shown if row["role"]]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(features) > SHOWN:
        yield f".. and {len(features) - SHOWN} more features"
    for row in shown:
        if row["role"] is None:
            yield f"set aside: {row['column']!r} ({row['type']}): {row['reason']}"


def notes_of(roles: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence per column that is set aside though nobody declared so."""
    return [
        f"column {row['column']!r} is set aside: {row['reason']}"
        for row in roles
        if row["role"] is None and not row["reason"].startswith("declared")
    ]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    span = "" if row["low"] is None else f"{_shown(row['low'])} to {_shown(row['high'])}"
    count = f"{row['count']:,}" + (f" ({row['queries']:,} queries)" if "queries" in row else "")
    return row["role"], row["column"], row["type"], count, span, f"{row['missing']:.1%}"


def _shown(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"


def _row(role: str, column: str, kind: str, span: tuple[float | None, float | None, int], rows: int) -> dict[str, Any]:
    low, high, missing = span
    counts = {"count": rows - missing, "low": low, "high": high, "missing": round(missing / rows, 6)}
    return {"role": role, "column": column, "type": kind} | counts


def _column(table: DataTable | None, role: str) -> str | None:
    """The name of a role's column in the file; None without one."""
    if table is None:
        return TEXT[role]
    if role in ("inc", "prob"):
        return role if role in table.roles.estimates else None
    return getattr(table.roles, role)


def _kind(table: DataTable | None, column: str, of_text: str) -> str:
    """How a typed table stores a column; of text what it spells."""
    return of_text if table is None or table.kinds[column] == "text" else table.kinds[column]
