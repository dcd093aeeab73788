"""Line plots: learning curves, precision-recall curves, and sweeps of a parameter.

Learning curves have one panel per method, with a thin line per fold and a thick line for their mean. The plot of
precision against recall has one curve per method over eleven levels of recall. The plot of a sweep shows a metric
against a swept parameter, from variants such as `lambdamart-learning_rate=0.05`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gradrank.base.conventions import selection_convention, selection_label
from gradrank.bench.report.contents import ReportedDataset, ReportedFold
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.chart import Series, line_chart
from gradrank.bench.report.plots.svg import Frame
from gradrank.bench.report.tables.table import Row, setting
from gradrank.measures.metrics import metric_label
from gradrank.training.selection import CRITERION

WIDTH, LEFT, RIGHT = 280, 40, 272
MEASURE = Frame(LEFT, RIGHT, top=8, bottom=104)
LOSS = Frame(LEFT, RIGHT, top=118, bottom=158)  # below MEASURE; drawn only if there is a training loss
# The first of these columns that exists is shown, otherwise the first vali_* column, otherwise the first column.
PREFERRED = ("vali_ndcg@10", "vali_map")
MOST_POINTS = 60  # maximum per line; more points are indistinguishable at this width

Lines = Mapping[int, Mapping[str, list[float | None]]]  # keys: fold number, then column of the training history


@dataclass(frozen=True)
class Curves:
    """The panel of one method. measure: text that names the plotted metric and, if shown, the training loss."""

    model: str
    measure: str
    drawing: Markup


def learning_curves(model: str, folds: list[ReportedFold]) -> Curves | None:
    """Return the panel of one method, for its first seed. Return None if no fold has more than one step.

    The upper plot shows the validation metric, with a dot at the best step of each fold. The lower plot shows the
    training loss, if there is one. The mean ends at the last step of the shortest fold, because a mean beyond that step
    would cover fewer folds.
    """
    first = [fold for fold in folds if not fold.is_additional_seed]
    lines = {fold.number: fold.history for fold in first if len(fold.history.get("step", [])) > 0}
    if max((len(history["step"]) for history in lines.values()), default=0) < 2:
        return None
    names = [name for name in next(iter(lines.values())) if name != "step"]
    if not names:
        return None
    valid = [name for name in names if name.startswith("vali_")]
    shown = next((name for name in PREFERRED if name in valid), (valid or names)[0])
    loss = "train_loss" if "train_loss" in names and shown != "train_loss" else None
    steps = [step for history in lines.values() for step in history["step"] if step is not None]
    across = svg.Scale(min(steps), max(steps), LEFT, RIGHT)
    parts = [_panel(lines, shown, across, MEASURE, mark_best=shown in valid)]
    if loss:
        parts.append(_panel(lines, loss, across, LOSS, mark_best=False))
    lowest = LOSS if loss else MEASURE
    parts += lowest.x_axis(across, across.ticks(5, least=1))
    parts.append(svg.element("text", "step", x=0, y=lowest.bottom + 13, class_="tick"))
    measure = _words(shown, selection_convention(first[0].spec)) + ("; below: training loss" if loss else "")
    values = _mean(lines, shown)
    label = f"{model}: {measure} over {len(steps):,} steps of {len(lines)} folds"
    if values:
        label += f"; the mean goes from {values[0][1]:.4f} to {values[-1][1]:.4f}"
    return Curves(model, measure, svg.drawing(parts, WIDTH, lowest.bottom + 18, label, "curves"))


def _panel(lines: Lines, name: str, across: svg.Scale, frame: Frame, mark_best: bool) -> Markup:
    """Draw the grid, the folds, the mean and the best steps of one column of the histories."""
    values = [v for history in lines.values() for v in history.get(name, []) if v is not None]
    if not values:
        return Markup("")
    up = svg.padded(values, frame.bottom, frame.top)
    parts = frame.y_axis(up, up.ticks(4 if frame is MEASURE else 3))
    for number, history in lines.items():
        points = [
            (s, v)
            for s, v in zip(history["step"], history.get(name, []), strict=False)
            if s is not None and v is not None
        ]
        if not points:
            continue
        kept = [points[i] for i in svg.thin(len(points), MOST_POINTS)]
        parts.append(svg.line([across(s) for s, _ in kept], [up(v) for _, v in kept], f"fold f{number}"))
        if mark_best:
            step, value = max(points, key=lambda point: point[1])
            title = svg.element("title", f"fold {number}: best {value:.4f} at step {step}")
            parts.append(svg.element("circle", title, cx=across(step), cy=up(value), r=2.2, class_=f"best f{number}"))
    mean = _mean(lines, name)
    kept = [mean[i] for i in svg.thin(len(mean), MOST_POINTS)]
    parts.append(svg.line([across(s) for s, _ in kept], [up(v) for _, v in kept], "mean"))
    return Markup("").join(parts)


def _mean(lines: Lines, name: str) -> list[tuple[float, float]]:
    """Return (step, mean over folds) for the steps that every fold has."""
    columns = [history.get(name, []) for history in lines.values()]
    steps = next(iter(lines.values()))["step"]
    return [
        (step, sum(values) / len(values)) for step, *values in zip(steps, *columns, strict=False) if None not in values
    ]


def _words(name: str, convention: str) -> str:
    """Return the text for a column, such as `validation NDCG@10 (letor4, ties in expectation)` for `vali_ndcg@10`.

    convention: the convention under which the model was selected.
    """
    part, _, rest = name.partition("_")
    if part not in ("vali", "train") or not rest:
        return name
    measure = rest.replace("_", " ") if re.fullmatch("loss|error|cost", rest) else metric_label(rest)
    text = f"{'validation' if part == 'vali' else 'training'} {measure}"
    return f"{text} ({selection_label(convention)})" if re.fullmatch(CRITERION, rest) else text


PR_WIDTH = 360
FRAME = Frame(left=34, right=350, top=20, bottom=224)


@dataclass(frozen=True)
class PrCurves:
    """The plot and its values. levels: levels of recall. precisions: for each method, one value per level."""

    drawing: Markup
    levels: list[float]
    precisions: dict[str, list[float]]


def pr_curves(dataset: ReportedDataset, convention: str, marked: tuple[str, ...]) -> PrCurves | None:
    """Return the plot, with the methods of `marked` in colour and the others in grey.

    A curve shows the interpolated precision at recall 0, .1, ..., 1, averaged over the queries of each fold and then
    over folds. Returns None if this precision was not measured.
    """
    rows = [row for row in dataset.tables.get("pr_curve", []) if row["convention"] == convention]
    by_model: dict[str, list[float]] = {model: [] for model in dataset.ranked()}
    for row in rows:
        by_model[row["model"]].append(row["precision"])
    levels = sorted({row["recall"] for row in rows})
    precisions = {model: values for model, values in by_model.items() if len(values) == len(levels)}
    if not levels or not precisions:
        return None
    across = svg.Scale(0, 1, FRAME.left, FRAME.right)
    up = svg.padded([y for values in precisions.values() for y in values], FRAME.bottom, FRAME.top)
    curves = {}
    for model, values in precisions.items():
        place = f" {('one', 'two')[marked.index(model)]}" if model in marked else ""
        curves[model] = svg.line([across(x) for x in levels], [up(y) for y in values], f"pr{place}", model)
    # SVG draws later elements on top. The grey curves are therefore first, and the first marked method is last.
    top = [model for model in reversed(marked) if model in curves]
    drawn = [*(model for model in curves if model not in top), *top]
    label = f"Interpolated precision at recall 0 to 1 of {len(curves)} methods; the table below has its values"
    axes = FRAME.y_axis(up, up.ticks(6), "precision") + FRAME.x_axis(across, across.ticks(5), "recall")
    parts = [*axes, *(curves[model] for model in drawn)]
    drawing = svg.drawing(parts, PR_WIDTH, FRAME.bottom + 32, label, "pr-curves")
    return PrCurves(drawing, levels, precisions)


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
