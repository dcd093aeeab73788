"""Write a table as files: CSV for programs, Markdown and LaTeX for readers."""

from pathlib import Path

from gradrank.base.files import atomic
from gradrank.report.tables.latex import latex
from gradrank.report.tables.table import Table, markdown, write_csv


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write `folder`/<id>.csv, .md and .tex, and return these paths."""
    write_csv(table, folder)
    for suffix, render in (("md", markdown), ("tex", latex)):
        with atomic(folder / f"{table.id}.{suffix}") as partial:
            partial.write_text(render(table) + "\n", encoding="utf-8")
    return [folder / f"{table.id}.{suffix}" for suffix in ("csv", "md", "tex")]
