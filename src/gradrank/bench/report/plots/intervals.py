"""Interval plot of one data set: the mean of each method with its 95% interval and published values, by family."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.strips import Strip, axis, bar, diamond, strip, vertical_line
from gradrank.bench.report.standings import Standing, Standings
from gradrank.measures.metrics import metric_label

MOST_SHOWN = 16  # methods outside the fold, if there are fewer families than this


@dataclass(frozen=True)
class IntervalPlot:
    """The plot. The keys of `shown` and `folded` are families, best first; the values are strips, best first.

    folded: the methods that the page folds away. level: methods that may be the best; empty without values per
    query. axis: common to all strips. has_published: True if the plot shows a published value.
    """

    metric: str
    shown: dict[str, list[Strip]]
    folded: dict[str, list[Strip]]
    level: set[str]
    axis: Markup
    has_published: bool

    @property
    def strips(self) -> list[Strip]:
        """Every strip, first those outside the fold."""
        return [strip for part in (self.shown, self.folded) for strips in part.values() for strip in strips]

    @property
    def ranked(self) -> list[Strip]:
        """Every strip, best first."""
        return sorted(self.strips, key=lambda strip: -strip.mean)

    @property
    def folded_methods(self) -> int:
        return sum(map(len, self.folded.values()))


def intervals(standings: Standings) -> IntervalPlot | None:
    """Return the plot, or None if no method has a mean.

    Outside the fold are the best method of each family, the baseline, and the highest of the methods that may be
    the best one, up to MOST_SHOWN methods in total.
    """
    rows = standings.rows
    if not rows:
        return None
    ends = [row.mean + side * (row.half_width or 0.0) for row in rows for side in (-1, 1)]
    ends += [entry["published"] for row in rows for entry in row.published]
    scale = svg.padded(ends, 0, 100, 0.04)
    first = {row.family: row for row in reversed(rows)}
    shown = {row.model for row in rows if row is first[row.family] or row.model == standings.baseline}
    others = [row.model for row in rows if row.model not in shown and not row.is_worse]
    shown.update(others[: max(MOST_SHOWN - len(shown), 0)])
    return IntervalPlot(
        standings.metric,
        _by_family([row for row in rows if row.model in shown], scale, standings),
        _by_family([row for row in rows if row.model not in shown], scale, standings),
        {row.model for row in rows if row.is_worse is False},
        axis(scale),
        any(row.published for row in rows),
    )


def _by_family(rows: Sequence[Standing], scale: svg.Scale, standings: Standings) -> dict[str, list[Strip]]:
    groups: dict[str, list[Strip]] = {}
    for row in rows:
        drawing = _strip(scale, row, metric_label(standings.metric))
        groups.setdefault(row.family, []).append(Strip(row.model, row.mean, drawing))
    return groups


def _strip(scale: svg.Scale, row: Standing, metric: str) -> Markup:
    half = row.half_width or 0.0
    parts = [bar(scale, row.mean - half, row.mean + half)] if half else []
    parts += [diamond(scale, entry) for entry in row.published]
    parts.append(vertical_line(scale, row.mean, "mean", 3))
    label = f"{row.model}: {metric} {row.mean:.4f}"
    label += f", 95% interval {row.mean - half:.4f} to {row.mean + half:.4f}" if half else ""
    label += "".join(f"; published {entry['published']:.4f}" for entry in row.published)
    title = svg.element("title", label)
    return strip(scale, [title, *parts], label)
