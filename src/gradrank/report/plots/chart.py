"""A line chart of a few named series, for sweeps and the figures of the studies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report.plots import svg

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 460, 46, 450, 22, 240
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
    across = svg.padded(xs, LEFT, RIGHT, 0.02 if labels is None else 0.15)
    up = svg.padded(ends, BOTTOM, TOP)
    key_top = BOTTOM + 44
    parts = [_y_axis(up, y_title), _x_axis(series, across, x_title, log_x, labels)]
    for number, each in enumerate(series):
        parts.append(_drawn(each, number, [across(place(x)) for x in each.x], up))
        parts.append(_key(each.name, number, key_top + number * KEY_LINE))
    height = key_top + len(series) * KEY_LINE
    return svg.drawing(parts, WIDTH, height, alt, "chart")


def _y_axis(up: svg.Scale, title: str) -> Markup:
    parts = [svg.element("text", title, x=0, y=TOP - 12, class_="tick")]
    for value, text in up.ticks(6):
        parts.append(svg.element("line", x1=LEFT, x2=RIGHT, y1=up(value), y2=up(value), class_="grid"))
        parts.append(svg.element("text", text, x=LEFT - 4, y=up(value) + 3, class_="tick end"))
    return Markup("").join(parts)


def _x_axis(
    series: Sequence[Series], across: svg.Scale, title: str, log_x: bool, labels: Sequence[str] | None
) -> Markup:
    ticks = across.ticks(6)
    if labels is not None:
        ticks = list(enumerate(labels))
    elif log_x:
        ticks = [(math.log10(x), f"{x:,g}") for x in sorted({x for each in series for x in each.x})]
    parts = [
        svg.element("text", text, x=across(value), y=BOTTOM + 13, class_="tick middle")
        for value, text in ticks
    ]
    parts.append(svg.element("text", title, x=(LEFT + RIGHT) / 2, y=BOTTOM + 28, class_="tick middle"))
    return Markup("").join(parts)


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
    sample = svg.element("line", x1=LEFT, x2=LEFT + 26, y1=y, y2=y, class_=f"series s{number % 5 + 1}")
    return sample + svg.element("text", name, x=LEFT + 32, y=y + 3.5, class_="tick")
