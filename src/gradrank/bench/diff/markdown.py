"""A comparison as Markdown, for a pull request."""

from gradrank.base.numbers import MINUS
from gradrank.base.text_tables import pipe_table
from gradrank.bench.diff import wording
from gradrank.bench.diff.compare import Comparison, MovedQueries
from gradrank.bench.report.tables.table import Column, Table
from gradrank.measures.metrics import metric_label

MOST_ROWS = 10  # a longer table of changes is collapsed


def page(comparison: Comparison) -> str:
    """Return the comparison as Markdown. Long lists are collapsed."""
    a, b = comparison.a, comparison.b
    legend = wording.legend(wording.shown_rows(comparison))
    parts = [f"## `{a.name}` → `{b.name}`", f"A: {wording.source(a)}. B: {wording.source(b)}. {legend}".rstrip()]
    parts += [f"> {notice}" for notice in comparison.notices]
    parts += [f"**Not compared**: {dataset}: {reason}" for dataset, reason in comparison.refused.items()]
    parts += [*wording.only_in_one(comparison), *wording.renamed(comparison)]
    for changes in wording.change_tables(comparison):
        parts += _changes(changes)
    for dataset in comparison.datasets():
        parts += _dataset(comparison, dataset)
    if comparison.costs:
        costs = wording.costs_table(comparison)
        parts += _collapsed(costs.title, _pipe_table(costs))
    return "\n\n".join(parts) + "\n"


def _changes(changes: wording.ChangeTable) -> list[str]:
    if not changes.rows:
        return [f"**{changes.title}**: {changes.note}"]
    rows = [[f"`{name}`", f"`{a}`", f"`{b}`"] for name, a, b in changes.rows]
    table = pipe_table([changes.title, "A", "B"], rows)
    return _collapsed(f"{changes.title}: {len(rows)} changes", table) if len(rows) > MOST_ROWS else [table]


def _dataset(comparison: Comparison, dataset: str) -> list[str]:
    parts = [f"### {dataset} (`{comparison.a.conventions[dataset]}`)"]
    metric = Column("metric", of=lambda row: metric_label(row.metric))
    rows = [row for of_metric in wording.moved_rows(comparison, dataset).values() for row in of_metric]
    parts += [_pipe_table(wording.differences_table(rows, metric))] if rows else []
    parts += [f"{sentence}." for sentence in wording.other_sentences(comparison, dataset)]
    moved = [queries for queries in comparison.moved if queries.dataset == dataset]
    return parts + (_collapsed("Queries that moved most", "\n\n".join(map(_moved, moved))) if moved else [])


def _pipe_table(table: Table) -> str:
    """Return a Markdown table. Its first column has the methods, formatted as code."""
    return pipe_table(table.head, [[f"`{method}`", *cells] for method, *cells in table.cells(MINUS)])


def _moved(moved: MovedQueries) -> str:
    lists = [
        f"{word}: {', '.join(map(wording.query, queries)) or 'none'}"
        for word, queries in (("gained", moved.gained), ("lost", moved.lost))
    ]
    return f"`{moved.model}`, {metric_label(moved.metric)}, {'; '.join(lists)}"


def _collapsed(title: str, body: str) -> list[str]:
    return [f"<details><summary>{title}</summary>", body, "</details>"]
