"""Plots of a metric against a swept parameter, from variants such as `lambdamart-learning_rate=0.05`."""

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.tables.numbers import setting
from gradrank.bench.report.tables.table import Row
from gradrank.measures.metrics import metric_label

LOG_FROM = 20.0  # the axis is logarithmic if the largest value is at least this many times the smallest


@dataclass(frozen=True)
class Point:
    """A variant of a sweep.

    model: name of the variant. value: value of the swept parameter. others: the other assignments in the name of the
    variant, such as `depth=4`.
    """

    model: str
    value: Any
    others: str


@dataclass(frozen=True)
class Sweep:
    """The sweep of the parameter `param` of the params.yaml entry `entry`. points: its variants. drawing: the plot."""

    entry: str
    param: str
    points: list[Point]
    drawing: Markup


def sweeps(dataset: ReportedDataset, convention: str) -> list[Sweep]:
    """Return a plot of the headline metric for each entry and parameter with at least two values."""
    rows = {
        row["model"]: row
        for row in dataset.tables.get("main", [])
        if row["convention"] == convention and row["metric"] == dataset.headline and row["mean"] is not None
    }
    params = {model: folds[0].spec["params"] for model, folds in dataset.folds.items() if folds}
    return [
        Sweep(entry, param, points, _drawing(entry, param, points, rows, dataset.headline))
        for (entry, param), points in swept({model: params.get(model, {}) for model in rows}).items()
    ]


def swept(params: dict[str, dict[str, Any]]) -> dict[tuple[str, str], list[Point]]:
    """Return the variants of each sweep. The keys are (entry, parameter).

    params: the parameters of each variant, with defaults filled in; the keys are names of variants. The names determine
    which parameters are swept. The values are read from `params`.
    """
    by_parameter: dict[tuple[str, str], list[Point]] = {}
    for model, values in params.items():
        entry, *assignments = re.split(r"-(?=[A-Za-z_]\w*=)", model)
        for assignment in assignments:
            name, _, text = assignment.partition("=")
            others = ", ".join(other for other in assignments if other != assignment)
            by_parameter.setdefault((entry, name), []).append(Point(model, values.get(name, text), others))
    return {
        key: sorted(points, key=lambda point: (point.others, _position(point.value), str(point.value)))
        for key, points in by_parameter.items()
        if len({str(point.value) for point in points}) > 1
    }


def _position(value: Any) -> float:
    return float(value) if _is_number(value) else 0.0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _drawing(entry: str, param: str, points: list[Point], rows: dict[str, Row], metric: str) -> Markup:
    """Plot the means with their intervals, one line per setting of the other swept parameters."""
    labels = None
    if not all(_is_number(point.value) for point in points):
        labels = list(dict.fromkeys(setting(point.value) for point in points))
    series = []
    for others in dict.fromkeys(point.others for point in points):
        line = [point for point in points if point.others == others]
        means = [rows[point.model] for point in line]
        series.append(
            Series(
                name=others or entry,
                x=[labels.index(setting(point.value)) if labels else point.value for point in line],
                y=[row["mean"] for row in means],
                half_widths=[row["half_width"] or 0.0 for row in means],
                points=True,
            )
        )
    xs = [x for line in series for x in line.x]
    log_x = labels is None and min(xs) > 0 and max(xs) / min(xs) >= LOG_FROM
    best = max(points, key=lambda point: rows[point.model]["mean"])
    alt = f"{metric_label(metric)} of {entry} against {param}: best {rows[best.model]['mean']:.4f} at {best.value}"
    return line_chart(series, param, metric_label(metric), alt, log_x, labels)
