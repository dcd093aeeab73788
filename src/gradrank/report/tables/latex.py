"""Write a Table as LaTeX for papers: booktabs rules, best values in bold, marks of significance, a full caption.

A table with `parts` becomes one table per value of that column, such as the convention. The text needs the packages
booktabs, graphicx and longtable. A table with more lines than fit on a page becomes a longtable. A table that is wider
than the text is shrunk.
"""

from collections.abc import Mapping, Sequence

from gradrank.base.numbers import MINUS, is_missing
from gradrank.base.text_tables import LATEX_PACKAGES, SPECIAL, Grid, latex_escape, latex_table
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.statistics import LEVEL
from gradrank.report.tables.numbers import best, descending
from gradrank.report.tables.table import PrintedRow, Row, Table, Wide, pivot
from gradrank.report.tables.verdicts import MARKS

MARK = "$^{*}$"


def latex(table: Table) -> str:
    """Return one `table` or `longtable` environment per part of the table; a table without rows has no part."""
    rows = table.printed_rows(MINUS)
    parts = list(dict.fromkeys(values[table.parts] if table.parts else None for values, _ in rows))
    texts = [LATEX_PACKAGES]
    for part in parts:
        part_rows = [row for row in rows if part is None or row[0][table.parts] == part]
        if table.wide is None:
            grid, has_marks = _long_grid(table, part_rows), False
        else:
            grid, has_marks = _wide_grid(table, table.wide, part_rows)
        texts.append(latex_table(grid, _caption(table, part, has_marks), _label(table, part)))
    return "\n".join(texts)


def escape(text: str) -> str:
    """Return text for LaTeX. Marks of verdicts are left out, because a word after each mark states the same verdict."""
    return latex_escape("".join(sign for sign in text if sign not in MARKS.values()))


def _long_grid(table: Table, rows: Sequence[PrintedRow]) -> Grid:
    """Return one line per row."""
    columns = [column for column in table.columns if column.key != table.parts]
    alignment = "".join("l" if column.is_text else "r" for column in columns)
    lines = [[escape(texts[column.key]) for column in columns] for _, texts in rows]
    return Grid([escape(column.head) for column in columns], alignment, lines)


def _wide_grid(table: Table, wide: Wide, rows: Sequence[PrintedRow]) -> tuple[Grid, bool]:
    """Return the wide form, and whether a cell has a mark of significance.

    If `wide.best` is set, the lines of the wide form are sorted by the column `wide.by`, best first.
    """
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
    return Grid(list(map(escape, head)), "l" * len(keys) + "r" * len(heads), lines), bool(marked)


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
