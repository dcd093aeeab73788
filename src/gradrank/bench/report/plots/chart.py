"""Line charts of named series, for sweeps and the figures of the studies."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.svg import Frame

WIDTH = 460
FRAME = Frame(left=46, right=450, top=22, bottom=240)
KEY_LINE = 16  # height of one line of the legend
STYLES = 5  # number of line styles; if there are more series, labels at the line ends replace the legend
END_LINE, END_NAMES = 14, 150  # minimum vertical distance between two end labels; width of the labels


@dataclass(frozen=True)
class Series:
    """A series of points, sorted by x.

    half_widths: half the width of the interval around each y; the interval is drawn as a bar. points: if True, each
    point is marked with a dot. Dots are meant for measurements rather than curves.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half_widths: Sequence[float] | None = None
    points: bool = False


def line_chart(
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    alt: str,
    log_x: bool = False,
    labels: Sequence[str] | None = None,
) -> Markup:
    """Return a line chart as SVG that fits any width.

    Series differ in colour and dash pattern. Up to STYLES series are named in a legend below the chart. If there are
    more, each name is at the right end of its line.

    alt: description of the chart as text. log_x: use a logarithmic axis with ticks at the points; every x must be
    positive. labels: tick labels of x = 0, 1, 2, ... for values that are not numbers.
    """
    to_axis = math.log10 if log_x else float
    xs = [to_axis(x) for line in series for x in line.x]
    ends = [
        y + sign * half
        for line in series
        for y, half in zip(line.y, line.half_widths or [0.0] * len(line.y), strict=True)
        for sign in (-1, 1)
    ]
    many = len(series) > STYLES
    frame = FRAME._replace(bottom=max(FRAME.bottom, FRAME.top + len(series) * END_LINE)) if many else FRAME
    across = svg.padded(xs, frame.left, frame.right, 0.02 if labels is None else 0.15)
    up = svg.padded(ends, frame.bottom, frame.top)
    parts = frame.y_axis(up, up.ticks(6), y_title)
    parts += frame.x_axis(across, _x_ticks(series, across, log_x, labels), x_title)
    for number, line in enumerate(series):
        parts.append(_draw_series(line, number, [across(to_axis(x)) for x in line.x], up))
    key_top = frame.bottom + 44
    if many:
        return svg.drawing([*parts, *_end_names(series, up, frame)], WIDTH + END_NAMES, key_top, alt, "chart")
    parts += [_key(line.name, number, key_top + number * KEY_LINE) for number, line in enumerate(series)]
    return svg.drawing(parts, WIDTH, key_top + len(series) * KEY_LINE, alt, "chart")


def _x_ticks(
    series: Sequence[Series], across: svg.Scale, log_x: bool, labels: Sequence[str] | None
) -> list[tuple[float, str]]:
    """Return the (position, text) ticks of the x axis.

    The texts are the labels if given. Otherwise, a logarithmic axis has a tick at every x, and a linear axis has ticks
    at round numbers.
    """
    if labels is not None:
        return list(enumerate(labels))
    if log_x:
        return [(math.log10(x), f"{x:,g}") for x in sorted({x for line in series for x in line.x})]
    return across.ticks(6)


def _draw_series(series: Series, number: int, xs: Sequence[float], up: svg.Scale) -> Markup:
    style = f"series s{number % STYLES + 1}"
    parts = [svg.line(xs, [up(y) for y in series.y], style)]
    for x, y, half in zip(xs, series.y, series.half_widths or (), strict=False):
        parts.append(svg.element("line", x1=x, x2=x, y1=up(y - half), y2=up(y + half), class_=f"bar {style}"))
    if series.points:
        parts += [svg.element("circle", cx=x, cy=up(y), r=2.6, class_=style) for x, y in zip(xs, series.y, strict=True)]
    return Markup("").join(parts)


def _end_names(series: Sequence[Series], up: svg.Scale, frame: Frame) -> Iterator[Markup]:
    """Yield the name of each series to the right of its last point, and a line from that point to the name."""
    numbers = sorted(range(len(series)), key=lambda number: up(series[number].y[-1]))
    ends = [up(series[number].y[-1]) for number in numbers]
    for number, end, y in zip(numbers, ends, apart(ends, END_LINE, frame.top, frame.bottom), strict=True):
        style = f"bar series s{number % STYLES + 1}"
        yield svg.line([frame.right, frame.right + 12, frame.right + 18], [end, y, y], style)
        yield svg.element("text", series[number].name, x=frame.right + 22, y=y + 3.5, class_="tick")


def apart(wanted: Sequence[float], gap: float, first: float, last: float) -> list[float]:
    """Return the sorted numbers of `wanted`, shifted to be at least `gap` apart and between `first` and `last`."""
    above = accumulate(wanted, lambda previous, value: max(value, previous + gap))
    below = reversed([*accumulate(reversed(wanted), lambda previous, value: min(value, previous - gap))])
    least = (first + i * gap for i in range(len(wanted)))
    most = (last - i * gap for i in reversed(range(len(wanted))))
    return [min(max((a + b) / 2, low), high) for a, b, low, high in zip(above, below, least, most, strict=True)]


def _key(name: str, number: int, y: float) -> Markup:
    sample = svg.element("line", x1=FRAME.left, x2=FRAME.left + 26, y1=y, y2=y, class_=f"series s{number % STYLES + 1}")
    return sample + svg.element("text", name, x=FRAME.left + 32, y=y + 3.5, class_="tick")
