"""The plot of value against processor time of one collection, with the Pareto front."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from gradrank.base.numbers import number
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.chart import FRAME, KEY_LINE, WIDTH


def front_plot(
    values: Mapping[tuple[str, str], tuple[float, float]], on_front: Sequence[tuple[str, str]], y_title: str, alt: str
) -> Markup:
    """Return a drawing with one dot per combination of a scorer and a loss, on a logarithmic axis of seconds.

    A line connects the combinations on the front. They are numbered, and named below the plot. values: value and
    positive seconds of each combination. on_front: those on the front, fastest first. alt: description as text.
    """
    across = svg.padded([math.log10(seconds) for _, seconds in values.values()], FRAME.left, FRAME.right)
    up = svg.padded([value for value, _ in values.values()], FRAME.bottom, FRAME.top)
    places = {name: (across(math.log10(seconds)), up(value)) for name, (value, seconds) in values.items()}
    parts = FRAME.y_axis(up, up.ticks(6), y_title)
    parts += FRAME.x_axis(across, _ticks(across), "processor seconds per training")
    parts += [
        svg.element("circle", cx=x, cy=y, r=2.6, class_="other")
        for name, (x, y) in places.items()
        if name not in on_front
    ]
    front = [places[name] for name in on_front]
    parts.append(svg.line([x for x, _ in front], [y for _, y in front], "series s1"))
    key = FRAME.bottom + 48
    for place, (name, (x, y)) in enumerate(zip(on_front, front, strict=True), start=1):
        parts.append(svg.element("circle", cx=x, cy=y, r=3.2, class_="s1"))
        parts.append(svg.element("text", place, x=x - 5, y=y - 5, class_="tick value end"))
        text = f"{place}  {name[0]} with {name[1]}: {number(values[name][0])}, {number(values[name][1], '.2f')} s"
        parts.append(svg.element("text", text, x=FRAME.left, y=key + (place - 1) * KEY_LINE, class_="tick"))
    return svg.drawing(parts, WIDTH, key + len(front) * KEY_LINE, alt, "chart")


def _ticks(across: svg.Scale) -> list[tuple[float, str]]:
    """Return ticks at 1, 2 and 5 times the powers of ten in a scale of decimal logarithms."""
    powers = range(math.floor(across.low), math.ceil(across.high) + 1)
    seconds = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return [(math.log10(x), f"{x:g}") for x in seconds if across.low <= math.log10(x) <= across.high]
