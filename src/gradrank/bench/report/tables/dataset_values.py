"""The per-query values of one data set, and the rows of its tables: means, tests and published numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.bench.folds.file_order import CONSTANT, file_order
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.folds.primary import BASELINE
from gradrank.bench.literature.published import Published, lookup
from gradrank.bench.literature.verdict import Judged, alike, judge_values
from gradrank.bench.report.tables.numbers import descending
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.significance.best_methods import Candidate, best_methods
from gradrank.comparison.significance.power import detectable_difference
from gradrank.comparison.statistics import compare_all, friedman_nemenyi

RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # key: metric; value: level of recall
PAIRED_METRICS = ("ndcg@10", "map")  # only two, because the table of pairs has 780 rows per metric for 40 methods


@dataclass(frozen=True)
class DatasetValues:
    """The per-query values of one data set.

    primary: the primary convention. values: the outer keys are methods, the inner keys are conventions; every method
    has values under the primary convention. short: the rows of `gradrank.measures.short_lists`. constant: the values
    of a ranking in which every document has the same score; the keys are conventions. `constant` is empty if the stored
    collection was not read. constant_folds: by method, the folds in which all test documents of a query have equal
    scores. baseline: the method that the others are compared with, if it is among the methods.
    """

    dataset: str
    primary: str
    values: Mapping[str, Mapping[str, QueryValues]]
    short: tuple[Row, ...] = ()
    constant: Mapping[str, QueryValues] = field(default_factory=dict)
    constant_folds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    baseline: str = BASELINE

    @property
    def seeds(self) -> int:
        """Largest number of seeds of any method."""
        return max(by_convention[self.primary].seeds for by_convention in self.values.values())

    @property
    def first(self) -> QueryValues:
        """The values of the first method under the primary convention. All methods have the same folds and queries."""
        return next(iter(self.values.values()))[self.primary]

    def primary_values(self, metric: str) -> dict[str, np.ndarray]:
        """Return a dict of (q,) values under the primary convention. The keys are methods."""
        return {model: by_convention[self.primary].values[metric] for model, by_convention in self.values.items()}

    def tested_metrics(self) -> list[str]:
        """Return the metrics of PAIRED_METRICS that were measured."""
        return [metric for metric in PAIRED_METRICS if metric in self.first.values]

    @cached_property
    def pairs(self) -> list[Row]:
        """Paired tests of all pairs of methods. The p values are Holm-corrected over all pairs of one metric."""
        first, found = self.first, []
        for metric in self.tested_metrics():
            rows = compare_all(self.primary_values(metric), first.folds, queries=first.qids)
            found += [{"convention": self.primary, "metric": metric} | with_detectable(row, len(rows)) for row in rows]
        return found

    @cached_property
    def best(self) -> dict[tuple[str, str, str], Candidate]:
        """Results of `significance.best_methods`, which say what methods may be the best.

        The keys are (convention, method, metric). There is no key for methods without values and for the metrics of the
        precision-recall curve.
        """
        found = {}
        for convention, values in self._by_convention().items():
            for metric in next(iter(values.values())).values:
                tested = {model: own.values[metric] for model, own in values.items() if own.queries(metric)}
                if metric not in RECALL_LEVELS and len(tested) > 1:
                    results = best_methods(tested, self.first.folds, self.first.qids)
                    found |= {(convention, model, metric): own for model, own in results.items()}
        return found

    def _by_convention(self) -> dict[str, dict[str, QueryValues]]:
        """Return the values with the conventions as the outer keys. The primary convention is the first."""
        conventions = dict.fromkeys([self.primary, *(name for own in self.values.values() for name in own)])
        return {
            convention: {model: own[convention] for model, own in self.values.items() if convention in own}
            for convention in conventions
        }

    def ranked(self) -> Iterator[tuple[str, str, QueryValues]]:
        """Yield (convention, method, values): under each convention, the method with the best headline metric first."""
        for convention, values in self._by_convention().items():
            metric = headline_metric(next(iter(values.values())).values)
            means = {model: own.mean(metric) for model, own in values.items()}
            for model in sorted(values, key=lambda model, means=means: descending(means[model])):
                yield convention, model, values[model]


def with_detectable(row: Row, comparisons: int) -> Row:
    """Return a row of `compare_all` with the key `detectable`. comparisons: number of rows that Holm corrects for."""
    error = (row["high"] - row["low"]) / 2 / 1.96
    return row | {"detectable": detectable_difference(error, row["queries"], comparisons)}


def headline_metric(metrics: Iterable[str]) -> str:
    """Return the metric by which methods are sorted: `ndcg@10` if it is one of the metrics, else the first metric."""
    measured = list(metrics)
    return PAIRED_METRICS[0] if PAIRED_METRICS[0] in measured else measured[0]


class MeanRow(NamedTuple):
    """The source object of one row of the tables main and pr_curve. best: see `DatasetValues.best`."""

    convention: str
    model: str
    metric: str
    values: QueryValues
    best: Candidate | None = None

    @property
    def p_best(self) -> float | None:
        return self.best.p if self.best else None

    @property
    def detectable(self) -> float | None:
        return self.best.detectable if self.best else None

    @property
    def mean(self) -> float:
        return self.values.mean(self.metric)

    @property
    def half_width(self) -> float:
        return self.values.half_width(self.metric)

    @property
    def queries(self) -> int:
        return self.values.queries(self.metric)

    @property
    def seeds(self) -> int | None:
        """Number of seeds; None for a single seed."""
        return self.values.seeds if self.values.seeds > 1 else None

    @property
    def seed_deviation(self) -> float:
        return self.values.spread(self.metric)


class FoldRow(NamedTuple):
    """The source object of one row of the table folds.

    values: the per-query values of all folds. mean: mean over the fold's `queries` test queries.
    """

    convention: str
    model: str
    metric: str
    values: QueryValues
    fold: int
    mean: float
    queries: int

    @property
    def half_width(self) -> float:
        return self.values.of_fold(self.fold).half_width(self.metric)


class PublishedRow(NamedTuple):
    """The source object of one row of the table published: a published number and the measured mean.

    measured: the mean under the convention of the published number. If this convention was not measured, the mean under
    the primary convention. judged: the comparison of the two numbers, with its verdict. others: number of other
    methods. alike: number of other methods that would have had the same verdict on this number.
    """

    published: Published
    measured: MeanRow
    judged: Judged
    alike: int
    others: int


def metric_means(dataset: DatasetValues) -> Iterator[MeanRow]:
    """Yield one row per convention, method and metric, except for the metrics of the precision-recall curve.

    Under each convention, the method with the best headline metric comes first.
    """
    for row in _every_mean(dataset):
        if row.metric not in RECALL_LEVELS:
            yield row._replace(best=dataset.best.get((row.convention, row.model, row.metric)))


def _every_mean(dataset: DatasetValues) -> Iterator[MeanRow]:
    for convention, model, values in dataset.ranked():
        for metric in values.values:
            yield MeanRow(convention, model, metric, values)


def fold_means(dataset: DatasetValues) -> Iterator[FoldRow]:
    """Yield one row per fold for every row of `metric_means`."""
    for row in metric_means(dataset):
        for fold, (mean, queries) in row.values.fold_means(row.metric).items():
            yield FoldRow(row.convention, row.model, row.metric, row.values, fold, mean, queries)


def recall_curve(dataset: DatasetValues) -> Iterator[MeanRow]:
    """Yield one row of mean interpolated precision per method, convention and measured level of recall."""
    return (row for row in _every_mean(dataset) if row.metric in RECALL_LEVELS)


def published_rows(dataset: DatasetValues) -> Iterator[PublishedRow]:
    """Yield one row per published number of the data set, with the measured mean and the verdict."""
    for model, by_convention in dataset.values.items():
        for metric in by_convention[dataset.primary].values:
            for published in lookup(dataset.dataset, model, metric):
                convention = published.convention if published.convention in by_convention else dataset.primary
                verdicts = {
                    name: judge_values(published, values[convention], metric) for name, values in dataset.values.items()
                }
                judged = verdicts.pop(model)
                same = alike(judged.verdict, (other.verdict for other in verdicts.values()))
                mean = MeanRow(convention, model, metric, by_convention[convention])
                yield PublishedRow(published, mean, judged, same, len(verdicts))


def file_order_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield rows with two values: with tied scores in file order, and in expectation over all orders of tied scores.

    The values follow the primary convention. The rows of a constant score come first, followed by the rows of every
    method.
    """
    constant = {CONSTANT: dataset.constant} if dataset.constant else {}
    return file_order(constant | dict(dataset.values), dataset.primary)


def constant_score_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per method and fold in which all test documents of each query have the same score."""
    for model, folds in dataset.constant_folds.items():
        for fold in folds:
            yield {"convention": dataset.primary, "model": model, "fold": fold}


def mean_ranks(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row with the mean rank per tested metric and method. The best method comes first.

    Each row also has Nemenyi's critical difference and the p value of Friedman's test for its metric.
    """
    for metric in dataset.tested_metrics():
        try:
            test = friedman_nemenyi(
                dataset.primary_values(metric), folds=dataset.first.folds, queries=dataset.first.qids
            )
        except GradrankError:  # fewer than three methods or two queries
            continue
        for model, rank in test.ranks.items():
            yield {"convention": dataset.primary, "metric": metric, "model": model, "rank": rank} | {
                "critical_difference": test.critical_difference,
                "p": test.p,
            }
