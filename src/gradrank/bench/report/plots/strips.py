"""Strip plots with one row per method. Positions are percentages, so that a row fits any width without distortion."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gradrank.base.numbers import number
from gradrank.bench.report.plots import svg

HEIGHT = 22
MIDDLE = HEIGHT / 2
STEPS = 5  # the most intervals between the ticks of an axis
NAMES, PLOT, NUMBERS = 200, 420, 60  # column widths in a drawing of `stacked`, in drawing units


@dataclass(frozen=True)
class Strip:
    """The row of one method: its mean and its drawing."""

    model: str
    mean: float
    drawing: Markup


def percent(scale: svg.Scale, value: float) -> str:
    """Return the position of a value, on a scale from 0 to 100, as a percentage."""
    return f"{scale(value):.2f}%"


def strip(
    scale: svg.Scale,
    parts: Iterable[Markup],
    label: str,
    class_: str = "strip",
    height: float = HEIGHT,
    steps: int = STEPS,
) -> Markup:
    """Return one row: grid lines with `parts` on top.

    label: description of the row as text. steps: the most intervals between grid lines.
    """
    grid = [vertical_line(scale, value, "grid", height=height) for value, _ in scale.ticks(steps)]
    drawing = Markup("").join([*grid, *parts])
    return svg.element("svg", drawing, width="100%", height=height, role="img", aria_label=label, class_=class_)


def vertical_line(scale: svg.Scale, value: float, class_: str, margin: int = 0, height: float = HEIGHT) -> Markup:
    """Return a vertical line at a value, with `margin` drawing units above and below."""
    at = percent(scale, value)
    return svg.element("line", x1=at, x2=at, y1=margin, y2=height - margin, class_=class_)


def bar(scale: svg.Scale, low: float, high: float, class_: str = "interval", y: float = MIDDLE) -> Markup:
    """Return a horizontal bar from `low` to `high`."""
    return svg.element("line", x1=percent(scale, low), x2=percent(scale, high), y1=y, y2=y, class_=class_)


def diamond(scale: svg.Scale, entry: Mapping[str, Any]) -> Markup:
    """Return a diamond at a published value. entry: a row of the table published."""
    title = svg.element("title", f"published: {entry['published']:.4f} ({entry['method']}, {entry['source']})")
    # The position of a path cannot be in percent, so the path is inside a nested svg element.
    path = svg.element("path", title, d="M0 -5.5L5.5 0L0 5.5L-5.5 0Z", class_="published")
    return svg.element("svg", path, x=percent(scale, entry["published"]), y=MIDDLE, overflow="visible")


def axis(scale: svg.Scale) -> Markup:
    """Return the tick labels below the rows."""
    texts = [
        svg.element("text", text, x=percent(scale, value), y=12, class_="tick middle")
        for value, text in scale.ticks(STEPS)
    ]
    return svg.element("svg", Markup("").join(texts), width="100%", height=16, aria_hidden="true", class_="strip")


def stacked(strips: Sequence[Strip], below: Markup, form: str, shaded: Collection[str] = ()) -> Markup:
    """Return all rows as one drawing. Each row shows the method name, the strip and the mean.

    below: the axis. form: format specification of the means. shaded: the methods whose rows are shaded.
    """
    parts = []
    for index, row in enumerate(strips):
        y = index * HEIGHT
        if row.model in shaded:
            shade = {"x": -4, "y": y, "width": NAMES + PLOT + NUMBERS + 8, "height": HEIGHT}
            parts.append(svg.element("rect", **shade, class_="shaded"))
        parts.append(svg.element("text", row.model, x=0, y=y + MIDDLE + 4, class_="name"))
        parts.append(svg.element("svg", row.drawing, x=NAMES, y=y, width=PLOT, height=HEIGHT))
        place = {"x": NAMES + PLOT + NUMBERS, "y": y + MIDDLE + 4}
        parts.append(svg.element("text", number(row.mean, form), **place, class_="name end"))
    parts.append(svg.element("svg", below, x=NAMES, y=len(strips) * HEIGHT, width=PLOT, height=16))
    height = len(strips) * HEIGHT + 18
    return svg.drawing(parts, NAMES + PLOT + NUMBERS, height, "One row per method", "strips")
