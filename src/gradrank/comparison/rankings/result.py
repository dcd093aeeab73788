"""The base class of results that print as tables: in a terminal, in a notebook, in Markdown and in LaTeX."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape as html_escape
from textwrap import fill
from typing import NamedTuple

from gradrank.base.text_tables import Grid, html_table, latex_document, latex_table, markdown_table, plain_table

CAPTION = 100  # characters per line of a caption in a terminal


class Section(NamedTuple):
    """One table of a result.

    caption: what the table shows. label: label in LaTeX, without the prefix `tab:`. note: text under the table; may be
    empty.
    """

    caption: str
    grid: Grid
    label: str
    note: str = ""


def section(
    caption: str, head: Sequence[str], texts: int, lines: Sequence[Sequence[str]], label: str, note: str = ""
) -> Section:
    """Return a section whose first `texts` columns are text and whose other columns are numbers.

    Line breaks and repeated blanks become one blank.
    """
    alignment = "l" * texts + "r" * (len(head) - texts)
    cells = [[" ".join(cell.split()) for cell in line] for line in lines]
    return Section(" ".join(caption.split()), Grid(list(head), alignment, cells), label, note)


class Result(ABC):
    """A result with one or more tables for readers."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return the tables for readers. All numbers are rounded."""

    def __repr__(self) -> str:
        return "\n\n".join(
            f"{fill(part.caption, CAPTION)}\n{plain_table(part.grid)}"
            + (f"\n{fill(part.note, CAPTION)}" if part.note else "")
            for part in self.sections()
        )

    def _repr_html_(self) -> str:
        """Return the tables as HTML, for notebooks."""
        return "\n".join(
            html_table(part.grid, part.caption) + (f"\n<p>{html_escape(part.note)}</p>" if part.note else "")
            for part in self.sections()
        )

    def to_markdown(self) -> str:
        """Return the tables in Markdown, each followed by its caption."""
        return "\n\n".join(
            "\n\n".join(filter(None, (markdown_table(part.grid), part.caption, part.note))) for part in self.sections()
        )

    def to_latex(self) -> str:
        """Return the tables in LaTeX, with rules of the package booktabs. The first line lists the LaTeX packages."""
        return latex_document(
            latex_table(grid, f"{caption}. {note}" if note else caption, label)
            for caption, grid, label, note in self.sections()
        )
