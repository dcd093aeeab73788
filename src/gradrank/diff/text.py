"""A comparison on a terminal, in colour where it is one."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradrank.diff import wording
from gradrank.diff.compare import Comparison
from gradrank.evaluation.metrics import metric_label
from gradrank.report.tables.numbers import MINUS

STYLES = {"better": "bold green", "worse": "bold red", "within seeds": "yellow", "untested": "yellow"}
MOST_CHANGES = 20  # of one kind


def show(comparison: Comparison, console: Console) -> None:
    """Print everything."""
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text.assemble((f"{letter}  ", "bold"), side.name, (f"  {wording.source(side)}", "dim")))
    for notice in comparison.notices:
        console.print(Text(f"note: {notice}", "yellow"))
    for dataset, reason in comparison.refused.items():
        console.print(Text(f"not compared: {dataset}: {reason}", "bold red"))
    for line in wording.lacking(comparison):
        console.print(Text(line))
    for changed in wording.changed(comparison):
        _changes(changed, console)
    for dataset in comparison.datasets():
        _dataset(comparison, dataset, console)
    _costs(comparison, console)
    console.print(Text(f"\n{wording.method(comparison)}", "dim"))


def _changes(changed: wording.Changed, console: Console) -> None:
    if not changed.rows:
        console.print(Text.assemble((changed.title, "bold"), f": {changed.note}"))
        return
    _heading(changed.title, console)
    table = _table("", "A", "B", numeric=False)
    for row in changed.rows[:MOST_CHANGES]:
        table.add_row(*map(Text, row))
    console.print(Padding(table, (0, 2), expand=False))
    if len(changed.rows) > MOST_CHANGES:
        left = len(changed.rows) - MOST_CHANGES
        console.print(Text(f"  and {left} more; --json, --markdown and --html name all", "dim"))


def _dataset(comparison: Comparison, dataset: str, console: Console) -> None:
    convention = comparison.a.conventions[dataset]
    for metric, rows in wording.moved(comparison, dataset).items():
        queries = max(row.queries for row in rows)
        _heading(
            f"{dataset}: {metric_label(metric)} ({convention}" + (f", {queries:,} queries)" if queries else ")"),
            console,
        )
        made = wording.differences_table(rows)
        table = _table(*made.head)
        for row, (*cells, verdict) in zip(rows, made.cells(MINUS), strict=True):
            table.add_row(*map(Text, cells), Text(verdict, STYLES.get(row.verdict, "")))
        console.print(Padding(table, (0, 2), expand=False))
    for sentence in wording.level(comparison, dataset):
        console.print(Text.assemble((f"\n{dataset}: ", "bold"), sentence))
    for moved in comparison.moved:
        if moved.dataset == dataset:
            _heading(f"{dataset}: queries of {moved.model} that moved most, {metric_label(moved.metric)}", console)
            for word, queries in (("gained", moved.gained), ("lost", moved.lost)):
                line = ", ".join(map(wording.query, queries)) or "none"
                console.print(Padding(Text.assemble((f"{word}: ", "dim"), line), (0, 2), expand=False))


def _costs(comparison: Comparison, console: Console) -> None:
    if comparison.costs:
        made = wording.costs_table(comparison)
        _heading(made.title, console)
        table = _table(*made.head)
        for cells in made.cells():
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
