"""The tables of results/<dataset>/tables/: a Column a line, which says what it holds, and what each row is about.

main: a mean with half its 95% interval for each convention, method and metric. folds: the same means fold by
fold. published: each published number beside ours. pairwise: paired tests of every two methods. ranks: mean
ranks over queries. pr_curve: precision at eleven levels of recall.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradrank.errors import GradrankError
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.published import Published, lookup, verdict
from gradrank.evaluation.statistics import compare_all, friedman_nemenyi
from gradrank.report.tables.numbers import VERDICT, P, missing
from gradrank.report.tables.table import Column, Row, Table, Wide, read_csv

RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # the metrics of the curve
PAIRED_METRICS = ("ndcg@10", "map")  # those tested: 40 methods make 780 pairs, each with two tests a metric


@dataclass(frozen=True)
class Measured:
    """One data set's values by method, then by convention, the primary one among them."""

    dataset: str
    primary: str
    values: Mapping[str, Mapping[str, QueryValues]]

    def of_primary(self, metric: str) -> dict[str, np.ndarray]:
        """(q,) values by method."""
        return {model: own[self.primary].values[metric] for model, own in self.values.items()}

    def tested(self) -> list[str]:
        """Those of PAIRED_METRICS that were measured."""
        metrics = next(iter(self.values.values()))[self.primary].values
        return [metric for metric in PAIRED_METRICS if metric in metrics]


class OneMean(NamedTuple):
    """What a row of main, folds or pr_curve is about; values: those of the fold, where it is of one."""

    convention: str
    model: str
    metric: str
    values: QueryValues
    fold: int = 0

    @property
    def mean(self) -> float:
        return self.values.mean(self.metric)

    @property
    def half_width(self) -> float:
        return self.values.half_width(self.metric)

    @property
    def queries(self) -> int:
        return self.values.queries(self.metric)


class Beside(NamedTuple):
    """A published number, and ours under its own convention if we measured that, else under the primary."""

    there: Published
    here: OneMean

    @property
    def verdict(self) -> str:
        return verdict(self.here.mean, self.here.half_width, self.there.value)


def _means(measured: Measured) -> Iterator[OneMean]:
    """Of every metric; the curve's have a table of their own."""
    return (each for each in _every_mean(measured) if each.metric not in RECALL_LEVELS)


def _every_mean(measured: Measured) -> Iterator[OneMean]:
    for model, own in measured.values.items():
        for convention, values in own.items():
            for metric in values.values:
                yield OneMean(convention, model, metric, values)


def _fold_means(measured: Measured) -> Iterator[OneMean]:
    for each in _means(measured):
        for fold in each.values.fold_means(each.metric):
            yield each._replace(fold=fold, values=each.values.of_fold(fold))


def _curve(measured: Measured) -> Iterator[OneMean]:
    """Mean interpolated precision at each level of recall, where it was measured."""
    return (each for each in _every_mean(measured) if each.metric in RECALL_LEVELS)


def _published(measured: Measured) -> Iterator[Beside]:
    for model, own in measured.values.items():
        for metric in own[measured.primary].values:
            for there in lookup(measured.dataset, model, metric):
                convention = there.convention if there.convention in own else measured.primary
                yield Beside(there, OneMean(convention, model, metric, own[convention]))


def _pairs(measured: Measured) -> Iterator[Row]:
    """Paired tests of every two methods, corrected for the pairs of one metric."""
    folds = next(iter(measured.values.values()))[measured.primary].folds
    for metric in measured.tested():
        for row in compare_all(measured.of_primary(metric), folds):
            yield {"convention": measured.primary, "metric": metric} | row


def _ranks(measured: Measured) -> Iterator[Row]:
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


class Definition(NamedTuple):
    about: Callable[[Measured], Iterable[Any]]
    columns: tuple[Column, ...]
    wide: Wide | None = None


MODEL_METRIC = (Column("convention"), Column("model"), Column("metric"))
DEFINITIONS = {
    "main": Definition(
        _means,
        (
            *MODEL_METRIC,
            Column("mean", form=".4f"),
            Column("half_width", form=".4f"),
            Column("queries", form="d"),
        ),
        Wide(("convention", "model"), "metric", "{mean} ± {half_width}"),
    ),
    "folds": Definition(
        _fold_means,
        (*MODEL_METRIC, Column("fold", form="d"), Column("mean", form=".4f"), Column("queries", form="d")),
        Wide(("convention", "model", "metric"), "fold", "{mean}"),
    ),
    "published": Definition(
        _published,
        (
            Column("model", of=lambda row: row.here.model),
            Column("method", of=lambda row: row.there.method),
            Column("note", of=lambda row: row.there.note),
            Column("metric", of=lambda row: row.here.metric),
            Column("convention", of=lambda row: row.there.convention),
            Column("published", form=".4f", of=lambda row: row.there.value),
            Column("our_convention", of=lambda row: row.here.convention),
            Column("ours", form=".4f", of=lambda row: row.here.mean),
            Column("half_width", form=".4f", of=lambda row: row.here.half_width),
            Column("difference", form="+.4f", of=lambda row: row.here.mean - row.there.value),
            Column("verdict", form=VERDICT),
            Column("source", of=lambda row: row.there.source),
        ),
        Wide(
            ("model", "method", "note", "convention", "our_convention", "source"),
            "metric",
            "{published} ({difference}, {verdict})",
        ),
    ),
    "pairwise": Definition(
        _pairs,
        (
            Column("convention"),
            Column("metric"),
            Column("model_a"),
            Column("model_b"),
            Column("queries", form="d"),
            Column("difference", form="+.4f"),
            Column("low", form="+.4f"),
            Column("high", form="+.4f"),
            Column("wins", form="d"),
            Column("ties", form="d"),
            Column("losses", form="d"),
            Column("t", form=P),
            Column("t_holm", form=P),
            Column("wilcoxon", form=P),
            Column("wilcoxon_holm", form=P),
        ),
    ),
    "ranks": Definition(
        _ranks,
        (
            Column("convention"),
            Column("metric"),
            Column("model"),
            Column("rank", form=".2f"),
            Column("critical_difference", form=".2f"),
            Column("p", form=P),
        ),
        Wide(("convention", "model"), "metric", "{rank}"),
    ),
    "pr_curve": Definition(
        _curve,
        (
            Column("convention"),
            Column("model"),
            Column("recall", form=".1f", of=lambda row: RECALL_LEVELS[row.metric]),
            Column("precision", form=".4f", of=lambda row: row.mean),
        ),
        Wide(("convention", "model"), "recall", "{precision}"),
    ),
}


def summary_tables(measured: Measured) -> dict[str, Table]:
    """Every table by its name."""
    return {
        name: Table(name, name, each.columns, each.about(measured), wide=each.wide)
        for name, each in DEFINITIONS.items()
    }


def read_tables(folder: Path) -> dict[str, list[Row]]:
    """The rows of each table that was written into `folder`; none of one that is not there."""
    return {name: read_csv(folder / f"{name}.csv", each.columns) for name, each in DEFINITIONS.items()}


def means(main: Iterable[Row], convention: str) -> dict[str, dict[str, float | None]]:
    """summary.json from the rows of `main`: by model and metric, to four decimals; null where a mean is not defined."""
    found: dict[str, dict[str, float | None]] = {}
    for row in main:
        if row["convention"] == convention:
            mean = None if missing(row["mean"]) else round(row["mean"], 4)
            found.setdefault(row["model"], {})[row["metric"]] = mean
    return found
