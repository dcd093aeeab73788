"""Description of the columns of a file: role, type, count, range, and share of missing values per column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from gradrank.data.exact_values import EXACT_IN_FLOAT32
from gradrank.data.fold_parts import held_out_sentence
from gradrank.data.tables.table import DataTable
from gradrank.data.text.text_file import TextFile

TEXT = {"query": "qid:", "label": "first word", "docid": "#docid =", "inc": "inc =", "prob": "prob ="}
MOST_DESCRIBED = 1_000  # maximum number of features described in collection.json
MOST_SHOWN = 20  # maximum number of features in a printed table


@dataclass(frozen=True)
class ColumnRanges:
    """The lowest value, the highest value and the number of missing values per column.

    `names` has k column names, and `low`, `high` and `missing` are (k,) float64. `low` and `high` are NaN if all values
    of the column are missing.
    """

    names: list[str]
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def row(self, name: str) -> tuple[float | None, float | None, int]:
        """Return the lowest value, the highest value, and the number of missing values of the column `name`.

        If all values are missing, the first two are returned as None.
        """
        position = self._positions[name]
        low, high = (None if np.isnan(ends[position]) else float(ends[position]) for ends in (self.low, self.high))
        return low, high, int(self.missing[position])


def column_ranges(frame: pl.DataFrame, features: np.ndarray) -> ColumnRanges:
    """Return the ranges of the columns of a frame.

    frame: n rows with the columns of `letor.schema`. features: (n, d), the feature columns of the frame.
    """
    numbers = ["qid", "label", "inc", "prob", *(["weight"] if "weight" in frame.columns else [])]
    heads = frame.select(numbers).cast(pl.Float64).to_numpy()
    docids = np.where(frame["docid"].is_null().to_numpy(), np.nan, 0.0)[:, None]
    names = [*numbers, "docid"] + [f"f{number}" for number in range(1, features.shape[1] + 1)]
    blocks = (heads, docids, features)
    low = np.concatenate([np.fmin.reduce(block) for block in blocks])
    high = np.concatenate([np.fmax.reduce(block) for block in blocks])
    missing = np.concatenate([np.isnan(block).sum(axis=0) for block in blocks])
    return ColumnRanges(names, low.astype(np.float64), high.astype(np.float64), missing.astype(np.float64))


def merge_ranges(pieces: Iterable[ColumnRanges]) -> ColumnRanges:
    """Merge the ranges of one or more frames that have the same columns."""
    first, *rest = pieces
    low, high, missing = first.low, first.high, first.missing
    for piece in rest:
        low, high, missing = np.fmin(low, piece.low), np.fmax(high, piece.high), missing + piece.missing
    return ColumnRanges(first.names, low, high, missing)


def large_features(ranges: ColumnRanges) -> list[int]:
    """Return the positions of the features with values beyond 2^24, which may merge in float32."""
    peaks = np.fmax(np.abs(ranges.low), np.abs(ranges.high))
    features = ((name, peak) for name, peak in zip(ranges.names, peaks, strict=True) if name[0] == "f")
    return [int(name[1:]) - 1 for name, peak in features if peak >= EXACT_IN_FLOAT32]


def describe_roles(
    source: TextFile | DataTable, names: Sequence[str] | None, ranges: ColumnRanges, rows: int, queries: int
) -> list[dict[str, Any]]:
    """Return a description of each column of a collection, as a dict per column.

    The keys are `role`, `column` (the name in the file), `type`, `count` (the number of rows with a value), `low`,
    `high` and `missing` (the share of rows without a value). The query column also has `queries` (the number of
    queries). A column that is set aside only has `role` (None), `column`, `type` and `reason`.

    Parameters
    ----------
    source
        The first file.
    names
        The names of the features of a table; None for text.
    ranges
        The ranges of the columns over all rows.
    rows, queries
        The number of rows and of queries.
    """
    table = source if isinstance(source, DataTable) else None
    described: list[dict[str, Any]] = []
    for role in ("query", "label", "docid", "inc", "prob", "weight"):
        column = _column(table, role)
        if column is None:
            continue
        span = ranges.row("qid" if role == "query" else role)
        if span[2] == rows and table is None:
            continue
        ids = "text" if role == "docid" or (role == "query" and source.names) else "number"
        span = (None, None, span[2]) if ids == "text" else span
        described.append(_row(role, column, _kind(table, column, ids), span, rows))
        if role == "query":
            described[-1]["queries"] = queries
    width = sum(name[:1] == "f" for name in ranges.names)
    for number in range(1, min(width, MOST_DESCRIBED) + 1):
        column = names[number - 1] if names else str(number)
        span = ranges.row(f"f{number}")
        span = (None, None, span[2]) if table is not None and column in table.levels else span
        described.append(_row("feature", column, _kind(table, column, "number"), span, rows))
    if table is not None:
        for name, reason in table.roles.aside:
            described.append({"role": None, "column": name, "type": table.kinds[name], "reason": reason})
    return described


def role_table(roles: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the result of `describe_roles` as lines of text, with at most MOST_SHOWN features."""
    features = [row for row in roles if row["role"] == "feature"]
    shown = [row for row in roles if row["role"] != "feature" or row in features[:MOST_SHOWN]]
    cells = [("role", "column", "type", "count", "range", "missing")]
    cells += [_cells(row) for row in shown if row["role"]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(features) > MOST_SHOWN:
        yield f".. and {len(features) - MOST_SHOWN} more features"
    for row in shown:
        if row["role"] is None:
            yield f"set aside: {row['column']!r} ({row['type']}): {row['reason']}"


def fold_lines(description: Mapping[str, Any]) -> Iterator[str]:
    """Yield the folds of a collection as lines of text: the queries and the parts of each split.

    The last line says which queries are held out for validation, if any. description: the content of collection.json.
    """
    cells: list[tuple[str, ...]] = [("fold", "train", "vali", "test")]
    values = description.get("fold_values")
    for number, fold in enumerate(description["folds"], start=1):
        name = f"{number} ({values[number - 1]})" if values else str(number)
        cells.append((name, *(_split(description["parts"], fold[split]) for split in ("train", "vali", "test"))))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if sentence := held_out_sentence(description):
        yield sentence


def _split(parts: Mapping[str, Mapping[str, Any]], numbers: Sequence[int]) -> str:
    queries = sum(parts[str(number)]["queries"] for number in numbers)
    named = f"part {numbers[0]}" if len(numbers) == 1 else f"parts {', '.join(map(str, numbers))}"
    return f"{queries:,} {'query' if queries == 1 else 'queries'} ({named})"


def notes_of(roles: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each column that is set aside although the user did not declare this."""
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
    """Return the name in the file of the column with this role, or None if there is no such column."""
    if table is None:
        return TEXT.get(role)
    if role in ("inc", "prob"):
        return role if role in table.roles.estimates else None
    return getattr(table.roles, role)


def _kind(table: DataTable | None, column: str, parsed: str) -> str:
    """Return the data type of a column: the type in the table, or `parsed` if the values are stored as text."""
    return parsed if table is None or table.kinds[column] == "text" else table.kinds[column]
