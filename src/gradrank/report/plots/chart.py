"""A line chart of a few named series, for sweeps and the figures of the studies."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from gradrank.report.plots import svg
from gradrank.report.plots.frame import Frame

WIDTH = 460
FRAME = Frame(left=46, right=450, top=22, bottom=240)
KEY_LINE = 16  # height of a series' line in the key
STYLES = 5  # colours, each with its dashes; more series than that have their names at their ends
END_LINE, END_NAMES = 14, 150  # the least height between two such names, and their width


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
    """An SVG that fits any width; series differ in colour and dashes, many of them by the names at their ends.

    log_x: x > 0, ticks at the points.

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
    many = len(series) > STYLES
    frame = FRAME._replace(bottom=max(FRAME.bottom, FRAME.top + len(series) * END_LINE)) if many else FRAME
    across = svg.padded(xs, frame.left, frame.right, 0.02 if labels is None else 0.15)
    up = svg.padded(ends, frame.bottom, frame.top)
    parts = frame.levels(up, up.ticks(6), y_title)
    parts += frame.feet(across, _places(series, across, log_x, labels), x_title)
    for number, each in enumerate(series):
        parts.append(_drawn(each, number, [across(place(x)) for x in each.x], up))
    key_top = frame.bottom + 44
    if many:
        return svg.drawing([*parts, *_end_names(series, up, frame)], WIDTH + END_NAMES, key_top, alt, "chart")
    parts += [_key(each.name, number, key_top + number * KEY_LINE) for number, each in enumerate(series)]
    return svg.drawing(parts, WIDTH, key_top + len(series) * KEY_LINE, alt, "chart")


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
    style = f"series s{number % STYLES + 1}"
    parts = [svg.line(xs, [up(y) for y in series.y], style)]
    for x, y, half in zip(xs, series.y, series.half_widths or (), strict=False):
        parts.append(svg.element("line", x1=x, x2=x, y1=up(y - half), y2=up(y + half), class_=f"bar {style}"))
    if series.points:
        parts += [svg.element("circle", cx=x, cy=up(y), r=2.6, class_=style) for x, y in zip(xs, series.y, strict=True)]
    return Markup("").join(parts)


def _end_names(series: Sequence[Series], up: svg.Scale, frame: Frame) -> Iterator[Markup]:
    """Each one's name to the right of its last point, with a line to it where there is no room beside it."""
    numbers = sorted(range(len(series)), key=lambda number: up(series[number].y[-1]))
    ends = [up(series[number].y[-1]) for number in numbers]
    for number, end, y in zip(numbers, ends, apart(ends, END_LINE, frame.top, frame.bottom), strict=True):
        style = f"bar series s{number % STYLES + 1}"
        yield svg.line([frame.right, frame.right + 12, frame.right + 18], [end, y, y], style)
        yield svg.element("text", series[number].name, x=frame.right + 22, y=y + 3.5, class_="tick")


def apart(wanted: Sequence[float], gap: float, first: float, last: float) -> list[float]:
    """Rising numbers, moved to both sides so that they are at least `gap` apart and between `first` and `last`."""
    above = accumulate(wanted, lambda previous, each: max(each, previous + gap))
    below = reversed([*accumulate(reversed(wanted), lambda previous, each: min(each, previous - gap))])
    least = (first + i * gap for i in range(len(wanted)))
    most = (last - i * gap for i in reversed(range(len(wanted))))
    return [min(max((a + b) / 2, low), high) for a, b, low, high in zip(above, below, least, most, strict=True)]


def _key(name: str, number: int, y: float) -> Markup:
    sample = svg.element("line", x1=FRAME.left, x2=FRAME.left + 26, y1=y, y2=y, class_=f"series s{number % STYLES + 1}")
    return sample + svg.element("text", name, x=FRAME.left + 32, y=y + 3.5, class_="tick")
