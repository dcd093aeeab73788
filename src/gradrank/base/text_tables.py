"""Numbers and tables as text: for a terminal, in Markdown, as HTML for a notebook, and in LaTeX for a paper.

A number has a fixed number of digits, and a missing value is a dash.

In the cells, as in Markdown, a text between two pairs of asterisks is bold.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape as html_escape
from itertools import groupby
from typing import Any, NamedTuple

NONE, MINUS = "–", "\N{MINUS SIGN}"
LEAST_P = 1e-4


def is_missing(value: Any) -> bool:
    """Return True for None and nan."""
    return value is None or value != value


def number(value: float | None, form: str = ".4f", minus: str = MINUS) -> str:
    """Return a number as text, with a typographic minus sign by default. A missing number is a dash."""
    return NONE if value is None or is_missing(value) else format(value, form).replace("-", minus)


def p_value(p: float | None) -> str:
    """Return a p value as text: `0.0123` or `<0.0001`."""
    return f"<{LEAST_P:.4f}" if p is not None and p < LEAST_P else number(p)


PAGE = 45  # maximum number of lines of a LaTeX table that is not a longtable
# Widths in points, in the class article at 10pt: the text, a sign, a capital, the space on each side of a column.
TEXT_WIDTH, SIGN, CAPITAL, SPACE = 345, 5.25, 7.5, 6
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"},
    **{"<": "$<$", ">": "$>$", "≥": "$\\geq$", "≤": "$\\leq$", "±": "$\\pm$", "×": "$\\times$", MINUS: "$-$"},
    **{NONE: "--", "…": "\\dots{}", "▲": "$\\uparrow$", "▼": "$\\downarrow$"},
}
ESCAPED = str.maketrans(SPECIAL)
TYPEWRITER = re.compile(r"`([^`]*)`")
BOLD = re.compile(r"\*\*(.+?)\*\*")


class Grid(NamedTuple):
    """Cells as text.

    alignment: one letter per column, `l` for text and `r` for numbers. groups: if given, a second heading per
    column, which may be empty; equal headings of neighbouring columns become one heading above these columns.
    """

    head: Sequence[str]
    alignment: str
    lines: Sequence[Sequence[str]]
    groups: Sequence[str] = ()

    @property
    def full_head(self) -> list[str]:
        """The heading of each column, after the heading of its group."""
        groups = self.groups or [""] * len(self.head)
        return [" ".join(filter(None, names)) for names in zip(groups, self.head, strict=True)]


def plain_table(grid: Grid) -> str:
    """Return the cells as lines of text, in columns of equal width."""
    rows = [grid.full_head, *grid.lines]
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
    lines = [grid.full_head, [":--" if side == "l" else "--:" for side in grid.alignment], *grid.lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _html(text: str) -> str:
    """Return text as HTML: escaped, with bold text as an element `b`."""
    return BOLD.sub(r"<b>\1</b>", html_escape(text))


def html_table(grid: Grid, caption: str) -> str:
    """Return the cells as an HTML table. All texts are escaped."""

    def row(kind: str, cells: Sequence[str]) -> str:
        sides = ("left" if side == "l" else "right" for side in grid.alignment)
        return "".join(
            f'<{kind} style="text-align: {side}">{_html(cell)}</{kind}>'
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "\n".join(f"<tr>{row('td', line)}</tr>" for line in grid.lines)
    return (
        f'<table>\n<caption style="text-align: left">{html_escape(caption)}</caption>\n'
        f"<thead><tr>{row('th', grid.full_head)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def latex_escape(text: str) -> str:
    """Return text with LaTeX's special characters escaped. Text in backquotes is set in typewriter type."""
    return BOLD.sub(r"\\textbf{\1}", TYPEWRITER.sub(r"\\texttt{\1}", text.translate(ESCAPED).strip()))


def latex_document(tables: Iterable[str]) -> str:
    """Return tables as one text for \\input. Its first line is a comment that lists the packages of these tables."""
    text = "\n".join(tables)
    signs = {"booktabs": "\\toprule", "graphicx": "\\resizebox", "longtable": "\\begin{longtable}"}
    packages = ",".join(package for package, sign in signs.items() if sign in text)
    return f"% needs \\usepackage{{{packages}}}\n{text}" if packages else text


def latex_table(grid: Grid, caption: str, label: str) -> str:
    """Return one `table` environment in LaTeX, or a `longtable` if there are more than PAGE lines.

    caption, label: plain text, as the cells. In the label, every run of characters that LaTeX could misread becomes a
    hyphen. A table that is wider than the text is shrunk. The packages depend on the form; see `latex_document`.
    """
    named = f"\\caption{{{latex_escape(caption)}}}", f"\\label{{tab:{re.sub(r'[^A-Za-z0-9@_.+:=-]+', '-', label)}}}"
    head = ["\\toprule", *_latex_head(grid), "\\midrule"]
    lines = [_latex_line(line) for line in grid.lines]
    if len(lines) > PAGE:
        opening = [f"\\begin{{longtable}}{{{grid.alignment}}}", "".join(named) + r"\\", *head, "\\endfirsthead"]
        parts = [*opening, *head, "\\endhead", "\\bottomrule", "\\endfoot", *lines, "\\end{longtable}}"]
        return "\n".join([f"{{{_longtable_size(grid)}", *parts])
    tabular = [f"\\begin{{tabular}}{{{grid.alignment}}}", *head, *lines, "\\bottomrule", "\\end{tabular}"]
    if _table_width(_column_widths(grid), 1) > TEXT_WIDTH:
        tabular = ["\\resizebox{\\linewidth}{!}{%", *tabular[:-1], f"{tabular[-1]}}}"]
    return "\n".join(["\\begin{table}", "\\centering", *named, *tabular, "\\end{table}"])


def _latex_line(cells: Iterable[str]) -> str:
    r"""Return one line of a table. A bracket or an asterisk at its start would be an argument of the `\\` before it."""
    line = " & ".join(map(latex_escape, cells)) + r" \\"
    return "{}" + line if line.startswith(("[", "*")) else line


def _latex_head(grid: Grid) -> list[str]:
    """Return the lines of the heading: the groups of columns with a rule below each, then the columns."""
    cells, rules, start = [], [], 1
    for name, members in groupby(grid.groups):
        end = start + len(list(members)) - 1
        if name:
            cells.append(f"\\multicolumn{{{end - start + 1}}}{{c}}{{{latex_escape(name)}}}")
            rules.append(f"\\cmidrule(lr){{{start}-{end}}}")
        else:
            cells += [""] * (end - start + 1)
        start = end + 1
    groups = [" & ".join(cells) + r" \\", " ".join(rules)] if rules else []
    return [*groups, _latex_line(grid.head)]


def _longtable_size(grid: Grid) -> str:
    """Return the LaTeX command of the largest font in which the table fits; the smallest if it fits in none."""
    sizes = {"\\small": 0.9, "\\footnotesize": 0.8, "\\scriptsize": 0.7}
    widths = _column_widths(grid)
    fitting = (size for size, scale in sizes.items() if _table_width(widths, scale) <= TEXT_WIDTH)
    return next(fitting, "\\tiny\\setlength{\\tabcolsep}{3pt}")


def _column_widths(grid: Grid) -> list[float]:
    """Return the estimated width of each column in points, at 10pt."""

    def width(cell: str) -> float:
        capitals = sum(map(str.isupper, cell)) + cell.count("@")
        return CAPITAL * capitals + SIGN * (len(cell) - capitals - cell.count("*") - cell.count("`"))

    return [max(map(width, set(column))) for column in zip(grid.head, *grid.lines, strict=True)]


def _table_width(widths: Iterable[float], scale: float) -> float:
    """Return the width of a table in points. widths: of the columns, at 10pt. scale: size of the font over 10pt."""
    return sum(scale * width + 2 * SPACE for width in widths)
