"""Strip plot of the fold means, the means with 95% intervals, and the published values of all methods."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.strips import MIDDLE, Strip, axis, bar, diamond, percent, strip, vertical_line
from gradrank.bench.report.standings import comparable_published
from gradrank.bench.report.tables.table import Row


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
        Strip(model, main[model]["mean"], _strip(scale, main[model], folds[model], published.get(model, ())))
        for model in dataset.ranked()
        if model in main
    ]
    numbers = sorted({row["fold"] for rows in folds.values() for row in rows})
    return Spread(metric, numbers, strips, axis(scale))


def _half(row: Row) -> float:
    return row["half_width"] or 0.0


def _strip(scale: svg.Scale, row: Row, folds: Sequence[Row], published: Sequence[Row]) -> Markup:
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
