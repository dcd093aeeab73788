"""SVG plots of a comparison: the difference of each method with its interval, and the differences per query."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.base.numbers import number
from gradrank.bench.diff.compare import MovedQueries
from gradrank.bench.diff.verdicts import MeanDifference
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.frame import Frame
from gradrank.bench.report.plots.strips import axis, bar, strip, vertical_line
from gradrank.measures.metrics import metric_label

WIDTH = 300
FRAME = Frame(left=42, right=292, top=8, bottom=116)
MOST_POINTS = 250


@dataclass(frozen=True)
class DifferenceStrip:
    """The row of one method and its drawing."""

    row: MeanDifference
    drawing: Markup


def differences(rows: Sequence[MeanDifference]) -> tuple[list[DifferenceStrip], Markup]:
    """Return one strip per method, and their common axis.

    A strip shows the difference as a line, its 95% interval as a bar, and zero as a line.
    """
    ends = [0.0] + [end for row in rows for end in (row.low, row.high, row.difference) if end == end]
    scale = svg.padded(ends, 0, 100)
    return [DifferenceStrip(row, _strip(scale, row)) for row in rows], axis(scale)


def _strip(scale: svg.Scale, row: MeanDifference) -> Markup:
    parts = [vertical_line(scale, 0.0, "zero")]
    label = f"{row.model}: {number(row.difference, '+.4f')}, {row.verdict}"
    if row.low == row.low:
        parts.append(bar(scale, row.low, row.high))
        label += f", 95% interval {number(row.low, '+.4f')} to {number(row.high, '+.4f')}"
    if row.difference == row.difference:
        parts.append(vertical_line(scale, row.difference, "mean", 3))
    return strip(scale, parts, label, f"strip {row.verdict.replace(' ', '-')}")


def queries(moved: MovedQueries) -> Markup:
    """Return the plot of the differences of all queries, from the largest gain to the largest loss."""
    count = len(moved.gaps)
    across = svg.Scale(0, max(count - 1, 1), FRAME.left, FRAME.right)
    up = svg.padded([0.0, *moved.gaps], FRAME.bottom, FRAME.top)
    parts = [*FRAME.y_axis(up, up.ticks(4)), FRAME.horizontal_line(up, 0.0, "zero")]
    points = svg.thin(count, MOST_POINTS)
    parts.append(svg.line([across(i) for i in points], [up(moved.gaps[i]) for i in points], "mean"))
    gained, lost = int((moved.gaps > 0).sum()), int((moved.gaps < 0).sum())
    words = f"{gained:,} queries gained, {count - gained - lost:,} are unchanged, {lost:,} lost"
    parts.append(svg.element("text", words, x=FRAME.left, y=FRAME.bottom + 16, class_="tick"))
    label = f"{moved.model}, {metric_label(moved.metric)}: {words}"
    return svg.drawing(parts, WIDTH, FRAME.bottom + 22, label, "moved")
