"""A comparison as Markdown, for a pull request."""

from gradrank.diff import wording
from gradrank.diff.compare import Comparison, Moved
from gradrank.evaluation.metrics import metric_label
from gradrank.report.tables.numbers import MINUS
from gradrank.report.tables.table import Column, Table, pipe_table

MOST_ROWS = 10  # of a table that is not folded away


def page(comparison: Comparison) -> str:
    """The whole text, long lists folded away."""
    a, b = comparison.a, comparison.b
    parts = [
        f"## `{a.name}` → `{b.name}`",
        f"A: {wording.source(a)}. B: {wording.source(b)}. {wording.method(comparison)}",
    ]
    parts += [f"> {notice}" for notice in comparison.notices]
    parts += [f"**Not compared**: {dataset}: {reason}" for dataset, reason in comparison.refused.items()]
    parts += wording.lacking(comparison)
    for changed in wording.changed(comparison):
        parts += _changes(changed)
    for dataset in comparison.datasets():
        parts += _dataset(comparison, dataset)
    if comparison.costs:
        costs = wording.costs_table(comparison)
        parts += _folded(costs.title, _pipe_table(costs))
    return "\n\n".join(parts) + "\n"


def _changes(changed: wording.Changed) -> list[str]:
    if not changed.rows:
        return [f"**{changed.title}**: {changed.note}"]
    rows = [[f"`{name}`", f"`{a}`", f"`{b}`"] for name, a, b in changed.rows]
    table = pipe_table([changed.title, "A", "B"], rows)
    return _folded(f"{changed.title}: {len(rows)} changes", table) if len(rows) > MOST_ROWS else [table]


def _dataset(comparison: Comparison, dataset: str) -> list[str]:
    parts = [f"### {dataset} (`{comparison.a.conventions[dataset]}`)"]
    metric = Column("metric", of=lambda row: metric_label(row.metric))
    rows = [row for own in wording.moved(comparison, dataset).values() for row in own]
    parts += [_pipe_table(wording.differences_table(rows, metric))] if rows else []
    parts += [f"{sentence}." for sentence in wording.level(comparison, dataset)]
    moved = [each for each in comparison.moved if each.dataset == dataset]
    return parts + (_folded("Queries that moved most", "\n\n".join(map(_moved, moved))) if moved else [])


def _pipe_table(table: Table) -> str:
    """The first column, of methods, as code."""
    return pipe_table(table.head, [[f"`{method}`", *cells] for method, *cells in table.cells(MINUS)])


def _moved(moved: Moved) -> str:
    lists = [
        f"{word}: {', '.join(map(wording.query, queries)) or 'none'}"
        for word, queries in (("gained", moved.gained), ("lost", moved.lost))
    ]
    return f"`{moved.model}`, {metric_label(moved.metric)}, {'; '.join(lists)}"


def _folded(title: str, body: str) -> list[str]:
    return [f"<details><summary>{title}</summary>", body, "</details>"]
