"""The command `gradrank diff` and its outputs: on a terminal, as Markdown, as JSON and as one HTML file.

The option `--fail-on-regression METRIC:DELTA` makes a CI job fail if a method's mean falls too far. The HTML file opens
offline and has one page of changes, and one page with plots per data set.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer
from markupsafe import Markup
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.files import atomic
from gradrank.base.text_tables import MINUS, number, pipe_table
from gradrank.bench.diff import wording
from gradrank.bench.diff.compare import Comparison, MeanDifference, MovedQueries, Query, compare
from gradrank.bench.diff.read_state import read_state
from gradrank.bench.diff.state import State
from gradrank.bench.report.pages.page import Page, render_page
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.svg import Frame, axis, bar, strip, vertical_line
from gradrank.bench.report.tables.table import Column, Table
from gradrank.measures.metrics import metric_label

EXIT_CODE = 3  # 1 stands for an error, and 2 for a wrong command line


class Limit(NamedTuple):
    """The largest allowed fall of a metric's mean."""

    metric: str
    delta: float


def limit(text: str) -> Limit:
    """Return the limit in a text such as `ndcg@10:0.005`. Raises GradrankError for any other form."""
    metric, _, number = text.rpartition(":")
    try:
        delta = float(number)
    except ValueError:
        delta = -1.0
    if not metric or not 0 <= delta < float("inf"):
        raise GradrankError(
            f"--fail-on-regression {text}: expected METRIC:DELTA with DELTA >= 0, such as ndcg@10:0.005"
        )
    return Limit(metric, delta)


def regressions(comparison: Comparison, limit: Limit) -> list[MeanDifference]:
    """Return the rows of methods whose mean fell by more than the limit, significant or not.

    Significance is not required, for two reasons. Training with the same seeds gives the same bytes, so with unchanged
    seeds a fall is never caused by chance in training. With few queries, a large fall may not be significant. Methods
    that exist in only one state are ignored.

    Raises GradrankError if the metric was not measured or a data set could not be compared.
    """
    if comparison.refused:
        reasons = "; ".join(f"{dataset}: {reason}" for dataset, reason in comparison.refused.items())
        raise GradrankError(f"--fail-on-regression cannot be decided, because data sets were not compared: {reasons}")
    rows = [row for row in comparison.rows if row.metric == limit.metric]
    if not rows:
        metrics = sorted({row.metric for row in comparison.rows})
        raise GradrankError(f"--fail-on-regression: {limit.metric!r} was not measured{nearest(limit.metric, metrics)}")
    # The fall is rounded to 9 decimals, so that a fall from .45 to .44 does not exceed .01 by a rounding error.
    return [row for row in rows if round(-row.difference, 9) > limit.delta]


def plain(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as dictionaries and lists. Numbers are not rounded, and nan becomes None."""
    return _without_nan(
        {
            "a": _state(comparison.a),
            "b": _state(comparison.b),
            "changes": {
                kind: None if changes is None else [change._asdict() for change in changes]
                for kind, changes in comparison.changes._asdict().items()
            },
            "rows": [asdict(row) for row in comparison.rows],
            "moved": [
                {
                    "dataset": moved.dataset,
                    "model": moved.model,
                    "metric": moved.metric,
                    "gained": list(map(_query, moved.gained)),
                    "lost": list(map(_query, moved.lost)),
                }
                for moved in comparison.moved
            ],
            "costs": [
                {"dataset": pair.dataset, "model": pair.model, "a": asdict(pair.a), "b": asdict(pair.b)}
                for pair in comparison.costs
            ],
            "renamed": [pair._asdict() for pair in comparison.renamed],
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "refused": comparison.refused,
            "notices": comparison.notices,
        }
    )


def _state(state: State) -> dict[str, Any]:
    return {"name": state.name, "kind": state.kind, "revision": state.revision, "conventions": dict(state.conventions)}


def _query(query: Query) -> dict[str, Any]:
    return query._asdict() | {"gap": query.gap}


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


MOST_ROWS = 10  # a longer table of changes is collapsed


def markdown_page(comparison: Comparison) -> str:
    """Return the comparison as Markdown. Long lists are collapsed."""
    a, b = comparison.a, comparison.b
    legend = wording.legend(wording.shown_rows(comparison))
    parts = [f"## `{a.name}` → `{b.name}`", f"A: {wording.source(a)}. B: {wording.source(b)}. {legend}".rstrip()]
    parts += [f"> {notice}" for notice in comparison.notices]
    parts += [f"**Not compared**: {dataset}: {reason}" for dataset, reason in comparison.refused.items()]
    parts += [*wording.only_in_one(comparison), *wording.renamed(comparison)]
    for changes in wording.change_tables(comparison):
        parts += _markdown_changes(changes)
    for dataset in comparison.datasets():
        parts += _markdown_dataset(comparison, dataset)
    if comparison.costs:
        costs = wording.costs_table(comparison)
        parts += _collapsed(costs.title, _pipe_table(costs))
    return "\n\n".join(parts) + "\n"


def _markdown_changes(changes: wording.ChangeTable) -> list[str]:
    if not changes.rows:
        return [f"**{changes.title}**: {changes.note}"]
    rows = [[f"`{name}`", f"`{a}`", f"`{b}`"] for name, a, b in changes.rows]
    table = pipe_table([changes.title, "A", "B"], rows)
    return _collapsed(f"{changes.title}: {len(rows)} changes", table) if len(rows) > MOST_ROWS else [table]


def _markdown_dataset(comparison: Comparison, dataset: str) -> list[str]:
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
        _print_changes(changes, console)
    for dataset in comparison.datasets():
        _print_dataset(comparison, dataset, console)
    _costs(comparison, console)
    if legend := wording.legend(wording.shown_rows(comparison)):
        console.print(Text(f"\n{legend}", "dim"))


def _print_changes(changes: wording.ChangeTable, console: Console) -> None:
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


def _print_dataset(comparison: Comparison, dataset: str, console: Console) -> None:
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


def _table(first: str, *others: str, numeric: bool = True) -> Grid:
    table = Grid(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right" if numeric and name != "verdict" else "left")
    return table


WIDTH = 300
FRAME = Frame(left=42, right=292, top=8, bottom=116)
MOST_POINTS = 250


@dataclass(frozen=True)
class DifferenceStrip:
    """The row of one method and its drawing."""

    row: MeanDifference
    drawing: Markup


def differences(rows: Sequence[MeanDifference]) -> tuple[list[DifferenceStrip], Markup]:
    """Return one strip per method, and their common axis.

    A strip shows the difference as a line, its 95% interval as a bar, and zero as a line.
    """
    ends = [0.0] + [end for row in rows for end in (row.low, row.high, row.difference) if end == end]
    scale = svg.padded(ends, 0, 100)
    return [DifferenceStrip(row, _strip(scale, row)) for row in rows], axis(scale)


def _strip(scale: svg.Scale, row: MeanDifference) -> Markup:
    parts = [vertical_line(scale, 0.0, "zero")]
    label = f"{row.model}: {number(row.difference, '+.4f')}, {row.verdict}"
    if row.low == row.low:
        parts.append(bar(scale, row.low, row.high))
        label += f", 95% interval {number(row.low, '+.4f')} to {number(row.high, '+.4f')}"
    if row.difference == row.difference:
        parts.append(vertical_line(scale, row.difference, "mean", 3))
    return strip(scale, parts, label, f"strip {row.verdict.replace(' ', '-')}")


def queries(moved: MovedQueries) -> Markup:
    """Return the plot of the differences of all queries, from the largest gain to the largest loss."""
    count = len(moved.gaps)
    across = svg.Scale(0, max(count - 1, 1), FRAME.left, FRAME.right)
    up = svg.padded([0.0, *moved.gaps], FRAME.bottom, FRAME.top)
    parts = [*FRAME.y_axis(up, up.ticks(4)), FRAME.horizontal_line(up, 0.0, "zero")]
    points = svg.thin(count, MOST_POINTS)
    parts.append(svg.line([across(i) for i in points], [up(moved.gaps[i]) for i in points], "mean"))
    gained, lost = int((moved.gaps > 0).sum()), int((moved.gaps < 0).sum())
    words = f"{gained:,} queries gained, {count - gained - lost:,} are unchanged, {lost:,} lost"
    parts.append(svg.element("text", words, x=FRAME.left, y=FRAME.bottom + 16, class_="tick"))
    label = f"{moved.model}, {metric_label(moved.metric)}: {words}"
    return svg.drawing(parts, WIDTH, FRAME.bottom + 22, label, "moved")


def html_page(comparison: Comparison) -> str:
    """Return the whole document. Equal results give the same text, except for measured times and memory."""
    pages = [Page("changes", "Changes", _overview(comparison))]
    pages += [Page(f"data-{dataset}", dataset, _html_dataset(comparison, dataset)) for dataset in comparison.datasets()]
    return render_page("layout.html", pages=pages, title="diff")


def _overview(comparison: Comparison) -> Markup:
    return render_page(
        "diff_changes.html",
        comparison=comparison,
        states=[(letter, state, wording.source(state)) for letter, state in (("A", comparison.a), ("B", comparison.b))],
        methods=[*wording.only_in_one(comparison), *wording.renamed(comparison)],
        verdicts=wording.shown_rows(comparison),
        others=[(dataset, list(wording.other_sentences(comparison, dataset))) for dataset in comparison.datasets()],
        change_tables=list(wording.change_tables(comparison)),
        costs=[(pair, wording.cost(pair)) for pair in comparison.costs],
        marks=wording.MARKS,
    )


def _html_dataset(comparison: Comparison, dataset: str) -> Markup:
    rows = [row for row in comparison.rows if row.dataset == dataset and row.has_moved]
    return render_page(
        "diff_dataset.html",
        dataset=dataset,
        convention=comparison.a.conventions[dataset],
        legend=wording.legend(rows),
        plots=[(metric, differences(rows)) for metric, rows in wording.moved_rows(comparison, dataset).items()],
        rows=rows,
        others=list(wording.other_sentences(comparison, dataset)),
        moved=[(moved, queries(moved)) for moved in comparison.moved if moved.dataset == dataset],
        interval=wording.interval,
        marks=wording.MARKS,
    )


PIPE_WIDTH = 120  # characters per line if the output is a file or a pipe


def run(a: str, b: str, markdown: bool, as_json: bool, html: Path | None, fail_on_regression: str | None) -> None:
    """Run `gradrank diff`.

    a, b: names of the states, as in `read_state`. html: path of an HTML file to write in addition. fail_on_regression:
    METRIC:DELTA. Raises GradrankError if the states cannot be read or compared, and typer.Exit with EXIT_CODE after a
    regression.
    """
    if markdown and as_json:
        raise GradrankError("--markdown and --json exclude each other. Fix: give one of them")
    allowed = limit(fail_on_regression) if fail_on_regression is not None else None
    comparison = compare(read_state(a), read_state(b))
    _print(comparison, markdown, as_json)
    if html is not None:
        with atomic(html) as partial:
            partial.write_text(html_page(comparison), encoding="utf-8")
    if allowed is not None and (regressed := regressions(comparison, allowed)):
        for row in regressed:
            print(
                f"regression: {row.dataset}/{row.model}: {metric_label(row.metric)} fell from {row.a:.4f} to "
                f"{row.b:.4f}, by more than {allowed.delta:g} ({row.verdict})",
                file=sys.stderr,
            )
        raise typer.Exit(EXIT_CODE)


def _print(comparison: Comparison, markdown: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps(plain(comparison), indent=2, ensure_ascii=False))
    elif markdown:
        print(markdown_page(comparison), end="")
    else:
        from rich.console import Console

        show(comparison, Console(width=None if sys.stdout.isatty() else PIPE_WIDTH))
