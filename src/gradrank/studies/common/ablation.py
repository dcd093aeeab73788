"""One parameter varied around a model: means with their intervals, and paired tests against that model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from gradrank.evaluation.conventions import Convention
from gradrank.evaluation.metrics import metric_label
from gradrank.evaluation.per_query import QueryValues
from gradrank.report.plots.chart import Series, line_chart
from gradrank.report.tables.numbers import setting
from gradrank.report.tables.table import Column, Table
from gradrank.studies.common.means import mean_columns
from gradrank.studies.common.paired_tests import COLUMNS, NOTE, Question, paired_tests
from gradrank.studies.common.study import Inputs

VARIED = (Column("parameter"), Column("value"))


@dataclass(frozen=True)
class Ablation:
    """The variants of `base` in a study that differ from it in `parameter` alone, on one data set.

    title: what the parameter is called on the page. only: the values that are meant; None: all there are.
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
        """(value, model, its values) by value."""
        return [
            (value, model, self.inputs.measure(self.dataset, model, self.metrics, self.convention))
            for value, model in self.inputs.around(self.dataset, self.base, self.parameter)
            if self.only is None or value in self.only
        ]

    def questions(self) -> list[Question]:
        """Each metric of every other value against the base's."""
        own = next(values for _, model, values in self.measured if model == self.base)
        return [
            Question({"parameter": self.title, "value": setting(value)}, metric, values, own)
            for metric in self.metrics
            for value, model, values in self.measured
            if model != self.base
        ]

    def chart(self) -> Markup:
        """Every metric's mean against the value, with its interval."""
        values = [value for value, _, _ in self.measured]
        numbers = all(isinstance(value, int | float) for value in values)
        series = [
            Series(
                metric_label(metric),
                values if numbers else range(len(values)),
                [each.mean(metric) for _, _, each in self.measured],
                [each.half_width(metric) for _, _, each in self.measured],
                points=True,
            )
            for metric in self.metrics
        ]
        labels = None if numbers else list(map(setting, values))
        return line_chart(series, self.title, "mean over folds", self.summary(), log_x=numbers, labels=labels)

    def summary(self) -> str:
        """The chart in words."""
        parts = []
        for metric in self.metrics:
            means = {setting(value): values.mean(metric) for value, _, values in self.measured}
            best = max(means, key=means.__getitem__)
            parts.append(
                f"{metric_label(metric)} from {min(means.values()):.4f} to {means[best]:.4f}, highest at {best}"
            )
        return f"{self.dataset}, means with 95% intervals against {self.title}: " + "; ".join(parts)


def means_table(id: str, title: str, ablations: Sequence[Ablation]) -> Table:
    """A row a parameter and value: the mean of each metric and half its interval."""
    rows = [
        {"parameter": each.title, "value": setting(value), "values": values}
        for each in ablations
        for value, _, values in each.measured
    ]
    return Table(id, title, [*VARIED, *mean_columns(ablations[0].metrics)], rows)


def tests_table(id: str, title: str, ablations: Sequence[Ablation]) -> Table:
    """Every other value against the base's, metric by metric."""
    columns = [*VARIED, Column("metric"), *COLUMNS]
    return Table(id, title, columns, paired_tests([q for each in ablations for q in each.questions()]), NOTE)
