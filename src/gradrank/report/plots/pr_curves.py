"""Precision against recall: a curve a method over the eleven levels, on one drawing."""

from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report.contents import DataSet
from gradrank.report.plots import svg

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 360, 34, 350, 20, 224


@dataclass(frozen=True)
class Curves:
    """The drawing, and its values: precision by method at each of `levels`."""

    drawing: Markup
    levels: list[float]
    precisions: dict[str, list[float]]


def pr_curves(dataset: DataSet, convention: str, marked: tuple[str, ...]) -> Curves | None:
    """Every method in grey, those `marked` in colour; None where the curve was not measured.

    The mean over folds of the mean over queries of the interpolated precision at recall 0, .1, ..., 1.
    """
    rows = [row for row in dataset.tables.get("pr_curve", []) if row["convention"] == convention]
    found: dict[str, list[float]] = {model: [] for model in dataset.ranked()}
    for row in rows:
        found[row["model"]].append(row["precision"])
    levels = sorted({row["recall"] for row in rows})
    precisions = {model: values for model, values in found.items() if len(values) == len(levels)}
    if not levels or not precisions:
        return None
    across = svg.Scale(0, 1, LEFT, RIGHT)
    up = svg.padded([y for values in precisions.values() for y in values], BOTTOM, TOP)
    curves = {}
    for model, values in precisions.items():
        place = f" {('one', 'two')[marked.index(model)]}" if model in marked else ""
        curves[model] = svg.line([across(x) for x in levels], [up(y) for y in values], f"pr{place}", model)
    # The marked ones lie on top of the others, the first on top of all.
    top = [model for model in reversed(marked) if model in curves]
    drawn = [*(model for model in curves if model not in top), *top]
    label = (
        f"Interpolated precision at recall 0 to 1 of {len(curves)} methods; the table below has its values"
    )
    parts = [_axes(across, up), *(curves[model] for model in drawn)]
    drawing = svg.drawing(parts, WIDTH, BOTTOM + 32, label, "pr-curves")
    return Curves(drawing, levels, precisions)


def _axes(across: svg.Scale, up: svg.Scale) -> Markup:
    parts = [svg.element("text", "precision", x=0, y=9, class_="tick")]
    for value, text in up.ticks(6):
        parts.append(svg.element("line", x1=LEFT, x2=RIGHT, y1=up(value), y2=up(value), class_="grid"))
        parts.append(svg.element("text", text, x=LEFT - 4, y=up(value) + 3, class_="tick end"))
    for value, text in across.ticks(5):
        parts.append(svg.element("text", text, x=across(value), y=BOTTOM + 13, class_="tick middle"))
    parts.append(svg.element("text", "recall", x=(LEFT + RIGHT) / 2, y=BOTTOM + 28, class_="tick middle"))
    return Markup("").join(parts)
