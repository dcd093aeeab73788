"""Tables of texts in four forms: aligned text for a terminal, Markdown, HTML for a notebook, and LaTeX for a paper."""

import re
from collections.abc import Iterable, Sequence
from html import escape as html_escape
from typing import NamedTuple

from gradrank.base.numbers import MINUS, NONE

PAGE = 45  # maximum number of lines of a LaTeX table that is not a longtable
LATEX_PACKAGES = "% needs \\usepackage{booktabs,graphicx,longtable}"
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"},
    **{"<": "$<$", ">": "$>$", "≥": "$\\geq$", "≤": "$\\leq$", "±": "$\\pm$", "×": "$\\times$", MINUS: "$-$"},
    **{NONE: "--", "…": "\\dots{}"},
}


class Grid(NamedTuple):
    """Cells as text. alignment: one letter per column, `l` for text and `r` for numbers."""

    head: Sequence[str]
    alignment: str
    lines: Sequence[Sequence[str]]


def plain_table(grid: Grid) -> str:
    """Return the cells as lines of text, in columns of equal width."""
    rows = [grid.head, *grid.lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, grid.alignment, strict=True)
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def pipe_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. The first column is left-aligned, and the other columns are right-aligned."""
    return markdown_table(Grid(head, "l" + "r" * (len(head) - 1), list(rows)))


def markdown_table(grid: Grid) -> str:
    """Return the cells as a Markdown table."""
    lines = [grid.head, [":--" if side == "l" else "--:" for side in grid.alignment], *grid.lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def html_table(grid: Grid, caption: str) -> str:
    """Return the cells as an HTML table. All texts are escaped."""

    def row(kind: str, cells: Sequence[str]) -> str:
        sides = ("left" if side == "l" else "right" for side in grid.alignment)
        return "".join(
            f'<{kind} style="text-align: {side}">{html_escape(cell)}</{kind}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "\n".join(f"<tr>{row('td', line)}</tr>" for line in grid.lines)
    return (
        f'<table>\n<caption style="text-align: left">{html_escape(caption)}</caption>\n'
        f"<thead><tr>{row('th', grid.head)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def latex_escape(text: str) -> str:
    """Return text with LaTeX's special characters escaped. Text in backquotes is set in typewriter type."""
    plain = "".join(SPECIAL.get(sign, sign) for sign in text).strip()
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", plain)


def latex_table(grid: Grid, caption: str, label: str) -> str:
    """Return one `table` environment, or a `longtable` if there are more than PAGE lines.

    A table that is wider than the text is shrunk. The cells and the caption must be LaTeX code. The document needs the
    packages in LATEX_PACKAGES.
    """
    head, *lines = (" & ".join(line) + r" \\" for line in (grid.head, *grid.lines))
    if len(lines) > PAGE:
        opening = [f"\\begin{{longtable}}{{{grid.alignment}}}", f"\\caption{{{caption}}}\\label{{{label}}}\\\\"]
        above = ["\\toprule", head, "\\midrule", "\\endhead", "\\bottomrule", "\\endfoot"]
        return "\n".join(["{\\small", *opening, *above, *lines, "\\end{longtable}}"])
    shrunk = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
    opening = ["\\begin{table}", "\\centering", f"\\caption{{{caption}}}", f"\\label{{{label}}}", shrunk]
    tabular = [f"\\begin{{tabular}}{{{grid.alignment}}}", "\\toprule", head, "\\midrule", *lines, "\\bottomrule"]
    return "\n".join([*opening, *tabular, "\\end{tabular}}", "\\end{table}"])
