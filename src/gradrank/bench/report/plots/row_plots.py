"""Plots with one row per method or feature: intervals, fold means, mean ranks, importances and contributions.

The plot of mean ranks has Nemenyi's critical difference (Demšar 2006). Two methods differ significantly if their bars
do not overlap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.base.text_tables import number
from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.svg import MIDDLE, STEPS, Strip, axis, bar, diamond, percent, strip, vertical_line
from gradrank.bench.report.standings import Standing, Standings, comparable_published
from gradrank.bench.report.tables.table import Row
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
        drawing = _interval_strip(scale, row, metric_label(standings.metric))
        groups.setdefault(row.family, []).append(Strip(row.model, row.mean, drawing))
    return groups


def _interval_strip(scale: svg.Scale, row: Standing, metric: str) -> Markup:
    half = row.half_width or 0.0
    parts = [bar(scale, row.mean - half, row.mean + half)] if half else []
    parts += [diamond(scale, entry) for entry in row.published]
    parts.append(vertical_line(scale, row.mean, "mean", 3))
    label = f"{row.model}: {metric} {row.mean:.4f}"
    label += f", 95% interval {row.mean - half:.4f} to {row.mean + half:.4f}" if half else ""
    label += "".join(f"; published {entry['published']:.4f}" for entry in row.published)
    title = svg.element("title", label)
    return strip(scale, [title, *parts], label)


@dataclass(frozen=True)
class Spread:
    """The plot of one metric. strips: one per method, best first. axis: common to all strips. folds: fold numbers."""

    metric: str
    folds: list[int]
    strips: list[Strip]
    axis: Markup


def spread(dataset: ReportedDataset, convention: str) -> Spread:
    """Return the plot of the headline metric.

    Dots are fold means, bars are 95% intervals, and diamonds are published values.
    """
    metric = dataset.headline
    main = {model: row for model, row in dataset.headline_rows().items() if row["mean"] is not None}
    folds: dict[str, list[Row]] = {model: [] for model in main}
    for row in dataset.tables["folds"]:
        if row["metric"] == metric and row["convention"] == convention:
            folds[row["model"]].append(row)
    published = comparable_published(dataset)
    ends = [value for row in main.values() for value in (row["mean"] - _half(row), row["mean"] + _half(row))]
    ends += [row["mean"] for rows in folds.values() for row in rows]
    ends += [row["published"] for rows in published.values() for row in rows]
    scale = svg.padded(ends, 0, 100, 0.04)
    strips = [
        Strip(model, main[model]["mean"], _spread_strip(scale, main[model], folds[model], published.get(model, ())))
        for model in dataset.ranked()
        if model in main
    ]
    numbers = sorted({row["fold"] for rows in folds.values() for row in rows})
    return Spread(metric, numbers, strips, axis(scale))


def _half(row: Row) -> float:
    return row["half_width"] or 0.0


def _spread_strip(scale: svg.Scale, row: Row, folds: Sequence[Row], published: Sequence[Row]) -> Markup:
    mean, half = row["mean"], _half(row)
    parts = [bar(scale, mean - half, mean + half)]
    for fold in folds:
        number = fold["fold"]
        title = svg.element("title", f"fold {number}: {fold['mean']:.4f}")
        at = percent(scale, fold["mean"])
        parts.append(svg.element("circle", title, cx=at, cy=MIDDLE, r=3.5, class_=f"dot f{number}"))
    parts += [diamond(scale, entry) for entry in published]
    parts.append(vertical_line(scale, mean, "mean", 3))
    label = f"mean {mean:.4f}, 95% interval {mean - half:.4f} to {mean + half:.4f}; folds "
    label += ", ".join(f"{fold['mean']:.4f}" for fold in folds)
    label += "".join(f"; published {entry['published']:.4f}" for entry in published)
    return strip(scale, parts, label)


@dataclass(frozen=True)
class Ranks:
    """The plot of one metric, best method first.

    p: p value of Friedman's test; its null hypothesis is that all methods have the same mean rank. level: the other
    methods that are not significantly worse than the best method.
    """

    metric: str
    convention: str
    critical_difference: float
    p: float
    strips: list[Strip]
    axis: Markup
    level: list[str]


def mean_ranks(dataset: ReportedDataset) -> Ranks | None:
    """Return the plot of the headline metric, or None if the mean ranks of this metric were not computed.

    A bar extends by half the critical difference to either side of the mean rank, so that the bars of two methods
    overlap if and only if their mean ranks differ by less than the critical difference. The usual plot connects methods
    with brackets, which are hard to read for 40 methods.
    """
    rows = [row for row in dataset.tables.get("ranks", []) if row["metric"] == dataset.headline]
    if not rows:
        return None
    critical, best = rows[0]["critical_difference"], rows[0]["rank"]
    ends = [row["rank"] + side * critical / 2 for row in rows for side in (-1, 1)]
    scale = svg.padded(ends, 0, 100, 0.03)
    strips = []
    for row in rows:
        rank, differs = row["rank"], row["rank"] - best > critical
        at = percent(scale, rank)
        parts = [
            vertical_line(scale, best + critical / 2, "edge"),  # the end of the best method's bar
            bar(scale, rank - critical / 2, rank + critical / 2, f"rank{' apart' if differs else ''}"),
            svg.element("circle", cx=at, cy=MIDDLE, r=4.0, class_=f"rank{' apart' if differs else ''}"),
        ]
        label = f"mean rank {rank:.2f}, {rank - critical / 2:.2f} to {rank + critical / 2:.2f}: "
        label += "significantly worse than the best" if differs else "not significantly worse than the best"
        strips.append(Strip(row["model"], rank, strip(scale, parts, label)))
    return Ranks(
        metric=dataset.headline,
        convention=rows[0]["convention"],
        critical_difference=critical,
        p=rows[0]["p"],
        strips=strips,
        axis=axis(scale),
        level=[row["model"] for row in rows[1:] if row["rank"] - best <= critical],
    )


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
