"""Comparison of two states over the same queries: differences with intervals, paired tests, verdicts and costs.

A difference is the mean over folds in B minus the mean over folds in A. For each metric, Holm's correction covers all
tested methods of all data sets.

The interval of a difference is a bootstrap interval over queries. A method with equal values in A and B on every query
is not tested. The verdict is better or worse by `gradrank.comparison.significance`.

If A or B has several seeds, the value of a query is the mean over seeds, and the interval is widened by the variance
over seeds. The verdict is "within seeds" if other seeds alone could cause a difference of this size. This verdict does
not depend on the results of the tests over queries.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.diff.changes import Changes, changes
from gradrank.bench.diff.state import MethodResults, State, VariantPair, variant_pairs, with_names_of_b
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.dataset_values import PAIRED_METRICS
from gradrank.comparison.significance import decide
from gradrank.comparison.statistics import PairedTest, holm, paired_test, win_tie_loss
from gradrank.comparison.variance import Term, half_width
from gradrank.data.sources.catalogue import catalogue

DECIMALS = 6  # decimals of the values in queries.parquet, which are stored as float32


def seed_noise(a: QueryValues, b: QueryValues, metric: str) -> float:
    """Return half the width of the 95% interval of the differences that seeds alone cause between two means.

    The result is nan if both states have a single seed. If one state has a single seed, its variance over seeds is
    assumed to equal the variance of the other state.
    """
    if not (a.has_several_seeds(metric) or b.has_several_seeds(metric)):
        return math.nan
    return half_width([_seed_term(a, b, metric), _seed_term(b, a, metric)])


def _seed_term(values: QueryValues, other: QueryValues, metric: str) -> Term:
    """Return the variance, over seeds, of the mean of `values`.

    If `values` has a single seed, the result is the variance of one run of `other`.
    """
    if values.has_several_seeds(metric):
        return values.runs(metric).variances.chance_of_mean
    return other.runs(metric).variances.seed


def widened(test: PairedTest, noise: float) -> PairedTest:
    """Return the test with its interval over queries widened by the seed noise.

    If the noise is nan, the test is returned unchanged.
    """
    if math.isnan(noise):
        return test
    down, up = (math.hypot(end - test.difference, noise) for end in (test.low, test.high))
    return test._replace(low=test.difference - down, high=test.difference + up)


def in_one_precision(one: QueryValues, two: QueryValues, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the (q,) values of `one` and the (q,) values of `two` in a common precision.

    If either of the two was read from queries.parquet (float32), both are rounded to the number of decimals in this
    file. Equal differences then stay equal, as the signed-rank test requires.
    """
    if np.float32 not in (one.values[metric].dtype, two.values[metric].dtype):
        return one.values[metric], two.values[metric]
    return _rounded(one, metric), _rounded(two, metric)


def _rounded(values: QueryValues, metric: str) -> np.ndarray:
    # queries.parquet has rounded values per seed, so the values are rounded before the mean over seeds is taken.
    seeds = values.by_seed.get(metric, values.values[metric][None]).astype(np.float64)
    return np.round(seeds, DECIMALS).mean(axis=0)


Verdict = Literal["better", "worse", "within seeds", "no evidence", "unchanged", "untested"]


@dataclass(frozen=True)
class MeanDifference:
    """The difference of one metric of one method.

    a, b: means in A and B; None if undefined. difference: b - a. low, high: bounds of its 95% interval.
    queries: number of queries that A and B share. wins, ties, losses: number of queries where B is better than, equal
    to or worse than A. t, wilcoxon: p values. t_holm, wilcoxon_holm: the same p values, corrected by Holm's method.
    seed_noise: as returned by `gradrank.bench.diff.compare.seed_noise`. If only the means are available, the fields
    after `verdict` are nan or 0.
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
    def has_moved(self) -> bool:
        """True if an available value differs between A and B."""
        return self.verdict != "unchanged" and not (self.verdict == "untested" and self.difference == 0)


def compare_values(
    dataset: str, metrics: Sequence[str], pairs: Iterable[tuple[str, QueryValues, QueryValues]]
) -> list[MeanDifference]:
    """Return the tested differences of pairs of values, with one row per pair and metric. Rows of a pair are together.

    pairs: tuples of a method, its values in A, and its values in B. The queries of A and B are the same, in the same
    order. Holm's correction covers all pairs, for each metric.
    """
    rows = [
        tested(MeanDifference(dataset, method, metric, a.mean(metric), b.mean(metric), np.nan, "no evidence"), a, b)
        for method, a, b in pairs
        for metric in metrics
    ]
    return corrected(rows)


def tested(row: MeanDifference, in_a: QueryValues, in_b: QueryValues) -> MeanDifference:
    """Return the row with the results of its tests.

    Holm's correction, and the verdict that depends on it, are set by `corrected`.
    """
    a, b = in_one_precision(in_a, in_b, row.metric)
    wins, ties, losses = win_tie_loss(b, a)
    if wins + losses == 0:
        counts = {"queries": ties, "ties": ties}
        equal = {"low": 0.0, "high": 0.0, "t": 1.0, "wilcoxon": 1.0, "t_holm": 1.0, "wilcoxon_holm": 1.0}
        return replace(row, difference=0.0, verdict="unchanged", **counts, **equal)
    noise = seed_noise(in_a, in_b, row.metric)
    test = paired_test(b, a, in_a.folds, queries=in_a.qids)
    return replace(row, seed_noise=noise, **widened(test, noise)._asdict())


def corrected(rows: Sequence[MeanDifference]) -> list[MeanDifference]:
    """Return the rows with Holm's correction per metric, and with their verdicts."""
    with_verdicts = list(rows)
    for metric in {row.metric for row in rows}:
        family = [i for i, row in enumerate(rows) if row.metric == metric and row.verdict == "no evidence"]
        t, signed_rank = (holm([getattr(rows[i], test) for i in family]) for test in ("t", "wilcoxon"))
        for i, p_t, p in zip(family, map(float, t), map(float, signed_rank), strict=True):
            with_verdicts[i] = replace(rows[i], t_holm=p_t, wilcoxon_holm=p, verdict=_verdict(rows[i], p))
    return with_verdicts


def _verdict(row: MeanDifference, p: float) -> Verdict:
    if abs(row.difference) <= row.seed_noise:
        return "within seeds"
    return decide(p, row.low, row.high)


MOST_MOVED = 10


class Query(NamedTuple):
    """The values of a query in A and B."""

    fold: int
    qid: int | str
    a: float
    b: float

    @property
    def gap(self) -> float:
        """Value in B minus value in A."""
        return self.b - self.a


@dataclass(frozen=True)
class MovedQueries:
    """The changed queries of a method under one metric.

    gaps: (q,) differences B - A of all queries, in descending order. gained: the queries with the largest gains. lost:
    the queries with the largest losses. Each list has at most MOST_MOVED queries.
    """

    dataset: str
    model: str
    metric: str
    gaps: np.ndarray
    gained: list[Query]
    lost: list[Query]


class CostPair(NamedTuple):
    """The costs of a method in A and B."""

    dataset: str
    model: str
    a: Cost
    b: Cost


@dataclass(frozen=True)
class Comparison:
    """The comparison of states A and B.

    rows: one row per data set, method and metric. moved: the changed queries of each method, under the first measured
    metric of PAIRED_METRICS. costs: the costs of methods whose costs both states record. renamed: the variants of
    sweeps whose names differ in A and B; the other fields have their names in B. only_a, only_b: (data set, method)
    pairs that exist in only one of the states. refused: the keys are data sets that were not compared, and the values
    are the reasons. notices: limitations to show to the user.
    """

    a: State
    b: State
    changes: Changes
    rows: list[MeanDifference]
    moved: list[MovedQueries]
    costs: list[CostPair]
    renamed: list[VariantPair]
    only_a: list[tuple[str, str]]
    only_b: list[tuple[str, str]]
    refused: dict[str, str]
    notices: list[str]

    def datasets(self) -> list[str]:
        """Return the data sets that were compared."""
        return list(dict.fromkeys(row.dataset for row in self.rows))


def compare(a: State, b: State) -> Comparison:
    """Return the comparison of two states.

    Queries are paired by fold and id, so their order does not matter. Raises GradrankError if no method exists in both
    states with the same queries.
    """
    renamed = variant_pairs(a, b)
    found = changes(a, b, renamed)
    a = with_names_of_b(a, renamed)
    b = _reordered_like(a, b)
    methods_a, methods_b = _names(a), _names(b)
    refused = {d: reason for d in a.methods if d in b.methods and (reason := _refusal(d, a, b))}
    pairs = [(d, m, a.methods[d][m], b.methods[d][m]) for d, m in methods_a if (d, m) in methods_b]
    pairs = [pair for pair in pairs if pair[0] not in refused]
    if not pairs:
        reasons = [f"{dataset}: {reason}" for dataset, reason in refused.items()]
        contents = [f"{state.name} has {_listed(_names(state))}" for state in (a, b)]
        raise GradrankError("\n  ".join(["nothing to compare", *(reasons or contents)]))
    return Comparison(
        a=a,
        b=b,
        changes=found,
        rows=corrected([row for pair in pairs for row in _rows(*pair)]),
        moved=[moved for pair in pairs if (moved := _moved_queries(*pair)) is not None],
        costs=[CostPair(d, m, in_a.cost, in_b.cost) for d, m, in_a, in_b in pairs if in_a.cost and in_b.cost],
        renamed=renamed,
        only_a=[name for name in methods_a if name not in methods_b],
        only_b=[name for name in methods_b if name not in methods_a],
        refused=refused,
        notices=[f"{letter}: {notice}" for letter, state in (("A", a), ("B", b)) for notice in state.notices]
        + [
            f"{dataset}: the data changed; queries are matched by their id"
            for dataset in dict.fromkeys(pair[0] for pair in pairs)
            if _hashes_differ(dataset, a, b)
        ],
    )


def _reordered_like(a: State, b: State) -> State:
    methods = {
        dataset: {
            name: _method_reordered_like(a.methods.get(dataset, {}).get(name), method)
            for name, method in of_dataset.items()
        }
        for dataset, of_dataset in b.methods.items()
    }
    return replace(b, methods=methods)


def _method_reordered_like(in_a: MethodResults | None, in_b: MethodResults) -> MethodResults:
    if in_a is None or in_a.values is None or in_b.values is None:
        return in_b
    return replace(in_b, values=in_b.values.reordered_like(in_a.values))


def headline(metrics: list[str]) -> list[str]:
    """Return the metrics of the summary tables.

    These are the metrics in PAIRED_METRICS that were measured, or else the first metric.
    """
    return [metric for metric in PAIRED_METRICS if metric in metrics] or metrics[:1]


def _names(state: State) -> list[tuple[str, str]]:
    return [(dataset, model) for dataset, methods in state.methods.items() for model in methods]


def _listed(names: list[tuple[str, str]]) -> str:
    return ", ".join(f"{dataset}/{model}" for dataset, model in names)


def _refusal(dataset: str, a: State, b: State) -> str | None:
    """Return the reason why the queries of a data set cannot be paired, or None if they can be paired."""
    if a.conventions[dataset] != b.conventions[dataset]:
        return (
            f"measured under the convention {a.conventions[dataset]!r} in A and {b.conventions[dataset]!r} in B. Fix: "
            "set the same evaluation.convention and run the workflow; no model is retrained"
        )
    entry = catalogue().get(dataset)
    if entry is not None and entry.generator and _hashes_differ(dataset, a, b):
        return "the artificial data were generated again, so queries with the same number are different queries"
    for model in a.methods[dataset].keys() & b.methods[dataset].keys():
        in_a, in_b = a.methods[dataset][model].values, b.methods[dataset][model].values
        if in_a is not None and in_b is not None and (reason := _query_mismatch(in_a, in_b)):
            return reason
    return None


def _hashes_differ(dataset: str, a: State, b: State) -> bool:
    """Return True if both states record the checksum of the data and the checksums differ."""
    in_a, in_b = (state.data.get(dataset, {}).get("source") for state in (a, b))
    return None not in (in_a, in_b) and in_a != in_b


def _query_mismatch(in_a: QueryValues, in_b: QueryValues) -> str | None:
    if not in_a.same_queries(in_b):
        both = len(np.intersect1d(in_a.qids, in_b.qids))
        return f"different test queries: {len(in_a.qids):,} in A, {len(in_b.qids):,} in B, {both:,} in both" + (
            ", in different folds" if both == len(in_a.qids) == len(in_b.qids) else ""
        )
    for metric in in_a.values.keys() & in_b.values.keys():
        if not np.array_equal(np.isnan(in_a.values[metric]), np.isnan(in_b.values[metric])):
            return f"the labels differ: the convention drops different queries in A and in B ({metric})"
    return None


def _rows(dataset: str, model: str, in_a: MethodResults, in_b: MethodResults) -> Iterator[MeanDifference]:
    for metric in in_a.means:
        if metric not in in_b.means:
            continue
        a, b = in_a.means[metric], in_b.means[metric]
        if in_a.values and in_b.values and metric in in_a.values.values and metric in in_b.values.values:
            row = MeanDifference(dataset, model, metric, a, b, np.nan, "no evidence")
            yield tested(row, in_a.values, in_b.values)
        else:  # values in summary.json have four decimals, but the mean of the other state may have more
            gap = np.nan if a is None or b is None else round(round(b, 4) - round(a, 4), 4)
            yield MeanDifference(dataset, model, metric, a, b, gap, "untested")


def _moved_queries(dataset: str, model: str, in_a: MethodResults, in_b: MethodResults) -> MovedQueries | None:
    """Return the changed queries of a method, or None if no query changed or the values are not available."""
    if in_a.values is None or in_b.values is None:
        return None
    metric = headline([metric for metric in in_a.values.values if metric in in_b.values.values])[0]
    a, b = in_one_precision(in_a.values, in_b.values, metric)
    gaps = np.round(np.nan_to_num(b - a), 12)
    if not gaps.any():
        return None
    order = np.argsort(-gaps, kind="stable")
    queries = [
        Query(int(in_a.values.folds[i]), in_a.values.qids[i : i + 1].tolist()[0], float(a[i]), float(b[i]))
        for i in order
        if gaps[i]
    ]
    gained = [query for query in queries if query.gap > 0][:MOST_MOVED]
    lost = [query for query in queries[::-1] if query.gap < 0][:MOST_MOVED]
    return MovedQueries(dataset, model, metric, gaps[order], gained, lost)
