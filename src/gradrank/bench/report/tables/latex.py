"""Write a Table as LaTeX for papers.

A table with `parts` becomes one text per value of that column, such as the convention.
"""

from gradrank.base.numbers import MINUS
from gradrank.base.text_tables import Grid, latex_document, latex_table
from gradrank.bench.report.tables.table import Table, cells_of
from gradrank.bench.report.tables.verdicts import MARKS
from gradrank.measures.metrics import metric_label

NO_MARKS = str.maketrans("", "", "".join(MARKS.values()))


def latex(table: Table, owner: str = "") -> dict[str, str]:
    """Return a dict from part to LaTeX text. The key is empty if the table has no parts.

    owner: the data set or study of the table, for the label. A table without rows has no part.
    """
    rows = table.printed_rows(MINUS)
    texts = {}
    for part in dict.fromkeys(values[table.parts] if table.parts else "" for values, _ in rows):
        part_rows = [row for row in rows if not table.parts or row[0][table.parts] == part]
        head, alignment, lines = cells_of(table, part_rows, without=table.parts)
        if table.wide is not None:
            head = list(map(metric_label, head))
        grid = Grid(list(map(_plain, head)), alignment, [list(map(_plain, line)) for line in lines])
        title = f"{table.title}, {table.parts} `{part}`" if part else table.title
        caption = _plain(" ".join(filter(None, [f"{title}.", table.note])))
        texts[part] = latex_document([latex_table(grid, caption, "-".join(filter(None, [owner, table.id, part])))])
    return texts


def _plain(text: str) -> str:
    """Return text without marks of verdicts, because a word after each mark states the same verdict."""
    return text.translate(NO_MARKS)
