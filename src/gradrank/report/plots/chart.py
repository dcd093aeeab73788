"""A line chart of a few named series, for sweeps and the figures of the studies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report.plots import svg
from gradrank.report.plots.frame import Frame

WIDTH = 460
FRAME = Frame(left=46, right=450, top=22, bottom=240)
KEY_LINE = 16  # height of a series' line in the key


@dataclass(frozen=True)
class Series:
    """Points in order of x; half_widths: of an interval around each y, drawn as a bar."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half_widths: Sequence[float] | None = None
    points: bool = False  # mark each one: for measurements rather than curves


def line_chart(
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    alt: str,
    log_x: bool = False,
    labels: Sequence[str] | None = None,
) -> Markup:
    """An SVG that fits any width; series differ in colour and dashes. log_x: x > 0, ticks at the points.

    alt: what the drawing shows, in words. labels: what x = 0, 1, 2, ... stand for, where they are no numbers.
    """
    place = math.log10 if log_x else float
    xs = [place(x) for each in series for x in each.x]
    ends = [
        y + sign * half
        for each in series
        for y, half in zip(each.y, each.half_widths or [0.0] * len(each.y), strict=True)
        for sign in (-1, 1)
    ]
    across = svg.padded(xs, FRAME.left, FRAME.right, 0.02 if labels is None else 0.15)
    up = svg.padded(ends, FRAME.bottom, FRAME.top)
    key_top = FRAME.bottom + 44
    parts = FRAME.levels(up, up.ticks(6), y_title)
    parts += FRAME.feet(across, _places(series, across, log_x, labels), x_title)
    for number, each in enumerate(series):
        parts.append(_drawn(each, number, [across(place(x)) for x in each.x], up))
        parts.append(_key(each.name, number, key_top + number * KEY_LINE))
    height = key_top + len(series) * KEY_LINE
    return svg.drawing(parts, WIDTH, height, alt, "chart")


def _places(
    series: Sequence[Series], across: svg.Scale, log_x: bool, labels: Sequence[str] | None
) -> list[tuple[float, str]]:
    """What stands below the chart: labels, every x on a logarithmic axis, else round numbers."""
    if labels is not None:
        return list(enumerate(labels))
    if log_x:
        return [(math.log10(x), f"{x:,g}") for x in sorted({x for each in series for x in each.x})]
    return across.ticks(6)


def _drawn(series: Series, number: int, xs: Sequence[float], up: svg.Scale) -> Markup:
    style = f"series s{number % 5 + 1}"
    parts = [svg.line(xs, [up(y) for y in series.y], style)]
    for x, y, half in zip(xs, series.y, series.half_widths or (), strict=False):
        parts.append(svg.element("line", x1=x, x2=x, y1=up(y - half), y2=up(y + half), class_=f"bar {style}"))
    if series.points:
        parts += [
            svg.element("circle", cx=x, cy=up(y), r=2.6, class_=style)
            for x, y in zip(xs, series.y, strict=True)
        ]
    return Markup("").join(parts)


def _key(name: str, number: int, y: float) -> Markup:
    sample = svg.element(
        "line", x1=FRAME.left, x2=FRAME.left + 26, y1=y, y2=y, class_=f"series s{number % 5 + 1}"
    )
    return sample + svg.element("text", name, x=FRAME.left + 32, y=y + 3.5, class_="tick")
