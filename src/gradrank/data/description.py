"""What was understood of a file: a row per column with its role, type, count, range and share of missing values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from gradrank.data.table import Table
from gradrank.data.text_file import Source

Range = tuple[Any, Any, int]  # least and greatest value, None without any, and how many are missing
TEXT = {"query": "qid:", "label": "first word", "docid": "#docid =", "inc": "inc =", "prob": "prob ="}
SHOWN = 20  # features, at most, in a printed table


def ranges(frame: pl.DataFrame) -> dict[str, Range]:
    """By column of `letor.schema` the range of its values, NaN being missing."""
    numeric = frame.select(pl.selectors.numeric())
    low, high = (numeric.select(each).row(0) for each in (pl.all().min(), pl.all().max()))
    nan = frame.select(pl.selectors.float().is_nan().sum()).row(0, named=True)
    nulls = frame.null_count().row(0, named=True)
    known = {name: (_known(a), _known(b)) for name, a, b in zip(numeric.columns, low, high, strict=True)}
    return {
        name: (*known.get(name, (None, None)), nulls[name] + (nan.get(name) or 0)) for name in frame.columns
    }


def joined(pieces: Iterable[Mapping[str, Range]]) -> dict[str, Range]:
    """The ranges of pieces as those of the whole."""
    found: dict[str, Range] = {}
    for piece in pieces:
        for name, (low, high, missing) in piece.items():
            a, b, before = found.get(name, (None, None, 0))
            found[name] = (_either(min, a, low), _either(max, b, high), before + missing)
    return found


def describe_roles(
    source: Source | Table, names: Sequence[str] | None, whole: Mapping[str, Range], rows: int, queries: int
) -> list[dict[str, Any]]:
    """A row per column: `role`, `column` (its name in the file), `type`, `count` (of rows with a value), `low`, `high`,
    `missing` (a share); for a column that is set aside `role` is null and `reason` says why.

    source: the first file. names: a table's own names of its features. whole: the ranges of all rows.
    """
    table = source if isinstance(source, Table) else None
    found = []
    for role in ("query", "label", "docid", "inc", "prob"):
        column = _column(table, role)
        span = whole["qid" if role == "query" else role]
        if column is None or (span[2] == rows and table is None):
            continue
        ids = "text" if role == "docid" or (role == "query" and source.names) else "number"
        span = (None, None, span[2]) if ids == "text" else span
        found.append(_row(role, column, _kind(table, column, ids), span, rows))
        if role == "query":
            found[-1]["queries"] = queries
    for number in range(1, sum(name[:1] == "f" for name in whole) + 1):
        column = names[number - 1] if names else str(number)
        found.append(_row("feature", column, _kind(table, column, "number"), whole[f"f{number}"], rows))
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
    span = "" if row["low"] is None else f"{row['low']:.6g} to {row['high']:.6g}"
    count = f"{row['count']:,}" + (f" ({row['queries']:,} queries)" if "queries" in row else "")
    return row["role"], row["column"], row["type"], count, span, f"{row['missing']:.1%}"


def _row(role: str, column: str, kind: str, span: Range, rows: int) -> dict[str, Any]:
    low, high, missing = span
    counts = {"count": rows - missing, "low": low, "high": high, "missing": round(missing / rows, 6)}
    return {"role": role, "column": column, "type": kind} | counts


def _column(table: Table | None, role: str) -> str | None:
    """The name of a role's column in the file; None without one."""
    if table is None:
        return TEXT[role]
    if role in ("inc", "prob"):
        return role if role in table.roles.estimates else None
    return getattr(table.roles, role)


def _kind(table: Table | None, column: str, of_text: str) -> str:
    """How a typed table stores a column; of text what it spells."""
    return of_text if table is None or table.kinds[column] == "text" else table.kinds[column]


def _known(value: Any) -> Any:
    return None if value is None or value != value else value


def _either(choose: Any, a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else choose(a, b)
