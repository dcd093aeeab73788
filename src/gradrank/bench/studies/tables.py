"""Tables of the studies: means with 95% intervals, published numbers next to ours, paired tests, and ablations.

A paired test compares two methods on the same queries. An ablation changes one parameter of a model and tests against
the base model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from markupsafe import Markup

from gradrank.base.text_tables import number
from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature import Judged, alike
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.table import VERDICT, Column, P, Row, Table, setting
from gradrank.bench.studies.study import Inputs
from gradrank.comparison.significance import RULE, decide_row
from gradrank.comparison.statistics import holm, paired_test
from gradrank.measures.conventions import Convention
from gradrank.measures.metrics import metric_label


def mean_columns(metrics: Sequence[str]) -> list[Column]:
    """Return two columns per metric: the mean over folds, and half the width of its 95% interval.

    Each row of the table must contain the QueryValues of a method under the key `values`.
    """
    return [column for metric in metrics for column in _columns(metric)]


def _columns(metric: str) -> tuple[Column, Column]:
    return (
        Column(metric, metric_label(metric), ".4f", of=lambda row: row["values"].mean(metric)),
        Column(f"{metric} half", "half 95% interval", ".4f", of=lambda row: row["values"].half_width(metric)),
    )


def difference_columns(form: str = ".4f") -> tuple[Column, ...]:
    """Return the columns of `difference_row`. form: format of the numbers."""
    return (
        Column("published", "published", form),
        Column("ours", "ours", form),
        Column("difference", "difference", f"+{form}"),
    )


def verdict_columns(form: str = ".4f") -> tuple[Column, ...]:
    """Return the columns of `verdict_row` and `unpublished_row`. form: format of the numbers."""
    return (
        *difference_columns(form),
        Column("half_width", "half 95% interval", form),
        Column("of", "over"),
        Column("verdict", "verdict", VERDICT),
        Column("alike", "others alike", "d"),
        Column("others", "of", "d"),
    )


def difference_row(published: float | None, ours: float) -> Row:
    """Return a row with both numbers and their difference, ours minus published.

    Without a published number, the difference has the value None.
    """
    difference = None if published is None else ours - published
    return {"published": published, "ours": ours, "difference": difference}


def verdict_row(published: float, ours: Judged, others: Iterable[Judged]) -> Row:
    """Return a row that compares a published number with ours and gives the verdict.

    ours: the verdict on our number. others: the verdicts on our other methods, compared with the same published number.
    The row counts how many of these methods get the same verdict as ours. The count shows how selective the verdict is.
    """
    verdicts = [other.verdict for other in others]
    judged = {"half_width": ours.half_width, "of": ours.of, "verdict": ours.verdict}
    return (
        difference_row(published, ours.ours)
        | judged
        | {"alike": alike(ours.verdict, verdicts), "others": len(verdicts)}
    )


def unpublished_row(ours: float, half_width: float, of: str) -> Row:
    """Return a row without a published number and without a verdict.

    half_width: half the width of the 95% interval of our number. of: what the interval is computed over, such as
    queries or draws.
    """
    unjudged = {"half_width": half_width, "of": of, "verdict": "", "alike": None, "others": None}
    return difference_row(None, ours) | unjudged


MAX_NAMED = 4  # largest number of differences that `describe_significant` names
COLUMNS = (
    Column("difference", "difference", "+.4f"),
    Column("low", "95% interval from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("record", "won, tied, lost", of=lambda row: f"{row['wins']}, {row['ties']}, {row['losses']}"),
    Column("t", "p (t)", P),
    Column("wilcoxon", "p (Wilcoxon)", P),
    Column("wilcoxon_holm", "p (Holm)", P),
)
PAIR_COLUMNS = (Column("dataset", "data set"), Column("pair", "methods"), Column("metric"), *COLUMNS)
NOTE = (
    "Difference of the means over folds, first minus second, with its bootstrap interval over test queries; the "
    "number of queries won, tied and lost; two-sided p values over queries, the last one corrected by Holm for the "
    f"rows of this table. {RULE}"
)


class Question(NamedTuple):
    """Two methods to compare on one metric.

    about: the cells that identify the comparison in the table, except the metric. first, second: the per-query values
    of the two methods, for the same queries in the same order.
    """

    about: Row
    metric: str
    first: QueryValues
    second: QueryValues


def paired_tests(questions: Sequence[Question]) -> list[Row]:
    """Return one row per question.

    A row has the cells of `about`, the metric, and the results of the paired tests of first minus second. The results
    have the keys of COLUMNS.
    """
    rows: list[Row] = [
        about
        | {"metric": metric_label(metric)}
        | paired_test(first.values[metric], second.values[metric], first.folds, queries=first.qids)._asdict()
        for about, metric, first, second in questions
    ]
    for row, p in zip(rows, holm([row["wilcoxon"] for row in rows]), strict=True):
        row["wilcoxon_holm"] = float(p)
    return rows


def pair_tests(
    measured: Mapping[tuple[str, str], QueryValues], pairs: Iterable[tuple[str, str]], metrics: Sequence[str]
) -> list[Row]:
    """Return one row of `paired_tests` per data set, pair of methods and metric, for a table with PAIR_COLUMNS.

    measured: values per query by data set and method.
    """
    pairs = tuple(pairs)
    return paired_tests(
        [
            Question(
                {"dataset": dataset, "pair": f"{first} − {second}"},
                metric,
                measured[dataset, first],
                measured[dataset, second],
            )
            for dataset in dict.fromkeys(dataset for dataset, _ in measured)
            for first, second in pairs
            for metric in metrics
        ]
    )


def describe_significant(rows: Sequence[Row], *keys: str) -> str:
    """Return one sentence about the rows of `paired_tests` that are significant.

    A row is significant by the rule in `gradrank.comparison.significance`. keys: the cells that identify a row
    in the sentence, in addition to its metric.
    """
    significant_rows = [row for row in rows if decide_row(row) != "no evidence"]
    if not significant_rows:
        return f"none of {len(rows)} differences stands."
    widest = sorted(significant_rows, key=lambda row: -abs(row["difference"]))[:MAX_NAMED]
    parts = [
        f"{', '.join(str(row[key]) for key in (*keys, 'metric'))} ({number(row['difference'], '+.4f')})"
        for row in widest
    ]
    stand = "stands" if len(significant_rows) == 1 else "stand"
    opening = f"{len(significant_rows)} of {len(rows)} differences {stand}"
    return f"{opening}{', the widest' if len(significant_rows) > MAX_NAMED else ''}: {'; '.join(parts)}."


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
    convention: str | Convention
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
