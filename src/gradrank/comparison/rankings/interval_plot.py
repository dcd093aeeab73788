"""A plot of differences with their intervals, as SVG without scripts, for notebooks and HTML pages."""

import math
from collections.abc import Sequence
from html import escape

from gradrank.base.text_tables import number

LINE, PLOT, LETTER, MARGIN = 22, 360, 7, 12  # pixels: height of a line, width of the plot, of a letter, of a margin


def interval_plot(names: Sequence[str], intervals: Sequence[tuple[float, float, float]]) -> str:
    """Return an SVG image with one line per name: a dot at the difference and a bar over its interval.

    intervals: difference, low and high per name, nan if missing. A difference without an interval has a dot only, and a
    missing difference has neither. A vertical line is at 0.
    """
    found = [value for row in intervals for value in row if not math.isnan(value)]
    low, high = min([0.0, *found]), max([0.0, *found])
    text = MARGIN + LETTER * max(map(len, names), default=0)
    scale = PLOT / ((high - low) or 1.0)
    width, height = text + PLOT + 3 * MARGIN, LINE * (len(names) + 1) + MARGIN

    def x(value: float) -> float:
        return round(text + MARGIN + (value - low) * scale, 1)

    bottom = LINE * len(names) + MARGIN
    parts = [f'<line x1="{x(0.0)}" y1="0" x2="{x(0.0)}" y2="{bottom}" stroke="#999"/>']
    for place, (name, (mean, lower, upper)) in enumerate(zip(names, intervals, strict=True)):
        y = LINE * place + MARGIN
        parts.append(f'<text x="{text}" y="{y + 4}" text-anchor="end">{escape(" ".join(name.split()))}</text>')
        if not math.isnan(lower + upper):
            parts.append(f'<line x1="{x(lower)}" y1="{y}" x2="{x(upper)}" y2="{y}" stroke="#236" stroke-width="2"/>')
        if not math.isnan(mean):
            parts.append(f'<circle cx="{x(mean)}" cy="{y}" r="4" fill="#236"/>')
    for value in sorted({low, 0.0, high}):
        parts.append(f'<text x="{x(value)}" y="{bottom + 14}" text-anchor="middle">{number(value, "+.3f")}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + MARGIN}" font-size="12" '
        f'font-family="sans-serif" role="img" aria-label="Differences with 95% intervals">{"".join(parts)}</svg>'
    )
