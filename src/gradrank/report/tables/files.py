"""Tables as files: CSV with every digit for programs, Markdown beside it with four for readers."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gradrank.files import atomic
from gradrank.report.tables.markdown import markdown_table
from gradrank.report.tables.rows import COLUMNS, TEXTS, Row


class Wide(NamedTuple):
    """How a long table reads: a line for each value of `lines`, a column for each of `across`."""

    lines: tuple[str, ...]
    across: str
    cell: str  # a format string over the row


WIDE = {
    "main": Wide(("convention", "model"), "metric", "{mean:.4f} ± {half_width:.4f}"),
    "folds": Wide(("convention", "model", "metric"), "fold", "{mean:.4f}"),
    "published": Wide(
        ("model", "method", "note", "convention", "our_convention", "source"),
        "metric",
        "{published:.4f} ({difference:+.4f}, {verdict})",
    ),
    "overview": Wide(("model",), "dataset", "{mean:.4f}"),
    "ranks": Wide(("convention", "model"), "metric", "{rank:.2f}"),
    "pr_curve": Wide(("convention", "model"), "recall", "{precision:.4f}"),
}


def write_table(folder: Path, name: str, rows: Sequence[Row], columns: Iterable[str] = ()) -> None:
    """`folder`/`name`.csv and .md. columns: by default those of `tables.COLUMNS`."""
    columns = list(columns) or COLUMNS[name].split()
    with (
        atomic(folder / f"{name}.csv") as partial,
        partial.open("w", newline="", encoding="utf-8") as stream,
    ):
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: "" if value != value else value for key, value in row.items()})
    with atomic(folder / f"{name}.md") as partial:
        text = _wide(rows, WIDE[name]) if name in WIDE else _long(rows, columns)
        partial.write_text(text + "\n", encoding="utf-8")


def read_table(folder: Path, name: str) -> list[Row]:
    """The rows of `folder`/`name`.csv; columns of numbers as floats, an empty cell as nan. None: no rows."""
    path = folder / f"{name}.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            {key: value if key in TEXTS else float(value or "nan") for key, value in row.items()}
            for row in csv.DictReader(stream)
        ]


def _long(rows: Sequence[Row], columns: Sequence[str]) -> str:
    return markdown_table(columns, [[_text(row[column]) for column in columns] for row in rows])


def _wide(rows: Sequence[Row], form: Wide) -> str:
    heads = list(dict.fromkeys(row[form.across] for row in rows))
    lines: dict[tuple, dict] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in form.lines), {})[row[form.across]] = row
    table = [
        [*map(str, line), *(form.cell.format(**cells[head]) if head in cells else "" for head in heads)]
        for line, cells in lines.items()
    ]
    return markdown_table([*form.lines, *map(str, heads)], table)


def _text(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if value != value else f"{value:.4g}" if abs(value) < 1e-3 else f"{value:.4f}"
