"""Comparison of two states over the same queries: differences with intervals, paired tests, verdicts and costs.

A difference is the mean over folds in B minus the mean over folds in A. The module gradrank.bench.diff.verdicts
describes the tests and the verdicts. For each metric, Holm's correction covers all tested methods of all data sets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.diff.changes import Changes, changes
from gradrank.bench.diff.seeds import in_one_precision
from gradrank.bench.diff.state import MethodResults, State
from gradrank.bench.diff.sweeps import VariantPair, variant_pairs, with_names_of_b
from gradrank.bench.diff.verdicts import MeanDifference, corrected, tested
from gradrank.bench.folds.costs import Cost
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.tables.dataset_values import PAIRED_METRICS
from gradrank.data.sources.catalogue import catalogue

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
