"""Precision-recall plot: one curve per method over eleven levels of recall."""

from dataclasses import dataclass

from markupsafe import Markup

from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.frame import Frame

WIDTH = 360
FRAME = Frame(left=34, right=350, top=20, bottom=224)


@dataclass(frozen=True)
class Curves:
    """The plot and its values. levels: levels of recall. precisions: for each method, one value per level."""

    drawing: Markup
    levels: list[float]
    precisions: dict[str, list[float]]


def pr_curves(dataset: ReportedDataset, convention: str, marked: tuple[str, ...]) -> Curves | None:
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
    drawing = svg.drawing(parts, WIDTH, FRAME.bottom + 32, label, "pr-curves")
    return Curves(drawing, levels, precisions)
