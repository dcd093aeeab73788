"""What a data set's tables are about: the values of every method under every convention, their means, their tests."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.evaluation.file_order import CONSTANT, file_order
from gradrank.evaluation.literature.published import Published, lookup
from gradrank.evaluation.literature.verdict import Judged, alike, judge_values
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import compare_all, friedman_nemenyi
from gradrank.report.tables.numbers import missing
from gradrank.report.tables.table import Row

RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # the metrics of the curve
PAIRED_METRICS = ("ndcg@10", "map")  # those tested: 40 methods make 780 pairs, each with two tests a metric


@dataclass(frozen=True)
class Measured:
    """One data set's values by method, then by convention, the primary one among them.

    short: what `gradrank.evaluation.short_lists` found in the data set. constant: the values of a constant score by
    convention; none where the data are not there.
    """

    dataset: str
    primary: str
    values: Mapping[str, Mapping[str, QueryValues]]
    short: tuple[Row, ...] = ()
    constant: Mapping[str, QueryValues] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """The most that a method was trained with."""
        return max(own[self.primary].seeds for own in self.values.values())

    def of_primary(self, metric: str) -> dict[str, np.ndarray]:
        """(q,) values by method."""
        return {model: own[self.primary].values[metric] for model, own in self.values.items()}

    def tested(self) -> list[str]:
        """Those of PAIRED_METRICS that were measured."""
        metrics = next(iter(self.values.values()))[self.primary].values
        return [metric for metric in PAIRED_METRICS if metric in metrics]

    @cached_property
    def pairs(self) -> list[Row]:
        """Paired tests of every two methods, corrected for the pairs of one metric."""
        folds = next(iter(self.values.values()))[self.primary].folds
        return [
            {"convention": self.primary, "metric": metric} | row
            for metric in self.tested()
            for row in compare_all(self.of_primary(metric), folds)
        ]

    @cached_property
    def p_best(self) -> dict[tuple[str, str, str], float]:
        """By convention, method and metric: p of the test against the method with the best mean, which has none."""
        found = {}
        for metric in self.tested():
            winner = best_mean({model: own[self.primary].mean(metric) for model, own in self.values.items()})
            for row in self.pairs:
                models = {row["model_a"], row["model_b"]}
                if row["metric"] == metric and winner in models:
                    found[self.primary, *(models - {winner}), metric] = row["wilcoxon_holm"]
        return found


def best_mean(means: Mapping[str, float | None]) -> str:
    """The method with the highest mean; of equal ones the last by name."""
    return max(means, key=lambda model: (float("-inf") if missing(means[model]) else means[model], model))


class OneMean(NamedTuple):
    """What a row of main, folds or pr_curve is about; values: those of the fold, where it is of one."""

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
        """How many, where they are several."""
        return self.values.seeds if self.values.seeds > 1 else None

    @property
    def seed_deviation(self) -> float:
        return self.values.spread(self.metric)


class Beside(NamedTuple):
    """A published number, and ours under its own convention if we measured that, else under the primary.

    alike: of how many `others`, our other methods, the verdict on the same number would have been the same.
    """

    there: Published
    here: OneMean
    judged: Judged
    alike: int
    others: int


def metric_means(measured: Measured) -> Iterator[OneMean]:
    """Of every metric; the curve's have a table of their own."""
    for each in _every_mean(measured):
        if each.metric not in RECALL_LEVELS:
            yield each._replace(p_best=measured.p_best.get((each.convention, each.model, each.metric)))


def _every_mean(measured: Measured) -> Iterator[OneMean]:
    for model, own in measured.values.items():
        for convention, values in own.items():
            for metric in values.values:
                yield OneMean(convention, model, metric, values)


def fold_means(measured: Measured) -> Iterator[OneMean]:
    for each in metric_means(measured):
        for fold in each.values.fold_means(each.metric):
            yield each._replace(fold=fold, values=each.values.of_fold(fold))


def curve(measured: Measured) -> Iterator[OneMean]:
    """Mean interpolated precision at each level of recall, where it was measured."""
    return (each for each in _every_mean(measured) if each.metric in RECALL_LEVELS)


def beside_published(measured: Measured) -> Iterator[Beside]:
    for model, own in measured.values.items():
        for metric in own[measured.primary].values:
            for there in lookup(measured.dataset, model, metric):
                convention = there.convention if there.convention in own else measured.primary
                judged = {
                    name: judge_values(there.value, there.folds, each[convention], metric)
                    for name, each in measured.values.items()
                }
                mine = judged.pop(model)
                same = alike(mine.verdict, (other.verdict for other in judged.values()))
                yield Beside(there, OneMean(convention, model, metric, own[convention]), mine, same, len(judged))


def in_file_order(measured: Measured) -> Iterator[Row]:
    """What the file's order is worth to each method and to a constant score, under the primary convention."""
    constant = {CONSTANT: measured.constant} if measured.constant else {}
    return file_order(constant | dict(measured.values), measured.primary)


def mean_ranks(measured: Measured) -> Iterator[Row]:
    """Mean ranks with Nemenyi's critical difference and Friedman's p, best first."""
    for metric in measured.tested():
        try:
            found = friedman_nemenyi(measured.of_primary(metric))
        except GradrankError:  # two methods or one query: no ranks to test
            continue
        for model, rank in found.ranks.items():
            yield {"convention": measured.primary, "metric": metric, "model": model, "rank": rank} | {
                "critical_difference": found.critical_difference,
                "p": found.p,
            }
