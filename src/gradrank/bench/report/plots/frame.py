"""The frame of a plot with axes: grid lines, tick labels and titles."""

from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from gradrank.bench.report.plots import svg


class Frame(NamedTuple):
    """The edges of the plotting area in drawing units. Tick labels are to the left of the area and below it."""

    left: float
    right: float
    top: float
    bottom: float

    def horizontal_line(self, up: svg.Scale, value: float, class_: str) -> Markup:
        """Return a horizontal line across the frame at a value of the scale `up`."""
        y = up(value)
        return svg.element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_=class_)

    def y_axis(self, up: svg.Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """Return a grid line and a label for each tick (value, text), and the title, which is above the frame."""
        parts = [svg.element("text", title, x=0, y=self.top - 12, class_="tick")] if title else []
        for value, text in ticks:
            parts.append(self.horizontal_line(up, value, "grid"))
            parts.append(svg.element("text", text, x=self.left - 4, y=up(value) + 3, class_="tick end"))
        return parts

    def x_axis(self, across: svg.Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """Return a label below the frame for each tick (value, text), and the title, which is below the labels."""
        parts = [
            svg.element("text", text, x=across(value), y=self.bottom + 13, class_="tick middle")
            for value, text in ticks
        ]
        if title:
            middle = (self.left + self.right) / 2
            parts.append(svg.element("text", title, x=middle, y=self.bottom + 28, class_="tick middle"))
        return parts
