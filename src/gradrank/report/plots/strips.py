"""What plots of one row a method share: positions in percent, so that a row fits any width undistorted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report.plots import svg
from gradrank.report.tables.numbers import number

HEIGHT = 22
MIDDLE = HEIGHT / 2
NAMES, PLOT, NUMBERS = 200, 420, 60  # widths of the columns, where all rows are one drawing


@dataclass(frozen=True)
class Strip:
    """One method's row: its value and drawing."""

    model: str
    mean: float
    drawing: Markup


def percent(scale: svg.Scale, value: float) -> str:
    """A place on a scale of 0 to 100."""
    return f"{scale(value):.2f}%"


def strip(scale: svg.Scale, parts: Iterable[Markup], label: str, class_: str = "strip") -> Markup:
    """One row: `parts` over the grid."""
    grid = [upright(scale, value, "grid") for value, _ in scale.ticks(5)]
    drawing = Markup("").join([*grid, *parts])
    return svg.element("svg", drawing, width="100%", height=HEIGHT, role="img", aria_label=label, class_=class_)


def upright(scale: svg.Scale, value: float, class_: str, margin: int = 0) -> Markup:
    """A line across the row at a value, but for the margin above and below."""
    at = percent(scale, value)
    return svg.element("line", x1=at, x2=at, y1=margin, y2=HEIGHT - margin, class_=class_)


def bar(scale: svg.Scale, low: float, high: float, class_: str = "interval") -> Markup:
    return svg.element("line", x1=percent(scale, low), x2=percent(scale, high), y1=MIDDLE, y2=MIDDLE, class_=class_)


def axis(scale: svg.Scale) -> Markup:
    """The numbers below the rows."""
    texts = [
        svg.element("text", text, x=percent(scale, value), y=12, class_="tick middle") for value, text in scale.ticks(5)
    ]
    return svg.element("svg", Markup("").join(texts), width="100%", height=16, aria_hidden="true", class_="strip")


def stacked(strips: Sequence[Strip], below: Markup, form: str) -> Markup:
    """All rows as one drawing, each with its method's name and mean in this form; `below` is their axis."""
    parts = []
    for row, each in enumerate(strips):
        y = row * HEIGHT
        parts.append(svg.element("text", each.model, x=0, y=y + MIDDLE + 4, class_="name"))
        parts.append(svg.element("svg", each.drawing, x=NAMES, y=y, width=PLOT, height=HEIGHT))
        place = {"x": NAMES + PLOT + NUMBERS, "y": y + MIDDLE + 4}
        parts.append(svg.element("text", number(each.mean, form), **place, class_="name end"))
    parts.append(svg.element("svg", below, x=NAMES, y=len(strips) * HEIGHT, width=PLOT, height=16))
    height = len(strips) * HEIGHT + 18
    return svg.drawing(parts, NAMES + PLOT + NUMBERS, height, "A row a method", "strips")
