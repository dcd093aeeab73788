"""The frame of a drawing with axes: levels across it with their numbers, the numbers below it, titles."""

from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from gradrank.report.plots import svg


class Frame(NamedTuple):
    """The edges on paper of what is drawn; numbers stand to the left of it and below."""

    left: float
    right: float
    top: float
    bottom: float

    def level(self, up: svg.Scale, value: float, class_: str) -> Markup:
        """A line across at a value."""
        y = up(value)
        return svg.element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_=class_)

    def levels(self, up: svg.Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """The grid: a line at each (value, text), its text to the left; the title stands above."""
        parts = [svg.element("text", title, x=0, y=self.top - 12, class_="tick")] if title else []
        for value, text in ticks:
            parts.append(self.level(up, value, "grid"))
            parts.append(svg.element("text", text, x=self.left - 4, y=up(value) + 3, class_="tick end"))
        return parts

    def feet(self, across: svg.Scale, ticks: Iterable[tuple[float, str]], title: str = "") -> list[Markup]:
        """The text of each (value, text) below the frame, and the title below them."""
        parts = [
            svg.element("text", text, x=across(value), y=self.bottom + 13, class_="tick middle")
            for value, text in ticks
        ]
        if title:
            middle = (self.left + self.right) / 2
            parts.append(svg.element("text", title, x=middle, y=self.bottom + 28, class_="tick middle"))
        return parts
