"""Plots with one row per feature, in which each method has a line of its own: importances and contributions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.base.numbers import number
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.strips import STEPS, bar, percent, strip, vertical_line

LINE, MARGIN = 12, 4  # height of the line of one method; margin above and below the lines of a row
NAMES, PLOT = 200, 480  # column widths in the drawing `stacked`
AXIS = 16
PERCENT_STEPS = 8  # the most intervals between the ticks of an axis of percentages


@dataclass(frozen=True)
class FeatureRow:
    """The row of one feature."""

    feature: str
    drawing: Markup


@dataclass(frozen=True)
class FeaturePlot:
    """The rows, the axis below them and the height of each row. methods: the methods, in the order of their lines."""

    methods: list[str]
    rows: list[FeatureRow]
    axis: Markup
    height: int

    def stacked(self, label: str) -> Markup:
        """Return the rows and a legend as one drawing, for a file. label: description of the drawing as text."""
        parts = []
        for index, row in enumerate(self.rows):
            y = index * self.height
            parts.append(svg.element("text", row.feature, x=0, y=y + self.height / 2 + 4, class_="name"))
            parts.append(svg.element("svg", row.drawing, x=NAMES, y=y, width=PLOT, height=self.height))
        bottom = len(self.rows) * self.height
        parts.append(svg.element("svg", self.axis, x=NAMES, y=bottom, width=PLOT, height=AXIS))
        for place, method in enumerate(self.methods):
            y = bottom + AXIS + (place + 1) * AXIS
            parts.append(svg.element("circle", cx=NAMES + 5, cy=y - 4, r=4, class_=f"series s{place + 1}"))
            parts.append(svg.element("text", method, x=NAMES + 16, y=y, class_="name"))
        return svg.drawing(parts, NAMES + PLOT, bottom + (len(self.methods) + 2) * AXIS, label, "strips")


@dataclass(frozen=True)
class Measured:
    """A value with the bounds of its interval; None if the interval is undefined."""

    value: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> list[float]:
        return [self.value] if self.low is None or self.high is None else [self.low, self.high]


def interval_rows(methods: Sequence[str], rows: dict[str, list[Measured]]) -> FeaturePlot:
    """Return a plot of dots with intervals.

    rows: dict from feature to one value per method, in the order of `methods`.
    """
    ends = [0.0, *(end for values in rows.values() for value in values for end in value.ends)]
    scale, height = svg.padded(ends, 0, 100, 0.04), _height(methods)
    drawings = []
    for feature, values in rows.items():
        parts = [vertical_line(scale, 0, "zero", height=height)]
        for place, value in enumerate(values):
            y, style = _middle(place), f"series s{place + 1}"
            if value.low is not None and value.high is not None:
                parts.append(bar(scale, value.low, value.high, f"bar {style}", y))
            title = svg.element("title", _described(methods[place], value))
            parts.append(svg.element("circle", title, cx=percent(scale, value.value), cy=y, r=3.5, class_=style))
        label = f"{feature}: " + "; ".join(map(_described, methods, values))
        drawings.append(FeatureRow(feature, strip(scale, parts, label, height=height)))
    return FeaturePlot([*methods], drawings, _axis(scale, scale.ticks(STEPS)), height)


def _described(method: str, value: Measured) -> str:
    interval = "" if value.low is None else f", 95% interval {number(value.low)} to {number(value.high)}"
    return f"{method} {number(value.value)}{interval}"


def signed_bars(methods: Sequence[str], rows: dict[str, list[float]]) -> FeaturePlot:
    """Return a plot of bars that start at zero, in the middle. The values are percentages.

    rows: dict from feature to one value per method, in the order of `methods`.
    """
    most = max((abs(value) for values in rows.values() for value in values), default=0.0) * 1.05 or 1.0
    scale, height = svg.Scale(-most, most, 0, 100), _height(methods)
    drawings = []
    for feature, values in rows.items():
        parts = [_signed_bar(scale, value, place) for place, value in enumerate(values)]
        texts = (f"{method} {number(value, '+.0f')}%" for method, value in zip(methods, values, strict=True))
        parts = [*parts, vertical_line(scale, 0, "zero", height=height)]
        label = f"{feature}: {'; '.join(texts)}"
        drawings.append(FeatureRow(feature, strip(scale, parts, label, height=height, steps=PERCENT_STEPS)))
    return FeaturePlot([*methods], drawings, _axis(scale, _percentages(scale)), height)


def _signed_bar(scale: svg.Scale, value: float, place: int) -> Markup:
    start, end = sorted((scale(0), scale(value)))
    edges = {"x": f"{start:.2f}%", "width": f"{end - start:.2f}%", "y": _middle(place) - 4, "height": 8}
    return svg.element("rect", **edges, class_=f"part s{place + 1}")


def _percentages(scale: svg.Scale) -> Iterator[tuple[float, str]]:
    for value, _ in scale.ticks(PERCENT_STEPS):
        yield value, f"{number(value, '+.0f')}%" if round(value, 6) else "0"


def _height(methods: Sequence[str]) -> int:
    return len(methods) * LINE + 2 * MARGIN


def _middle(place: int) -> float:
    return MARGIN + (place + 0.5) * LINE


def _axis(scale: svg.Scale, ticks: Iterator[tuple[float, str]] | Sequence[tuple[float, str]]) -> Markup:
    texts = [svg.element("text", text, x=percent(scale, value), y=12, class_="tick middle") for value, text in ticks]
    return svg.element("svg", Markup("").join(texts), width="100%", height=AXIS, aria_hidden="true", class_="strip")
