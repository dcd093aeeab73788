"""The per-query values of one data set, and the rows of its tables: means, tests, differences and published numbers.

The differences are those of all methods from one baseline, with paired intervals. Published values of single runs are
compared with ours, with the effect of the interval on the verdict.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.text_tables import is_missing, number
from gradrank.bench.folds.file_order import CONSTANT, file_order
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.folds.settings import BASELINE
from gradrank.bench.literature import (
    NOT_REPRODUCED,
    RUNS,
    Judged,
    Published,
    alike,
    bands_of,
    judge,
    judge_values,
    lookup,
    reach_of_a_run,
)
from gradrank.bench.report.tables.table import Row, descending
from gradrank.comparison.significance import Candidate, best_methods, decide_row, detectable_difference
from gradrank.comparison.statistics import LEVEL, compare_all, friedman_nemenyi
from gradrank.measures.metrics import metric_label

RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # key: metric; value: level of recall
PAIRED_METRICS = ("ndcg@10", "map")  # only two, because the table of pairs has 780 rows per metric for 40 methods


@dataclass(frozen=True)
class DatasetValues:
    """The per-query values of one data set.

    primary: the primary convention. values: the outer keys are methods, the inner keys are conventions; every method
    has values under the primary convention. short: the rows of `gradrank.measures.query_values`. constant: the values
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


MARKS = {"better": " ▲", "worse": " ▼"}
NOTE = (
    "The difference is that of the means over folds, method minus baseline. Its 95% bootstrap interval is over test "
    "queries and is meant for comparing the two methods, unlike the interval of a mean. It is not corrected for the "
    f"number of methods. ▲: better, ▼: worse than the baseline, p < {LEVEL:g} in Wilcoxon's test with Holm's "
    "correction for the methods of the table, and an interval that excludes 0."
)


def baseline_among(methods: Mapping[str, float | None], baseline: str) -> str:
    """Return the baseline if it is one of the methods, otherwise the method with the highest mean. methods: means."""
    return baseline if baseline in methods else min(methods, key=lambda model: (descending(methods[model]), model))


def baseline_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per metric and method other than the baseline, under the primary convention.

    `decision` says whether the method is better or worse than the baseline. If the methods do not include the
    baseline, the method with the highest mean replaces it. `decision` is then None, because the
    same values chose this method.
    """
    headline = headline_metric(dataset.first.values)
    means = {model: own[dataset.primary].mean(headline) for model, own in dataset.values.items()}
    baseline = baseline_among(means, dataset.baseline)
    for metric in dataset.first.values:
        values = {model: own[dataset.primary] for model, own in dataset.values.items()}
        tested = {model: own.values[metric] for model, own in values.items() if own.queries(metric)}
        if metric in RECALL_LEVELS or baseline not in tested:
            continue
        rows = compare_all(tested, dataset.first.folds, queries=dataset.first.qids, baseline=baseline)
        comparisons = len(rows) if baseline == dataset.baseline else comb(len(rows) + 1, 2)
        for row in rows:
            about = {"convention": dataset.primary, "metric": metric, "model": row["model_a"], "baseline": baseline}
            decision = decide_row(row) if baseline == dataset.baseline else None
            yield about | with_detectable(row, comparisons) | {"decision": decision}


def difference_text(row: Row) -> str:
    """Return a difference with its interval and decision as text, such as `+0.0162 [+0.0101, +0.0220] ▲`."""
    text = f"{number(row['difference'], '+.4f')} [{number(row['low'], '+.4f')}, {number(row['high'], '+.4f')}]"
    return text + MARKS.get(row["decision"], "")


def detectable_sentence(compared: Sequence[tuple[str, Iterable[Row]]]) -> list[str]:
    """Return a list with one sentence on the differences that could have been detected, or [] without such values.

    compared: what a method is compared with, and rows with the keys `metric` and `detectable`.
    """
    clauses = []
    for versus, rows in compared:
        by_metric: dict[str, list[float]] = {}
        for row in rows:
            if not is_missing(row.get("detectable")):
                by_metric.setdefault(row["metric"], []).append(row["detectable"])
        values = [f"{number(median(found))} ({metric_label(metric)})" for metric, found in by_metric.items()]
        clauses += [f"from {versus}, {', '.join(values)}"] * bool(values)
    return [f"True differences that are detected with a probability of 80%: {'; '.join(clauses)}."] * bool(clauses)


EVERY_FOLD = "mean"  # the value of the column `fold` in the row over all folds


def run_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per fold, and one for the mean over folds, for each published method with values of single runs.

    `low` and `high` are the bounds of the 95% interval for one further run. `inside` says whether our value lies
    between them. The metric is the headline metric.
    """
    for model, metric, published, values in _published(dataset):
        if not published.runs:
            continue
        about = {"model": model, "method": published.method, "metric": metric, "convention": published.convention}
        for fold, (ours, _) in values[model].fold_means(metric).items():
            if fold in published.runs:
                yield about | {"fold": str(fold)} | _compared(ours, {fold: published.runs[fold]})
        yield about | {"fold": EVERY_FOLD} | _compared(values[model].mean(metric), published.runs)


def _compared(ours: float, runs: Mapping[int, Any]) -> Row:
    """Return the cells of a row. The extremes and the deviation of the runs are known for a single fold only."""
    mean, reach = float(np.mean([np.mean(values) for values in runs.values()])), reach_of_a_run(runs)
    row: Row = {"ours": ours, "runs": min(map(len, runs.values())), "mean": mean}
    if len(runs) == 1:
        (values,) = runs.values()
        row |= {"deviation": float(np.std(values, ddof=1)), "least": min(values), "most": max(values)}
    inside = "yes" if abs(ours - mean) <= reach else "no"
    return row | {"low": mean - reach, "high": mean + reach, "inside": inside}


def band_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per published number and kind of interval: its half width, the verdict, and `inside`.

    The kinds are those of `bands_of`: over queries, over folds, and over published runs. `inside` counts the other
    methods that would be reproduced or consistent. The fewer, the sharper the verdict. The metric is the headline
    metric. A number that several sources print is listed once.
    """
    listed: set[tuple[str, str, float]] = set()
    for model, metric, published, values in _published(dataset):
        if (key := (model, published.method, published.value)) in listed:
            continue
        listed.add(key)
        own = bands_of(published, values[model], metric)
        for kind, band in own.items():
            judged = {
                name: judge(published.value, of.mean(metric), bands_of(published, of, metric)[kind])
                for name, of in values.items()
            }
            verdict = judged.pop(model).verdict
            yield {"model": model, "method": published.method, "metric": metric, "published": published.value} | {
                "of": kind,
                "half_width": band.half_width,
                "verdict": verdict,
                "inside": sum(other.verdict != NOT_REPRODUCED for other in judged.values()),
                "others": len(judged),
            }


def _published(dataset: DatasetValues) -> Iterator[tuple[str, str, Published, dict[str, QueryValues]]]:
    """Yield (model, metric, published number, values by method) for the headline metric under the number's convention.

    Numbers under a convention that was not measured are left out.
    """
    metric = headline_metric(dataset.first.values)
    for model, by_convention in dataset.values.items():
        for published in lookup(dataset.dataset, model, metric):
            if published.convention in by_convention:
                values = {name: own[published.convention] for name, own in dataset.values.items()}
                yield model, metric, published, values


def sharper_verdicts(bands: list[Row]) -> list[str]:
    """Return one sentence per published number with single runs: what each kind of interval says about it.

    bands: rows of `band_rows`.
    """
    by_number: dict[tuple[str, str, float], dict[str, Row]] = {}
    for row in bands:
        by_number.setdefault((row["model"], row["method"], row["published"]), {})[row["of"]] = row
    return [
        f"`{model}` compared with {method}: {kinds[RUNS]['verdict']}. The interval around the mean of the runs, "
        f"{metric_label(kinds[RUNS]['metric'])} {value:.4f}, contains "
        + ", ".join(
            f"{row['inside']} of {row['others']} other methods if it is over {kind} (± {row['half_width']:.4f})"
            for kind, row in kinds.items()
        )
        + "."
        for (model, method, value), kinds in by_number.items()
        if RUNS in kinds
    ]
