"""Printing of a comparison on a terminal, in colour if the terminal has colours."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradrank.base.numbers import MINUS
from gradrank.bench.diff import wording
from gradrank.bench.diff.compare import Comparison
from gradrank.measures.metrics import metric_label

STYLES = {"better": "bold green", "worse": "bold red", "within seeds": "yellow", "untested": "yellow"}
MOST_CHANGES = 20  # maximum number of changes shown per kind


def show(comparison: Comparison, console: Console) -> None:
    """Print the whole comparison."""
    for letter, state in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text.assemble((f"{letter}  ", "bold"), state.name, (f"  {wording.source(state)}", "dim")))
    for notice in comparison.notices:
        console.print(Text(f"note: {notice}", "yellow"))
    for dataset, reason in comparison.refused.items():
        console.print(Text(f"not compared: {dataset}: {reason}", "bold red"))
    for line in (*wording.only_in_one(comparison), *wording.renamed(comparison)):
        console.print(Text(line))
    for changes in wording.change_tables(comparison):
        _changes(changes, console)
    for dataset in comparison.datasets():
        _dataset(comparison, dataset, console)
    _costs(comparison, console)
    if legend := wording.legend(wording.shown_rows(comparison)):
        console.print(Text(f"\n{legend}", "dim"))


def _changes(changes: wording.ChangeTable, console: Console) -> None:
    if not changes.rows:
        console.print(Text.assemble((changes.title, "bold"), f": {changes.note}"))
        return
    _heading(changes.title, console)
    table = _table("", "A", "B", numeric=False)
    for row in changes.rows[:MOST_CHANGES]:
        table.add_row(*map(Text, row))
    console.print(Padding(table, (0, 2), expand=False))
    if len(changes.rows) > MOST_CHANGES:
        remaining = len(changes.rows) - MOST_CHANGES
        console.print(Text(f"  and {remaining} more; --json, --markdown and --html list all", "dim"))


def _dataset(comparison: Comparison, dataset: str, console: Console) -> None:
    convention = comparison.a.conventions[dataset]
    for metric, rows in wording.moved_rows(comparison, dataset).items():
        queries = max(row.queries for row in rows)
        _heading(
            f"{dataset}: {metric_label(metric)} ({convention}" + (f", {queries:,} queries)" if queries else ")"),
            console,
        )
        differences = wording.differences_table(rows)
        table = _table(*differences.head)
        for row, (*cells, verdict) in zip(rows, differences.cells(MINUS), strict=True):
            table.add_row(*map(Text, cells), Text(verdict, STYLES.get(row.verdict, "")))
        console.print(Padding(table, (0, 2), expand=False))
    for sentence in wording.other_sentences(comparison, dataset):
        console.print(Text.assemble((f"\n{dataset}: ", "bold"), sentence))
    for moved in comparison.moved:
        if moved.dataset == dataset:
            _heading(f"{dataset}: queries of {moved.model} that moved most, {metric_label(moved.metric)}", console)
            for word, queries in (("gained", moved.gained), ("lost", moved.lost)):
                line = ", ".join(map(wording.query, queries)) or "none"
                console.print(Padding(Text.assemble((f"{word}: ", "dim"), line), (0, 2), expand=False))


def _costs(comparison: Comparison, console: Console) -> None:
    if comparison.costs:
        costs = wording.costs_table(comparison)
        _heading(costs.title, console)
        table = _table(*costs.head)
        for cells in costs.cells():
            table.add_row(*map(Text, cells))
        console.print(Padding(table, (0, 2), expand=False))


def _heading(text: str, console: Console) -> None:
    console.print(Text(f"\n{text}", "bold"))


def _table(first: str, *others: str, numeric: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right" if numeric and name != "verdict" else "left")
    return table
