"""The values of one data set by method and convention, and the rows of its tables: means, tests, published numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.numbers import is_missing
from gradrank.evaluation.file_order import CONSTANT, file_order
from gradrank.evaluation.literature.published import Published, lookup
from gradrank.evaluation.literature.verdict import Judged, alike, judge_values
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import compare_all, friedman_nemenyi
from gradrank.report.tables.table import Row

RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # recall by precision-recall metric
PAIRED_METRICS = ("ndcg@10", "map")  # the tested metrics: 40 methods make 780 pairs, with two tests each per metric


@dataclass(frozen=True)
class DatasetValues:
    """The per-query values of one data set.

    values: by method, then by convention; every method has the primary convention. short: the rows of
    `gradrank.evaluation.short_lists`. constant: the values of a constant score by convention; empty without the
    stored collection.
    """

    dataset: str
    primary: str
    values: Mapping[str, Mapping[str, QueryValues]]
    short: tuple[Row, ...] = ()
    constant: Mapping[str, QueryValues] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """Largest number of seeds of a method."""
        return max(by_convention[self.primary].seeds for by_convention in self.values.values())

    def primary_values(self, metric: str) -> dict[str, np.ndarray]:
        """Return (q,) values by method under the primary convention."""
        return {model: by_convention[self.primary].values[metric] for model, by_convention in self.values.items()}

    def tested_metrics(self) -> list[str]:
        """Return the metrics of PAIRED_METRICS that were measured."""
        metrics = next(iter(self.values.values()))[self.primary].values
        return [metric for metric in PAIRED_METRICS if metric in metrics]

    @cached_property
    def pairs(self) -> list[Row]:
        """Paired tests of every two methods, Holm-corrected over all pairs of one metric."""
        folds = next(iter(self.values.values()))[self.primary].folds
        return [
            {"convention": self.primary, "metric": metric} | row
            for metric in self.tested_metrics()
            for row in compare_all(self.primary_values(metric), folds)
        ]

    @cached_property
    def p_best(self) -> dict[tuple[str, str, str], float]:
        """Corrected p value of Wilcoxon's test against the method with the best mean, by convention, method and metric.

        The best method itself has no value.
        """
        p_values = {}
        for metric in self.tested_metrics():
            means = {model: by_convention[self.primary].mean(metric) for model, by_convention in self.values.items()}
            winner = best_mean(means)
            for row in self.pairs:
                models = {row["model_a"], row["model_b"]}
                if row["metric"] == metric and winner in models:
                    p_values[self.primary, *(models - {winner}), metric] = row["wilcoxon_holm"]
        return p_values


def best_mean(means: Mapping[str, float | None]) -> str:
    """Return the method with the highest mean; among equal means, the last by name."""

    def key(model: str) -> tuple[float, str]:
        mean = means[model]
        return (float("-inf") if mean is None or is_missing(mean) else mean, model)

    return max(means, key=key)


class MeanRow(NamedTuple):
    """The source of a row of the tables main, folds and pr_curve.

    values: the per-query values of all folds, or of one `fold` in the table folds. p_best: see `DatasetValues.p_best`.
    """

    convention: str
    model: str
    metric: str
    values: QueryValues
    fold: int = 0
    p_best: float | None = None

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


class PublishedRow(NamedTuple):
    """The source of a row of the table published: a published number and the measured mean.

    measured: under the convention of the published number if it was measured, else under the primary convention.
    alike: how many of the `others` other methods would have had the same verdict on this number.
    """

    published: Published
    measured: MeanRow
    judged: Judged
    alike: int
    others: int


def metric_means(dataset: DatasetValues) -> Iterator[MeanRow]:
    """Yield the mean of every method, convention and metric, except the metrics of the precision-recall curve."""
    for row in _every_mean(dataset):
        if row.metric not in RECALL_LEVELS:
            yield row._replace(p_best=dataset.p_best.get((row.convention, row.model, row.metric)))


def _every_mean(dataset: DatasetValues) -> Iterator[MeanRow]:
    for model, by_convention in dataset.values.items():
        for convention, values in by_convention.items():
            for metric in values.values:
                yield MeanRow(convention, model, metric, values)


def fold_means(dataset: DatasetValues) -> Iterator[MeanRow]:
    """Yield the means of `metric_means` fold by fold."""
    for row in metric_means(dataset):
        for fold in row.values.fold_means(row.metric):
            yield row._replace(fold=fold, values=row.values.of_fold(fold))


def recall_curve(dataset: DatasetValues) -> Iterator[MeanRow]:
    """Yield the mean interpolated precision at each measured level of recall."""
    return (row for row in _every_mean(dataset) if row.metric in RECALL_LEVELS)


def published_rows(dataset: DatasetValues) -> Iterator[PublishedRow]:
    """Yield each published number of the data set with the measured mean and the verdict."""
    for model, by_convention in dataset.values.items():
        for metric in by_convention[dataset.primary].values:
            for published in lookup(dataset.dataset, model, metric):
                convention = published.convention if published.convention in by_convention else dataset.primary
                verdicts = {
                    name: judge_values(published.value, published.folds, values[convention], metric)
                    for name, values in dataset.values.items()
                }
                judged = verdicts.pop(model)
                same = alike(judged.verdict, (other.verdict for other in verdicts.values()))
                mean = MeanRow(convention, model, metric, by_convention[convention])
                yield PublishedRow(published, mean, judged, same, len(verdicts))


def file_order_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield the values with tied scores in file order and in expectation, under the primary convention.

    A constant score comes first, then every method.
    """
    constant = {CONSTANT: dataset.constant} if dataset.constant else {}
    return file_order(constant | dict(dataset.values), dataset.primary)


def mean_ranks(dataset: DatasetValues) -> Iterator[Row]:
    """Yield mean ranks with Nemenyi's critical difference and Friedman's p per tested metric, best rank first."""
    for metric in dataset.tested_metrics():
        try:
            test = friedman_nemenyi(dataset.primary_values(metric))
        except GradrankError:  # two methods or one query: no ranks to test
            continue
        for model, rank in test.ranks.items():
            yield {"convention": dataset.primary, "metric": metric, "model": model, "rank": rank} | {
                "critical_difference": test.critical_difference,
                "p": test.p,
            }
