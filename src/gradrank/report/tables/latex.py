"""A Table as LaTeX, for papers: booktabs, the best in bold, marks of significance, a caption that says what it is.

A table that has `parts` becomes one for each value of that column, such as the convention. The text needs the packages
booktabs, graphicx and longtable; a line more than fits a page is a longtable, one wider than the page is shrunk.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.numbers import MINUS, NONE, best, missing
from gradrank.report.tables.table import Pair, Row, Table, Wide, pivot
from gradrank.report.tables.verdicts import MARKS

PAGE = 45  # lines
MARK = "$^{*}$"
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "|": "\\textbar{}"},
    **{"<": "$<$", ">": "$>$", "≥": "$\\geq$", "≤": "$\\leq$", "±": "$\\pm$", "×": "$\\times$", MINUS: "$-$"},
    **{NONE: "--", "…": "\\dots{}"},
    **dict.fromkeys(MARKS.values(), ""),  # beside their word
}


class Grid(NamedTuple):
    """Finished cells. alignment: a letter a column. marked: whether a cell has a mark."""

    head: list[str]
    alignment: str
    lines: list[list[str]]
    marked: bool = False


def latex(table: Table) -> str:
    """One `table` or `longtable` environment, or one for each of the table's parts; none where there are no rows."""
    pairs = table.pairs(MINUS)
    parts = list(dict.fromkeys(row[table.parts] if table.parts else None for row, _ in pairs))
    texts = ["% needs \\usepackage{booktabs,graphicx,longtable}"]
    for part in parts:
        own = [pair for pair in pairs if part is None or pair[0][table.parts] == part]
        grid = _plain(table, own) if table.wide is None else _wide(table, table.wide, own)
        texts.append(_environment(grid, _caption(table, part, grid.marked), _label(table, part)))
    return "\n".join(texts)


def escaped(text: str) -> str:
    """Text as LaTeX prints it; what stands in backquotes in the typewriter's letters."""
    plain = "".join(SPECIAL.get(sign, sign) for sign in text).strip()
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", plain)


def _plain(table: Table, pairs: Sequence[Pair]) -> Grid:
    """A line a row."""
    columns = [column for column in table.columns if column.key != table.parts]
    alignment = "".join("l" if column.is_text else "r" for column in columns)
    lines = [[escaped(printed[column.key]) for column in columns] for _, printed in pairs]
    return Grid([escaped(column.head) for column in columns], alignment, lines)


def _wide(table: Table, wide: Wide, pairs: Sequence[Pair]) -> Grid:
    """As `wide` says; where it says what is best, the best line first."""
    keys = [key for key in wide.lines if key != table.parts]
    heads, found = pivot(pairs, keys, wide.across)
    order, winners = list(found), {}
    if wide.best:
        columns = {
            head: {line: own[head][0][wide.best] for line, own in found.items() if head in own} for head in heads
        }
        winners = {head: best(column) for head, column in columns.items()}
        by = columns[wide.by if wide.by in heads else heads[0]]
        order.sort(key=lambda line: float("inf") if missing(by.get(line)) else -by[line])
    marked = {(line, head) for line in order for head in found[line] if _is_marked(wide, *found[line][head])}
    lines = [
        [
            *map(escaped, line),
            *(
                _cell(wide, own[head][1], line in winners.get(head, ()), (line, head) in marked) if head in own else ""
                for head in heads
            ),
        ]
        for line in order
        for own in [found[line]]
    ]
    head = [*keys, *(metric_label(each) for each in heads)]
    return Grid(list(map(escaped, head)), "l" * len(keys) + "r" * len(heads), lines, bool(marked))


def _is_marked(wide: Wide, row: Row, _: Mapping[str, str]) -> bool:
    return wide.mark is not None and not missing(row[wide.mark.p]) and row[wide.mark.p] < LEVEL


def _cell(wide: Wide, printed: Mapping[str, str], is_best: bool, is_marked: bool) -> str:
    texts = {key: escaped(text) for key, text in printed.items()}
    if is_best:
        texts[wide.best] = f"\\textbf{{{texts[wide.best]}}}"
    if is_marked:
        texts[wide.best] += MARK
    return wide.cell.format(**texts).replace("±", SPECIAL["±"])


def _caption(table: Table, part: str | None, marked: bool) -> str:
    under = "" if part is None else f", {table.parts} `{part}`"
    sentences = [f"{table.title}{under}.", table.note]
    if table.wide is not None and table.wide.best:
        sentences.append("Best in bold.")
    words = escaped(" ".join(filter(None, sentences)))
    return f"{words} {MARK}: {escaped(table.wide.mark.words)}." if marked else words


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
