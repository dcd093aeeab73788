"""Ablation of one parameter of a model: means with 95% intervals, and paired tests against the base model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.numbers import setting
from gradrank.bench.report.tables.table import Column, Table
from gradrank.bench.studies.means import mean_columns
from gradrank.bench.studies.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.bench.studies.study import Inputs
from gradrank.measures.conventions import Convention
from gradrank.measures.metrics import metric_label

VARIED = (Column("parameter"), Column("value"))


@dataclass(frozen=True)
class Ablation:
    """The models of a study that differ from `base` only in `parameter`, on one data set.

    title: name of the parameter on the page. only: the parameter values to include, or None for all values.
    """

    inputs: Inputs
    dataset: str
    base: str
    parameter: str
    title: str
    metrics: Sequence[str]
    convention: str | Convention = "letor4"
    only: Sequence[Any] | None = None

    @cached_property
    def measured(self) -> list[tuple[Any, str, QueryValues]]:
        """The parameter value, name and per-query values of each model, in ascending order of the parameter value."""
        return [
            (value, model, self.inputs.measure(self.dataset, model, self.metrics, self.convention))
            for value, model in self.inputs.variants_of(self.dataset, self.base, self.parameter)
            if self.only is None or value in self.only
        ]

    def questions(self) -> list[Question]:
        """Return the comparisons of the other models with the base model, one per metric and model."""
        base_values = next(values for _, model, values in self.measured if model == self.base)
        return [
            Question({"parameter": self.title, "value": setting(value)}, metric, values, base_values)
            for metric in self.metrics
            for value, model, values in self.measured
            if model != self.base
        ]

    def chart(self) -> Markup:
        """Return an SVG line chart of the mean of each metric, with its interval, against the parameter value."""
        values = [value for value, _, _ in self.measured]
        is_numeric = all(isinstance(value, int | float) for value in values)
        series = [
            Series(
                metric_label(metric),
                values if is_numeric else range(len(values)),
                [query_values.mean(metric) for _, _, query_values in self.measured],
                [query_values.half_width(metric) for _, _, query_values in self.measured],
                points=True,
            )
            for metric in self.metrics
        ]
        labels = None if is_numeric else list(map(setting, values))
        return line_chart(series, self.title, "mean over folds", self.summary(), log_x=is_numeric, labels=labels)

    def summary(self) -> str:
        """Return a description of the chart in words: the lowest and the highest mean of each metric."""
        parts = []
        for metric in self.metrics:
            means = {setting(value): values.mean(metric) for value, _, values in self.measured}
            best = max(means, key=means.__getitem__)
            parts.append(
                f"{metric_label(metric)} from {min(means.values()):.4f} to {means[best]:.4f}, highest at {best}"
            )
        return f"{self.dataset}, means with 95% intervals against {self.title}: " + "; ".join(parts)


def means_table(id: str, title: str, ablations: Sequence[Ablation]) -> Table:
    """Return a table of the mean of each metric and half the width of its 95% interval.

    The table has one row per parameter and value.
    """
    rows = [
        {"parameter": ablation.title, "value": setting(value), "values": values}
        for ablation in ablations
        for value, _, values in ablation.measured
    ]
    return Table(id, title, [*VARIED, *mean_columns(ablations[0].metrics)], rows)


def tests_table(id: str, title: str, ablations: Sequence[Ablation]) -> Table:
    """Return a table of paired tests against the base model.

    The table has one row per parameter, value and metric.
    """
    columns = [*VARIED, Column("metric"), *COLUMNS]
    questions = [question for ablation in ablations for question in ablation.questions()]
    return Table(id, title, columns, paired_tests(questions), NOTE)
