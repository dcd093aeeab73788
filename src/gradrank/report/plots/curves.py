"""Learning curves as small multiples: a panel a method, a thin line a fold, a thick one for their mean."""

import re
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.evaluation.metrics import metric_label
from gradrank.report.contents import ReportedFold
from gradrank.report.plots import svg
from gradrank.report.plots.frame import Frame

WIDTH, LEFT, RIGHT = 280, 40, 272
MEASURE = Frame(LEFT, RIGHT, top=8, bottom=104)
LOSS = Frame(LEFT, RIGHT, top=118, bottom=158)  # below it, where there is one
PREFERRED = ("vali_ndcg@10", "vali_map")  # the first that a history has is shown, else any vali_* or the first
MOST_POINTS = 60  # a line: more cannot be seen at this width


@dataclass(frozen=True)
class Curves:
    """One method's panel and what it shows, in words."""

    model: str
    measure: str
    drawing: Markup


def learning_curves(model: str, folds: list[ReportedFold]) -> Curves | None:
    """The panel of one method, of its first seed; None where no fold kept more than one step.

    Above, the validation measure with each fold's best step as a dot; below, where there is one, the training
    loss. The mean ends with the shortest fold: beyond, it would be one of other folds.
    """
    first = [fold for fold in folds if not fold.further]
    lines = {fold.number: fold.history for fold in first if len(fold.history.get("step", [])) > 0}
    if max((len(history["step"]) for history in lines.values()), default=0) < 2:
        return None
    names = [name for name in next(iter(lines.values())) if name != "step"]
    if not names:
        return None
    valid = [name for name in names if name.startswith("vali_")]
    shown = next((name for name in PREFERRED if name in valid), (valid or names)[0])
    loss = "train_loss" if "train_loss" in names and shown != "train_loss" else None
    steps = [step for history in lines.values() for step in history["step"]]
    across = svg.Scale(min(steps), max(steps), LEFT, RIGHT)
    parts = [_panel(lines, shown, across, MEASURE, mark_best=shown in valid)]
    if loss:
        parts.append(_panel(lines, loss, across, LOSS, mark_best=False))
    lowest = LOSS if loss else MEASURE
    parts += lowest.feet(across, across.ticks(5, least=1))
    parts.append(svg.element("text", "step", x=0, y=lowest.bottom + 13, class_="tick"))
    measure = _words(shown) + (", and below it training loss" if loss else "")
    values = _mean(lines, shown)
    label = f"{model}: {measure} over {len(steps):,} steps of {len(lines)} folds"
    if values:
        label += f"; the mean goes from {values[0][1]:.4f} to {values[-1][1]:.4f}"
    return Curves(model, measure, svg.drawing(parts, WIDTH, lowest.bottom + 18, label, "curves"))


def _panel(lines: dict, name: str, across: svg.Scale, frame: Frame, mark_best: bool) -> Markup:
    """Grid, folds, mean and best steps of one column of the histories."""
    values = [v for history in lines.values() for v in history.get(name, []) if v is not None]
    if not values:
        return Markup("")
    up = svg.padded(values, frame.bottom, frame.top)
    parts = frame.levels(up, up.ticks(4 if frame is MEASURE else 3))
    for number, history in lines.items():
        points = [(s, v) for s, v in zip(history["step"], history.get(name, []), strict=False) if v is not None]
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


def _mean(lines: dict, name: str) -> list[tuple[float, float]]:
    """(step, mean over folds), as far as every fold goes."""
    columns = [history.get(name, []) for history in lines.values()]
    steps = next(iter(lines.values()))["step"]
    return [
        (step, sum(values) / len(values)) for step, *values in zip(steps, *columns, strict=False) if None not in values
    ]


def _words(name: str) -> str:
    """`vali_ndcg@10` -> `validation NDCG@10`."""
    part, _, rest = name.partition("_")
    if part not in ("vali", "train") or not rest:
        return name
    measure = rest.replace("_", " ") if re.fullmatch("loss|error|cost", rest) else metric_label(rest)
    return f"{'validation' if part == 'vali' else 'training'} {measure}"
