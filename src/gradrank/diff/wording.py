"""What the terminal, Markdown and HTML say alike: numbers, hashes and sentences."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradrank.diff.changes import Change
from gradrank.diff.compare import Comparison, CostPair, MeanDifference, Query, Verdict, headline
from gradrank.diff.state import State
from gradrank.report.tables.numbers import NONE, P, number, seconds
from gradrank.report.tables.table import Column, Table

MARKS = {"better": "▲", "worse": "▼", "within seeds": "", "no evidence": "", "unchanged": "", "untested": ""}
TITLES = {"params": "Parameters", "data": "Data", "code": "Code", "versions": "Packages"}
METHOD = (
    "Means over folds, B minus A, of the same queries, with the 95% bootstrap interval over queries. Better or worse: "
    "a Wilcoxon signed-rank test, Holm-corrected over every method of the diff that moved, gives p < .05, and the "
    "interval excludes 0."
)

SEEDS = (
    " Of methods with several seeds, values are means over these, and intervals hold them; within seeds: no larger a "
    "difference than what other seeds of both sides would make, in 95 cases of 100."
)

# By what is known of a method's metrics.
STILL: dict[frozenset[Verdict], str] = {
    frozenset({"unchanged"}): "Unchanged on every query",
    frozenset({"unchanged", "untested"}): "Unchanged on every query under the metrics that git holds a query, equal "
    "means to four decimals under the others",
    frozenset({"untested"}): "Equal means to four decimals, queries not known",
}
NAMED = 8  # methods that did not move, at most: of more their number is said


class Changed(NamedTuple):
    """One kind of change: (name, in A, in B) as text; rows is None where it is not known, which `note` explains."""

    title: str
    rows: list[tuple[str, str, str]] | None
    note: str


def method(comparison: Comparison) -> str:
    """How it was compared."""
    seeds = any(row.seed_noise == row.seed_noise for row in comparison.rows)
    return METHOD + (SEEDS if seeds else "")


def moved(comparison: Comparison, dataset: str) -> dict[str, list[MeanDifference]]:
    """By headline metric the methods whose mean moved; no metric under which none did."""
    own = [row for row in comparison.rows if row.dataset == dataset]
    metrics = headline(list(dict.fromkeys(row.metric for row in own)))
    rows = {metric: [row for row in own if row.metric == metric and row.moved] for metric in metrics}
    return {metric: rows[metric] for metric in metrics if rows[metric]}


def differences_table(rows: Sequence[MeanDifference], *more: Column) -> Table:
    """Methods and their differences; more: columns after the method's."""
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
    """Seconds and memory of A and B."""
    heads = ("time A", "time B", "memory A", "memory B")
    columns = [Column("method", of=lambda pair: f"{pair.dataset}/{pair.model}")]
    columns += [Column(head, of=lambda pair, i=i: cost(pair)[i]) for i, head in enumerate(heads)]
    return Table("costs", "Time of all jobs and peak memory", columns, comparison.costs, timed=True)


def level(comparison: Comparison, dataset: str) -> Iterator[str]:
    """Sentences on the methods that did not move under any metric."""
    own = [row for row in comparison.rows if row.dataset == dataset]
    models = dict.fromkeys(row.model for row in own)
    verdicts = {model: {row.verdict for row in own if row.model == model and not row.moved} for model in models}
    for model in {row.model for row in own if row.moved}:
        del verdicts[model]
    for found, sentence in STILL.items():
        still = [model for model, own_verdicts in verdicts.items() if own_verdicts == found]
        if still:
            named = ", ".join(still) if len(still) <= NAMED else f"{len(still)} of {len(models)} methods"
            yield f"{sentence}: {named}"


def changed(comparison: Comparison) -> Iterator[Changed]:
    """By kind of change."""
    for kind, found in comparison.changes._asdict().items():
        sides = (("A", comparison.a), ("B", comparison.b))
        without = [f"{letter} ({side.kind})" for letter, side in sides if not getattr(side, kind)]
        note = f"not recorded in {' and '.join(without) or 'both for one data set'}" if found is None else "no change"
        rows = [_change(change, comparison, kind in ("data", "code")) for change in found or ()]
        yield Changed(TITLES[kind], None if found is None else rows, note)


def _change(change: Change, comparison: Comparison, hashes: bool) -> tuple[str, str, str]:
    own = "" if set(change.datasets) >= set(comparison.datasets()) else f" ({', '.join(change.datasets)})"
    a, b = (_hash(value) if hashes else _text(value) for value in (change.a, change.b))
    return change.name + own, a, b


def _text(value: Any) -> str:
    return NONE if value is None else value if isinstance(value, str) else json.dumps(value)


def _hash(value: str | None) -> str:
    return value[:12] if value else NONE


def source(side: State) -> str:
    """`git revision 1a2b3c4d5e6f`."""
    return f"{side.kind} {side.revision[:12]}" if side.revision else side.kind


def lacking(comparison: Comparison) -> Iterator[str]:
    """`Only in A: mq2007/ranksvm`."""
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            yield f"Only in {letter}: {', '.join('/'.join(name) for name in names)}"


def signed(value: float) -> str:
    return number(value, "+.4f")


def interval(row: MeanDifference) -> str:
    return f"[{signed(row.low)}, {signed(row.high)}]" if row.low == row.low else NONE


def query(found: Query) -> str:
    """`12 +0.310 (0.120 to 0.430)`."""
    return f"{found.qid} {number(found.gap, '+.3f')} ({found.a:.3f} to {found.b:.3f})"


def cost(pair: CostPair) -> tuple[str, str, str, str]:
    """Seconds of A and B, memory of A and B."""
    memory = (f"{each.peak_memory_mb:,.0f} MB" for each in (pair.a, pair.b))
    return seconds(pair.a.seconds), seconds(pair.b.seconds), *memory
