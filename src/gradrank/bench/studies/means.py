"""Columns for the means of metrics and their 95% intervals."""

from collections.abc import Sequence

from gradrank.bench.report.tables.table import Column
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
