"""A method's means beside each other: two columns a metric."""

from collections.abc import Sequence

from gradrank.evaluation.metrics import metric_label
from gradrank.report.tables.table import Column


def mean_columns(metrics: Sequence[str]) -> list[Column]:
    """Each metric's mean and half its interval, of rows that have a method's QueryValues as `values`."""
    return [column for metric in metrics for column in _columns(metric)]


def _columns(metric: str) -> tuple[Column, Column]:
    return (
        Column(metric, metric_label(metric), ".4f", of=lambda row: row["values"].mean(metric)),
        Column(f"{metric} half", "± 95%", ".4f", of=lambda row: row["values"].half_width(metric)),
    )
