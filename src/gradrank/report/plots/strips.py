"""What plots of one row a method share: positions in percent, so that a row fits any width undistorted."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report.plots import svg

HEIGHT = 22
MIDDLE = HEIGHT / 2


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
    return svg.element(
        "svg", drawing, width="100%", height=HEIGHT, role="img", aria_label=label, class_=class_
    )


def upright(scale: svg.Scale, value: float, class_: str, margin: int = 0) -> Markup:
    """A line across the row at a value, but for the margin above and below."""
    at = percent(scale, value)
    return svg.element("line", x1=at, x2=at, y1=margin, y2=HEIGHT - margin, class_=class_)


def bar(scale: svg.Scale, low: float, high: float, class_: str = "interval") -> Markup:
    return svg.element(
        "line", x1=percent(scale, low), x2=percent(scale, high), y1=MIDDLE, y2=MIDDLE, class_=class_
    )


def axis(scale: svg.Scale) -> Markup:
    """The numbers below the rows."""
    texts = [
        svg.element("text", text, x=percent(scale, value), y=12, class_="tick middle")
        for value, text in scale.ticks(5)
    ]
    return svg.element(
        "svg", Markup("").join(texts), width="100%", height=16, aria_hidden="true", class_="strip"
    )
