"""Two sides compared over the same queries: differences with intervals, paired tests, verdicts, queries, costs.

A difference is B minus A, of means over folds, with the bootstrap's interval over queries. The family of Holm's
correction is every method, of all data sets, that moved at all under one metric: equal values on every query are no
test. Better or worse: the corrected Wilcoxon test gives p < LEVEL and the interval lies on that side of 0.

Where a side has several seeds, a query's value is their mean and the interval holds them too; a difference no larger
than what other seeds of both would make is within seeds, whatever the queries say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.sources.catalogue import catalogue
from gradrank.diff.changes import Changes, changes
from gradrank.diff.seeds import in_one_precision, seed_noise, widened
from gradrank.diff.state import MethodResults, State
from gradrank.evaluation.costs import Cost
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import LEVEL, holm, paired_test, win_tie_loss
from gradrank.report.tables.dataset_values import PAIRED_METRICS

Verdict = Literal["better", "worse", "within seeds", "no evidence", "unchanged", "untested"]
MOST_MOVED = 10


@dataclass(frozen=True)
class MeanDifference:
    """One metric of one method: the means of A and B (None: undefined), B minus A and its 95% interval.

    queries, wins (of B), ties, losses, and p: plain, and corrected by Holm. All nan or 0 where only the means
    are known. seed_noise: as of `gradrank.diff.seeds`.
    """

    dataset: str
    model: str
    metric: str
    a: float | None
    b: float | None
    difference: float
    verdict: Verdict
    low: float = np.nan
    high: float = np.nan
    queries: int = 0
    wins: int = 0
    ties: int = 0
    losses: int = 0
    t: float = np.nan
    wilcoxon: float = np.nan
    t_holm: float = np.nan
    wilcoxon_holm: float = np.nan
    seed_noise: float = np.nan

    @property
    def moved(self) -> bool:
        """Whether anything differs, as far as it is known."""
        return self.verdict != "unchanged" and not (self.verdict == "untested" and self.difference == 0)


class Query(NamedTuple):
    fold: int
    qid: int | str
    a: float
    b: float

    @property
    def gap(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class Moved:
    """A method's queries under one metric: all gaps in falling order, and those that gained and lost most."""

    dataset: str
    model: str
    metric: str
    gaps: np.ndarray
    gained: list[Query]
    lost: list[Query]


class CostPair(NamedTuple):
    dataset: str
    model: str
    a: Cost
    b: Cost


@dataclass(frozen=True)
class Comparison:
    """only_a, only_b: (data set, method) that the other side lacks. refused: reason by data set.

    rows: by data set, method, metric. moved: of the methods that moved, under the data set's first metric of
    PAIRED_METRICS.
    """

    a: State
    b: State
    changes: Changes
    rows: list[MeanDifference]
    moved: list[Moved]
    costs: list[CostPair]
    only_a: list[tuple[str, str]]
    only_b: list[tuple[str, str]]
    refused: dict[str, str]
    notices: list[str]

    def datasets(self) -> list[str]:
        return list(dict.fromkeys(row.dataset for row in self.rows))


def compare(a: State, b: State) -> Comparison:
    """Raises GradrankError where there is nothing that both sides measured on the same queries.

    Queries are paired by fold and id, in whatever order each side has them.
    """
    b = _in_order_of(a, b)
    methods_a, methods_b = _names(a), _names(b)
    refused = {d: reason for d in a.methods if d in b.methods and (reason := _refusal(d, a, b))}
    pairs = [(d, m, a.methods[d][m], b.methods[d][m]) for d, m in methods_a if (d, m) in methods_b]
    pairs = [pair for pair in pairs if pair[0] not in refused]
    if not pairs:
        reasons = [f"{dataset}: {reason}" for dataset, reason in refused.items()]
        held = [f"{side.name} has {_listed(_names(side))}" for side in (a, b)]
        raise GradrankError("\n  ".join(["nothing to compare", *(reasons or held)]))
    return Comparison(
        a=a,
        b=b,
        changes=changes(a, b),
        rows=_corrected([row for pair in pairs for row in _rows(*pair)]),
        moved=[moved for pair in pairs if (moved := _moved(*pair)) is not None],
        costs=[CostPair(d, m, one.cost, two.cost) for d, m, one, two in pairs if one.cost and two.cost],
        only_a=[name for name in methods_a if name not in methods_b],
        only_b=[name for name in methods_b if name not in methods_a],
        refused=refused,
        notices=[f"{letter}: {notice}" for letter, side in (("A", a), ("B", b)) for notice in side.notices]
        + [
            f"{dataset}: the data changed; queries are taken to be the same by their id"
            for dataset in dict.fromkeys(pair[0] for pair in pairs)
            if _hashes_differ(dataset, a, b)
        ],
    )


def _in_order_of(a: State, b: State) -> State:
    methods = {
        dataset: {
            name: _method_in_order_of(a.methods.get(dataset, {}).get(name), method) for name, method in own.items()
        }
        for dataset, own in b.methods.items()
    }
    return replace(b, methods=methods)


def _method_in_order_of(one: MethodResults | None, two: MethodResults) -> MethodResults:
    if one is None or one.values is None or two.values is None:
        return two
    return replace(two, values=two.values.in_order_of(one.values))


def headline(metrics: list[str]) -> list[str]:
    """The metrics that are shown where there is room for two: those of the pairwise tests, if measured."""
    return [metric for metric in PAIRED_METRICS if metric in metrics] or metrics[:1]


def _names(side: State) -> list[tuple[str, str]]:
    return [(dataset, model) for dataset, methods in side.methods.items() for model in methods]


def _listed(names: list[tuple[str, str]]) -> str:
    return ", ".join(f"{dataset}/{model}" for dataset, model in names)


def _refusal(dataset: str, a: State, b: State) -> str | None:
    """Why a data set's queries cannot be paired; None where they can."""
    if a.conventions[dataset] != b.conventions[dataset]:
        return (
            f"measured under the convention {a.conventions[dataset]!r} in A, {b.conventions[dataset]!r} in B: these "
            "are different metrics. Set evaluation.convention alike and run the workflow; nothing is trained again"
        )
    entry = catalogue().get(dataset)
    if entry is not None and entry.generator and _hashes_differ(dataset, a, b):
        return "artificial data, drawn anew: queries of the same number are different queries"
    for model in a.methods[dataset].keys() & b.methods[dataset].keys():
        one, two = a.methods[dataset][model].values, b.methods[dataset][model].values
        if one is not None and two is not None and (reason := _unlike(one, two)):
            return reason
    return None


def _hashes_differ(dataset: str, a: State, b: State) -> bool:
    """Whether both know the hash of the data's text, and it is another."""
    one, two = (side.data.get(dataset, {}).get("source") for side in (a, b))
    return None not in (one, two) and one != two


def _unlike(one: QueryValues, two: QueryValues) -> str | None:
    if not one.same_queries(two):
        both = len(np.intersect1d(one.qids, two.qids))
        return f"other test queries: {len(one.qids):,} in A, {len(two.qids):,} in B, {both:,} in both" + (
            ", in other folds" if both == len(one.qids) == len(two.qids) else ""
        )
    for metric in one.values.keys() & two.values.keys():
        if not np.array_equal(np.isnan(one.values[metric]), np.isnan(two.values[metric])):
            return f"the convention leaves out other queries in A than in B ({metric}): their labels differ"
    return None


def _rows(dataset: str, model: str, one: MethodResults, two: MethodResults) -> Iterator[MeanDifference]:
    for metric in one.means:
        if metric not in two.means:
            continue
        a, b = one.means[metric], two.means[metric]
        if all(side.values and metric in side.values.values for side in (one, two)):
            yield _tested(MeanDifference(dataset, model, metric, a, b, np.nan, "no evidence"), one.values, two.values)
        else:  # to summary.json's four decimals, as one of them may have more
            gap = np.nan if None in (a, b) else round(round(b, 4) - round(a, 4), 4)
            yield MeanDifference(dataset, model, metric, a, b, gap, "untested")


def _tested(row: MeanDifference, one: QueryValues, two: QueryValues) -> MeanDifference:
    """Everything but the correction and what follows from it."""
    a, b = in_one_precision(one, two, row.metric)
    wins, ties, losses = win_tie_loss(b, a)
    if wins + losses == 0:
        counts = {"queries": ties, "ties": ties}
        none = {"low": 0.0, "high": 0.0, "t": 1.0, "wilcoxon": 1.0, "t_holm": 1.0, "wilcoxon_holm": 1.0}
        return replace(row, difference=0.0, verdict="unchanged", **counts, **none)
    noise = seed_noise(one, two, row.metric)
    return replace(row, seed_noise=noise, **widened(paired_test(b, a, one.folds), noise)._asdict())


def _corrected(rows: list[MeanDifference]) -> list[MeanDifference]:
    """Holm's correction, and with it the verdicts, a metric at a time."""
    found = list(rows)
    for metric in {row.metric for row in rows}:
        family = [i for i, row in enumerate(rows) if row.metric == metric and row.verdict == "no evidence"]
        t, signed_rank = (holm([getattr(rows[i], test) for i in family]) for test in ("t", "wilcoxon"))
        for i, p_t, p in zip(family, map(float, t), map(float, signed_rank), strict=True):
            found[i] = replace(rows[i], t_holm=p_t, wilcoxon_holm=p, verdict=_verdict(rows[i], p))
    return found


def _verdict(row: MeanDifference, p: float) -> Verdict:
    if abs(row.difference) <= row.seed_noise:
        return "within seeds"
    if p < LEVEL and row.low > 0:
        return "better"
    return "worse" if p < LEVEL and row.high < 0 else "no evidence"


def _moved(dataset: str, model: str, one: MethodResults, two: MethodResults) -> Moved | None:
    """None where nothing moved or the values are not known."""
    if one.values is None or two.values is None:
        return None
    metric = headline([metric for metric in one.values.values if metric in two.values.values])[0]
    a, b = in_one_precision(one.values, two.values, metric)
    gaps = np.round(np.nan_to_num(b - a), 12)
    if not gaps.any():
        return None
    order = np.argsort(-gaps, kind="stable")
    queries = [
        Query(int(one.values.folds[i]), one.values.qids[i : i + 1].tolist()[0], float(a[i]), float(b[i]))
        for i in order
        if gaps[i]
    ]
    gained = [query for query in queries if query.gap > 0][:MOST_MOVED]
    lost = [query for query in queries[::-1] if query.gap < 0][:MOST_MOVED]
    return Moved(dataset, model, metric, gaps[order], gained, lost)
