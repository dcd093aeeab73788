"""Learning curves: one panel per method, with a thin line per fold and a thick line for their mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.base.conventions import selection_convention, selection_label
from gradrank.bench.report.contents import ReportedFold
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.frame import Frame
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
