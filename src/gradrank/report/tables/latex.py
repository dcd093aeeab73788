"""Write a Table as LaTeX for papers: booktabs rules, best values in bold, significance marks and a full caption.

If `parts` names a column, such as the convention, one LaTeX table is written per value of that column. The LaTeX
document needs the packages booktabs, graphicx and longtable. A table that is too long for one page is written as a
longtable. A shorter table is shrunk if it is wider than the text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.numbers import MINUS, NONE, best, descending, is_missing
from gradrank.report.tables.table import PrintedRow, Row, Table, Wide, pivot
from gradrank.report.tables.verdicts import MARKS

PAGE = 45  # maximum number of lines of a table that is not a longtable
MARK = "$^{*}$"
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"},
    **{"<": "$<$", ">": "$>$", "≥": "$\\geq$", "≤": "$\\leq$", "±": "$\\pm$", "×": "$\\times$", MINUS: "$-$"},
    **{NONE: "--", "…": "\\dots{}"},
    **dict.fromkeys(MARKS.values(), ""),  # marks are dropped, because the verdict follows each mark as a word
}


class Grid(NamedTuple):
    """Cells as LaTeX. alignment: one letter per column. has_marks: True if any cell has a significance mark."""

    head: list[str]
    alignment: str
    lines: list[list[str]]
    has_marks: bool = False


def latex(table: Table) -> str:
    """Return one `table` or `longtable` environment per part of the table. Without rows, there are no parts."""
    rows = table.printed_rows(MINUS)
    parts = list(dict.fromkeys(values[table.parts] if table.parts else None for values, _ in rows))
    texts = ["% needs \\usepackage{booktabs,graphicx,longtable}"]
    for part in parts:
        part_rows = [row for row in rows if part is None or row[0][table.parts] == part]
        grid = _long_grid(table, part_rows) if table.wide is None else _wide_grid(table, table.wide, part_rows)
        texts.append(_environment(grid, _caption(table, part, grid.has_marks), _label(table, part)))
    return "\n".join(texts)


def escape(text: str) -> str:
    """Return text with LaTeX's special characters escaped. Text in backquotes is set in typewriter type."""
    plain = "".join(SPECIAL.get(sign, sign) for sign in text).strip()
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", plain)


def _long_grid(table: Table, rows: Sequence[PrintedRow]) -> Grid:
    """Return a Grid with one line per row of the table."""
    columns = [column for column in table.columns if column.key != table.parts]
    alignment = "".join("l" if column.is_text else "r" for column in columns)
    lines = [[escape(texts[column.key]) for column in columns] for _, texts in rows]
    return Grid([escape(column.head) for column in columns], alignment, lines)


def _wide_grid(table: Table, wide: Wide, rows: Sequence[PrintedRow]) -> Grid:
    """Return a Grid of the wide form. If `wide.best` is set, its lines are sorted by column `wide.by`, best first."""
    keys = [key for key in wide.lines if key != table.parts]
    heads, cells = pivot(rows, keys, wide.across)
    order = list(cells)
    winners: dict[str, set[tuple[str, ...]]] = {}
    if wide.best:
        columns = {
            head: {line: by_head[head][0][wide.best] for line, by_head in cells.items() if head in by_head}
            for head in heads
        }
        winners = {head: best(column) for head, column in columns.items()}
        sorted_by = columns[wide.by if wide.by in heads else heads[0]]
        order.sort(key=lambda line: descending(sorted_by.get(line)))
    marked = {(line, head) for line in order for head in cells[line] if _is_marked(wide, cells[line][head][0])}
    lines = [
        [
            *map(escape, line),
            *(
                _cell(wide, cells[line][head][1], line in winners.get(head, ()), (line, head) in marked)
                if head in cells[line]
                else ""
                for head in heads
            ),
        ]
        for line in order
    ]
    head = [*keys, *(metric_label(name) for name in heads)]
    return Grid(list(map(escape, head)), "l" * len(keys) + "r" * len(heads), lines, bool(marked))


def _is_marked(wide: Wide, row: Row) -> bool:
    return wide.mark is not None and not is_missing(row[wide.mark.p]) and row[wide.mark.p] < LEVEL


def _cell(wide: Wide, printed: Mapping[str, str], is_best: bool, is_marked: bool) -> str:
    texts = {key: escape(text) for key, text in printed.items()}
    if is_best:
        texts[wide.best] = f"\\textbf{{{texts[wide.best]}}}"
    if is_marked:
        texts[wide.best] += MARK
    return wide.cell.format(**texts).replace("±", SPECIAL["±"])


def _caption(table: Table, part: str | None, has_marks: bool) -> str:
    title = table.title if part is None else f"{table.title}, {table.parts} `{part}`"
    sentences = [f"{title}.", table.note]
    if table.wide is not None and table.wide.best:
        sentences.append("Best in bold.")
    words = escape(" ".join(filter(None, sentences)))
    if has_marks and table.wide is not None and table.wide.mark is not None:
        return f"{words} {MARK}: {escape(table.wide.mark.words)}."
    return words


def _label(table: Table, part: str | None) -> str:
    return f"tab:{table.id}" + (f"-{part}" if part is not None else "")


def _environment(grid: Grid, caption: str, label: str) -> str:
    head, *lines = (" & ".join(line) + r" \\" for line in (grid.head, *grid.lines))
    if len(lines) > PAGE:
        opening = [f"\\begin{{longtable}}{{{grid.alignment}}}", f"\\caption{{{caption}}}\\label{{{label}}}\\\\"]
        above = ["\\toprule", head, "\\midrule", "\\endhead", "\\bottomrule", "\\endfoot"]
        return "\n".join(["{\\small", *opening, *above, *lines, "\\end{longtable}}"])
    shrunk = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
    opening = ["\\begin{table}", "\\centering", f"\\caption{{{caption}}}", f"\\label{{{label}}}", shrunk]
    tabular = [f"\\begin{{tabular}}{{{grid.alignment}}}", "\\toprule", head, "\\midrule", *lines, "\\bottomrule"]
    return "\n".join([*opening, *tabular, "\\end{tabular}}", "\\end{table}"])
