"""A proposal for the columns of a table: role, type, range and missing share of each, and what a person must decide.

Reading a table stops at the first problem. The proposal shows all of them, and the entry of params.yaml under which the
table is read: columns whose meaning is in doubt are set aside, and text with many different values is an id.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.tables.roles import (
    ESTIMATES,
    GRADES,
    ROLE_NAMES,
    Columns,
    is_index,
    may_be_outcome,
    named_columns,
    normalised,
    suspected_role,
)
from gradrank.data.tables.table import LEVEL_SHARE, MOST_LEVELS, RawTable, category_text, floats, is_number

UNDECIDED = "undecided"


class ProposedColumn(NamedTuple):
    """A column with its proposed role, and the reason why a person must decide; empty if the role is certain."""

    name: str
    role: str
    type: str
    span: str
    missing: float
    reason: str = ""


@dataclass
class Proposal:
    """The columns of a table, and the declaration with which it is read.

    problems: what no declaration repairs, such as a missing column of grades.
    """

    where: Path | str
    described: list[ProposedColumn] = field(default_factory=list)
    columns: Columns = Columns()  # noqa: RUF009 - frozen
    problems: list[str] = field(default_factory=list)

    @property
    def is_blocked(self) -> bool:
        """True if the table cannot be read before a person decided. A feature that may be an outcome is a warning."""
        return bool(self.problems) or any(not may_be_outcome(column.name) for column in self.undecided)

    @property
    def undecided(self) -> list[ProposedColumn]:
        """The columns for which a person must decide."""
        return [column for column in self.described if column.reason]

    def lines(self) -> Iterator[str]:
        """Yield the table of the columns, the problems, and the entry of params.yaml, as lines of text."""
        cells = [("role", "column", "type", "range", "missing", "why")]
        for column in self.described:
            role = f"{UNDECIDED}: {column.role}?" if column.reason else column.role
            cells.append((role, column.name, column.type, column.span, f"{column.missing:.1%}", column.reason))
        widths = [max(map(len, cells_of)) for cells_of in zip(*cells, strict=True)]
        for row in cells:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield from (f"PROBLEM: {problem}" for problem in self.problems)

    def entries(self) -> Iterator[str]:
        """Yield the keys of the data set in params.yaml, one line each. Undecided columns are named in a comment."""
        undecided = {column.name for column in self.undecided}
        for key, value in self.columns.declared().items():
            doubtful = [name for name in (value if isinstance(value, list) else [value]) if name in undecided]
            comment = f" # undecided: {', '.join(doubtful)}" if doubtful else ""
            yield f"    {key}: {json.dumps(value, ensure_ascii=False)}{comment}"
        if any(column.role == "feature" and column.type == "number" and column.missing for column in self.described):
            yield "    missing: median # for methods that do not accept missing values"


def dataset_name(path: Path) -> str:
    """Return a name for a data set that is made from the name of its file."""
    plain = re.sub("[^a-z0-9]+", "_", path.name.split(".")[0].lower()).strip("_")
    return plain if re.match("[a-z]", plain) else f"my_{plain or 'data'}"


def propose(raw: RawTable, columns: Columns) -> Proposal:
    """Return the proposal for a table. columns: what the user declared, which stays as it is."""
    proposal = Proposal(raw.where)
    names = list(dict.fromkeys(raw.names))
    if len(names) < len(raw.names):
        repeated = sorted({name for name in names if raw.names.count(name) > 1})
        proposal.problems.append(f"several columns are called {', '.join(map(repr, repeated))}. Fix: rename them")
    if absent := [name for name in (*columns.named(), *columns.categorical) if name not in names]:
        proposal.problems.append(f"no column {', '.join(map(repr, absent))}, although declared. Fix: correct the name")
        columns = _without(columns, absent)
    roles, reasons = _roles(raw, names, columns, proposal)
    ignore, categorical = list(columns.ignore), list(columns.categorical)
    for name in names:
        column, values = _described(raw, name, roles.get(name, "feature"), reasons.get(name, ""))
        if name in columns.ignore:
            column = column._replace(role="ignored")
        elif name not in roles and name not in columns.keep and _is_set_aside(name, roles, raw.index):
            column = column._replace(role="set aside")
        elif name not in roles:
            column = _feature(raw, column, values, columns)
            if column.role == "ignore":
                ignore.append(name)
        if column.role == "docid" and name not in roles:
            taken = columns.docid or next((other for other, role in roles.items() if role == "docid"), None)
            if taken is None:
                roles[name] = "docid"
            else:
                column = column._replace(role="ignore", reason=f"{column.reason}; the docid is {taken!r}")
                ignore.append(name)
        proposal.described.append(column)
    declared = {role: next((name for name, own in roles.items() if own == role), None) for role in ROLE_NAMES}
    declared = {
        role: getattr(columns, role) or (name if name and named_columns(role, names, ignore) != [name] else None)
        for role, name in declared.items()
    }
    proposal.columns = replace(columns, **declared, ignore=tuple(ignore), categorical=tuple(categorical))
    return proposal


def _is_set_aside(name: str, roles: Mapping[str, str], index: Sequence[str]) -> bool:
    """Return whether a table is read without this column, unless it is declared. index: as in `RawTable`."""
    has_usual_name = any(normalised(name) in ROLE_NAMES[role] for role in roles.values() if role in ROLE_NAMES)
    return name in ESTIMATES or is_index(name) or name in index or has_usual_name


def _without(columns: Columns, absent: Sequence[str]) -> Columns:
    """Return the declaration without some names."""
    kept = {key: getattr(columns, key) for key in ("query", "label", "docid", "weight")}
    lists = {
        key: tuple(n for n in getattr(columns, key) if n not in absent) for key in ("ignore", "keep", "categorical")
    }
    return replace(columns, **{key: None if name in absent else name for key, name in kept.items()}, **lists)


def _roles(
    raw: RawTable, names: Sequence[str], columns: Columns, proposal: Proposal
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns with the roles query, label, docid and weight, and the reasons why a role is in doubt."""
    roles = {name: role for role in (*ROLE_NAMES, "weight") if (name := getattr(columns, role))}
    reasons: dict[str, str] = {}
    for role in ROLE_NAMES:
        if role in roles.values():
            continue
        candidates = named_columns(role, names, {*columns.ignore, *columns.keep, *roles})
        if not candidates and role == "label":
            candidates = [name for name in names if normalised(name) in GRADES and name not in columns.ignore]
            reasons |= dict.fromkeys(candidates[:1], "the name suggests a grade")
        elif len(candidates) > 1:
            reasons[candidates[0]] = f"{', '.join(map(repr, candidates[1:]))} may be the {role}, too"
        elif not candidates and role == "query":
            candidates = [name for name in names if name not in columns.named() and _may_be_query(raw, name)]
            reasons |= dict.fromkeys(candidates[:1], "the name suggests an id, and its values repeat in adjacent rows")
        if candidates:
            roles[candidates[0]] = role
        elif role != "docid":
            proposal.problems.append(f"no column is the {role}. Fix: declare it (`{role}: NAME`, `--{role} NAME`)")
    return roles, reasons


def _may_be_query(raw: RawTable, name: str) -> bool:
    """Return whether a column may have query ids: its name suggests an id, and equal values are in adjacent rows."""
    if "id of a row" not in (suspected_role(name) or ""):
        return False
    values = raw.column(name).cast(pl.String).fill_null("")
    distinct = values.n_unique()
    return 1 < distinct < len(values) and int((values[1:] != values[:-1]).sum()) + 1 == distinct


def _described(raw: RawTable, name: str, role: str, reason: str) -> tuple[ProposedColumn, pl.Series]:
    """Return a column with its type, range and share of missing values, and its values as numbers if they are."""
    values = raw.column(name)
    if values.dtype == pl.String and raw.is_text:
        parsed, is_bad = floats(values)
        if not is_bad.any():
            values = parsed
    if is_number(values):
        numbers = values.cast(pl.Float64).fill_nan(None)
        span = "" if numbers.null_count() == len(numbers) else f"{numbers.min():g} to {numbers.max():g}"
        kind, missing = "number", numbers.null_count()
    elif values.dtype in (pl.String, pl.Categorical, pl.Enum):
        texts = category_text(values)
        kind, span, missing = "text", f"{texts.drop_nulls().n_unique():,} values", texts.null_count()
    else:
        kind, span, missing = str(values.dtype), "", values.null_count()
    return ProposedColumn(name, role, kind, span, missing / max(len(values), 1), reason), values


def _feature(raw: RawTable, column: ProposedColumn, values: pl.Series, columns: Columns) -> ProposedColumn:
    """Return a column without a role as a feature, or with the reason why it is probably none."""
    name = column.name
    if name in columns.keep:
        return column
    if not name.strip():
        return column._replace(role="ignore", reason="it has no name")
    if suspected := suspected_role(name):
        return column._replace(role="ignore", reason=f"the name suggests {suspected}")
    if may_be_outcome(name):
        return column._replace(role="ignore", reason="the name suggests an outcome, known only after the ranking")
    if column.type == "text":
        return _text_feature(raw, column, values, columns)
    if column.type != "number":
        return column._replace(role="ignore", reason="neither numbers nor text; convert it to numbers")
    return column


def _text_feature(raw: RawTable, column: ProposedColumn, values: pl.Series, columns: Columns) -> ProposedColumn:
    """Return a column of text as a category, a document id or undecided."""
    category = column._replace(type="category", span=column.span.replace("values", "levels"))
    if column.name in columns.categorical or values.dtype != pl.String:
        return category
    parsed, is_bad = floats(values)
    if parsed.null_count() < len(parsed):
        if not raw.is_text and not is_bad.any():
            return column._replace(role="ignore", reason="text of numbers; convert it to numbers, or `categorical`")
        row = int(is_bad.arg_true()[0])
        reason = f"numbers, but {values[row]!r} in {raw.location(row)}; correct it, or declare `categorical`"
        return column._replace(role="ignore", reason=reason)
    texts = category_text(values).drop_nulls()
    if texts.n_unique() == len(texts) and len(texts) > MOST_LEVELS:
        return column._replace(role="docid", reason="text that differs in all rows")
    if texts.n_unique() > max(MOST_LEVELS, LEVEL_SHARE * len(values)):
        return column._replace(role="ignore", reason="text with many different values; an id, or `categorical`")
    return category


def decision_error(proposal: Proposal) -> GradrankError:
    """Return the error for a table with problems or undecided columns, after they were shown."""
    count = len(proposal.problems) + len(proposal.undecided)
    what = "1 decision is" if count == 1 else f"{count} decisions are"
    return GradrankError(
        f"{proposal.where}: {what} open, as shown above. Fix: correct the entry of params.yaml above and use it, or "
        "give the same keys as options"
    )
