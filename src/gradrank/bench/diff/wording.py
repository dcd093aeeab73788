"""Texts and tables that the terminal, Markdown and HTML outputs share."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradrank.base.text_tables import NONE, number
from gradrank.bench.diff.changes import Change
from gradrank.bench.diff.compare import Comparison, CostPair, MeanDifference, Query, Verdict, headline
from gradrank.bench.diff.state import State
from gradrank.bench.report.tables.table import Column, P, Table, seconds
from gradrank.measures.metrics import metric_label

MARKS = {"better": "▲", "worse": "▼", "within seeds": "", "no evidence": "", "unchanged": "", "untested": ""}
TITLES = {"params": "Parameters", "data": "Data", "code": "Code", "versions": "Packages"}
DIFFERENCES = "Differences of means over folds, B minus A, on the same queries"
TESTED = (
    ", with 95% bootstrap intervals over queries. Better or worse: the Wilcoxon signed-rank test, Holm-corrected over "
    "all methods with a changed query, gives p < .05, and the interval excludes 0."
)
SEEDS = (
    " For methods with several seeds, values are means over seeds, and intervals also cover the seeds. Within seeds: "
    "the difference lies in the 95% interval of the differences that seeds alone cause."
)
UNTESTED = " Untested: there are no values per query."

# Sentences about methods that did not change. key: the set of verdicts over all metrics; value: the sentence
UNMOVED: dict[frozenset[Verdict], str] = {
    frozenset({"unchanged"}): "Unchanged on every query",
    frozenset({"unchanged", "untested"}): "Unchanged on every query for the metrics with values per query; means equal "
    "to four decimals for the others",
    frozenset({"untested"}): "Means equal to four decimals; values per query not available",
}
MOST_NAMED = 8  # maximum number of unchanged methods that are listed by name; otherwise only their number is shown


class ChangeTable(NamedTuple):
    """The changes of one kind.

    rows: (name, value in A, value in B) tuples, or None if the states do not record this kind. note: text to show if
    there are no rows.
    """

    title: str
    rows: list[tuple[str, str, str]] | None
    note: str


def legend(rows: Sequence[MeanDifference]) -> str:
    """Return the explanation of the columns and verdicts in a table of changed rows; empty for an empty table.

    Only verdicts that the table contains are explained.
    """
    if not rows:
        return ""
    tested = [row for row in rows if row.verdict != "untested"]
    seeds = any(row.seed_noise == row.seed_noise for row in tested)
    text = DIFFERENCES + (TESTED if tested else ".") + (SEEDS if seeds else "")
    return text + (UNTESTED if len(tested) < len(rows) else "")


def shown_rows(comparison: Comparison) -> list[MeanDifference]:
    """Return the rows of `moved_rows` of all data sets."""
    tables = [moved_rows(comparison, dataset) for dataset in comparison.datasets()]
    return [row for table in tables for rows in table.values() for row in rows]


def moved_rows(comparison: Comparison, dataset: str) -> dict[str, list[MeanDifference]]:
    """Return a dict of the rows of the methods that changed. The keys are headline metrics.

    Metrics without changes are left out.
    """
    rows = [row for row in comparison.rows if row.dataset == dataset]
    metrics = headline(list(dict.fromkeys(row.metric for row in rows)))
    moved = {metric: [row for row in rows if row.metric == metric and row.has_moved] for metric in metrics}
    return {metric: moved[metric] for metric in metrics if moved[metric]}


def differences_table(rows: Sequence[MeanDifference], *more: Column) -> Table:
    """Return the table of methods and their differences. more: columns to add after the first column."""
    columns = (
        Column("model", "method"),
        *more,
        Column("a", "A", ".4f"),
        Column("b", "B", ".4f"),
        Column("difference", "difference", "+.4f"),
        Column("interval", "95% interval", of=interval),
        Column("wilcoxon_holm", "Wilcoxon p", P),
        Column("t_holm", "t p", P),
        Column("verdict", "verdict", of=lambda row: f"{row.verdict} {MARKS[row.verdict]}".strip()),
    )
    return Table("differences", "B minus A", columns, rows)


def costs_table(comparison: Comparison) -> Table:
    """Return the table of training time and peak memory in A and B."""
    heads = ("time A", "time B", "memory A", "memory B")
    columns = [Column("method", of=lambda pair: f"{pair.dataset}/{pair.model}")]
    columns += [Column(head, of=lambda pair, i=i: cost(pair)[i]) for i, head in enumerate(heads)]
    return Table("costs", "Time of all jobs and peak memory", columns, comparison.costs, timed=True)


def other_sentences(comparison: Comparison, dataset: str) -> Iterator[str]:
    """Yield sentences on the methods without a row in the tables of the headline metrics.

    They changed under other metrics only, or under no metric.
    """
    in_tables = {row.model for rows in moved_rows(comparison, dataset).values() for row in rows}
    others: dict[str, list[str]] = {}
    for row in comparison.rows:
        if row.dataset == dataset and row.has_moved and row.model not in in_tables:
            others.setdefault(row.model, []).append(metric_label(row.metric))
    yield from (f"Changed only under {', '.join(metrics)}: {model}" for model, metrics in others.items())
    yield from _unmoved_sentences(comparison, dataset)


def _unmoved_sentences(comparison: Comparison, dataset: str) -> Iterator[str]:
    """Yield sentences on the methods that did not change under any metric."""
    rows = [row for row in comparison.rows if row.dataset == dataset]
    models = dict.fromkeys(row.model for row in rows)
    verdicts = {model: {row.verdict for row in rows if row.model == model and not row.has_moved} for model in models}
    for model in {row.model for row in rows if row.has_moved}:
        del verdicts[model]
    for verdicts_of_group, sentence in UNMOVED.items():
        unmoved = [model for model, of_model in verdicts.items() if of_model == verdicts_of_group]
        if unmoved:
            is_short = len(unmoved) <= MOST_NAMED
            yield f"{sentence}: {', '.join(unmoved) if is_short else f'{len(unmoved)} of {len(models)} methods'}"


def change_tables(comparison: Comparison) -> Iterator[ChangeTable]:
    """Yield one table per kind of change."""
    for kind, changes in comparison.changes._asdict().items():
        states = (("A", comparison.a), ("B", comparison.b))
        without = [f"{letter} ({state.kind})" for letter, state in states if not getattr(state, kind)]
        missing = f"not recorded in {' and '.join(without) or 'both states for the same data set'}"
        rows = [_change(change, comparison, kind in ("data", "code")) for change in changes or ()]
        yield ChangeTable(TITLES[kind], None if changes is None else rows, missing if changes is None else "no change")


def _change(change: Change, comparison: Comparison, is_hash: bool) -> tuple[str, str, str]:
    applies_to_all = set(change.datasets) >= set(comparison.datasets())
    a, b = (_hash(value) if is_hash else _text(value) for value in (change.a, change.b))
    return change.name + ("" if applies_to_all else f" ({', '.join(change.datasets)})"), a, b


def _text(value: Any) -> str:
    return NONE if value is None else value if isinstance(value, str) else json.dumps(value)


def _hash(value: str | None) -> str:
    return value[:12] if value else NONE


def source(state: State) -> str:
    """Return the kind and revision of a state, such as `git revision 1a2b3c4d5e6f`."""
    return f"{state.kind} {state.revision[:12]}" if state.revision else state.kind


def only_in_one(comparison: Comparison) -> Iterator[str]:
    """Yield lines that list the methods that exist in only one state, such as `Only in A: mq2007/ranksvm`."""
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            yield f"Only in {letter}: {', '.join('/'.join(name) for name in names)}"


def renamed(comparison: Comparison) -> Iterator[str]:
    """Yield a line per variant of a sweep whose names differ in A and B."""
    for pair in comparison.renamed:
        yield f"{pair.dataset}: {pair.a} in A is compared with {pair.b} in B, which has the same value"


def signed(value: float) -> str:
    """Return a difference as text with its sign and four decimals."""
    return number(value, "+.4f")


def interval(row: MeanDifference) -> str:
    """Return the 95% interval of a row as text."""
    return f"[{signed(row.low)}, {signed(row.high)}]" if row.low == row.low else NONE


def query(values: Query) -> str:
    """Return the id, difference and values of a query as text, such as `12 +0.310 (0.120 to 0.430)`."""
    return f"{values.qid} {number(values.gap, '+.3f')} ({values.a:.3f} to {values.b:.3f})"


def cost(pair: CostPair) -> tuple[str, str, str, str]:
    """Return four texts: the training times in A and B, and the peak memory in A and B."""
    memory_a, memory_b = (f"{state_cost.peak_memory_mb:,.0f} MB" for state_cost in (pair.a, pair.b))
    return seconds(pair.a.seconds), seconds(pair.b.seconds), memory_a, memory_b
