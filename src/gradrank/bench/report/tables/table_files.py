"""Write a table as files: CSV for programs, Markdown and LaTeX for readers."""

from collections.abc import Mapping
from pathlib import Path

from gradrank.base.files import atomic
from gradrank.bench.report.tables.latex import latex
from gradrank.bench.report.tables.table import Table, markdown, write_csv


def write_table(table: Table, folder: Path, owner: str = "") -> list[Path]:
    """Write a table in all forms, and return the paths. owner: the data set or study, for the label in LaTeX."""
    return [*write_data(table, folder), *write_latex(table.id, latex(table, owner), folder)]


def write_data(table: Table, folder: Path) -> list[Path]:
    """Write `folder`/<id>.csv and <id>.md, and return the paths."""
    write_csv(table, folder)
    return [folder / f"{table.id}.csv", _write(folder / f"{table.id}.md", markdown(table))]


def write_latex(name: str, parts: Mapping[str, str], folder: Path) -> list[Path]:
    """Write `folder`/<name>-<part>.tex for each part of a table, or <name>.tex if the key is empty; return the paths.

    parts: LaTeX texts by part, such as the convention.
    """
    return [_write(folder / f"{'-'.join(filter(None, [name, part]))}.tex", text) for part, text in parts.items()]


def _write(path: Path, text: str) -> Path:
    with atomic(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    return path
