"""Strips of one row a method that share an axis: fold means, 95% intervals and published values."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradrank.report import svg
from gradrank.report.study import DataSet
from gradrank.tables import Row

HEIGHT = 22


@dataclass(frozen=True)
class Strip:
    """One method's row: its mean and drawing; positions are percentages, so it fits any width undistorted."""

    model: str
    mean: float
    drawing: Markup


@dataclass(frozen=True)
class Spread:
    metric: str
    folds: list[int]
    strips: list[Strip]
    axis: Markup


def spread(dataset: DataSet, convention: str) -> Spread:
    """Every method's fold means (dots), mean and 95% interval (bar) and published values (diamonds)."""
    metric = dataset.headline

    main = {
        row["model"]: row
        for row in dataset.tables["main"]
        if row["metric"] == metric and row["convention"] == convention and row["mean"] == row["mean"]
    }
    folds: dict[str, list[Row]] = {model: [] for model in main}
    for row in dataset.tables["folds"]:
        if row["metric"] == metric and row["convention"] == convention:
            folds[row["model"]].append(row)
    published: dict[str, list[Row]] = {model: [] for model in main}
    for row in dataset.tables["published"]:
        # A value of another convention has its place here only if that convention gives our method the same.
        if row["metric"] == metric and abs(row["ours"] - main[row["model"]]["mean"]) < 5e-5:
            published[row["model"]].append(row)
    ends = [value for row in main.values() for value in (row["mean"] - _half(row), row["mean"] + _half(row))]
    ends += [row["mean"] for rows in folds.values() for row in rows]
    ends += [row["published"] for rows in published.values() for row in rows]
    scale = svg.padded(ends, 0, 100, 0.04)
    strips = [
        Strip(model, main[model]["mean"], _strip(scale, main[model], folds[model], published[model]))
        for model in dataset.ranked()
        if model in main
    ]
    numbers = sorted({int(row["fold"]) for rows in folds.values() for row in rows})
    return Spread(metric, numbers, strips, _axis(scale))


def _half(row: Row) -> float:
    return row["half_width"] if row["half_width"] == row["half_width"] else 0.0


def _percent(scale: svg.Scale, value: float) -> str:
    return f"{scale(value):.2f}%"


def _strip(scale: svg.Scale, row: Row, folds: Sequence[Row], published: Sequence[Row]) -> Markup:
    middle, mean, half = HEIGHT / 2, row["mean"], _half(row)
    low, high = _percent(scale, mean - half), _percent(scale, mean + half)
    parts = [_grid(scale, HEIGHT)]
    parts.append(svg.element("line", x1=low, x2=high, y1=middle, y2=middle, class_="interval"))
    for fold in folds:
        number = int(fold["fold"])
        title = svg.element("title", f"fold {number}: {fold['mean']:.4f}")
        at = _percent(scale, fold["mean"])
        parts.append(svg.element("circle", title, cx=at, cy=middle, r=3.5, class_=f"dot f{number}"))
    for there in published:
        title = svg.element(
            "title", f"published: {there['published']:.4f} ({there['method']}, {there['source']})"
        )
        # A nested svg carries the percentage: a path has none.
        diamond = svg.element("path", title, d="M0 -5.5L5.5 0L0 5.5L-5.5 0Z", class_="published")
        at = _percent(scale, there["published"])
        parts.append(svg.element("svg", diamond, x=at, y=middle, overflow="visible"))
    at = _percent(scale, mean)
    parts.append(svg.element("line", x1=at, x2=at, y1=3, y2=HEIGHT - 3, class_="mean"))
    label = f"mean {mean:.4f}, 95% interval {mean - half:.4f} to {mean + half:.4f}; folds "
    label += ", ".join(f"{fold['mean']:.4f}" for fold in folds)
    label += "".join(f"; published {there['published']:.4f}" for there in published)
    return svg.element(
        "svg",
        Markup("").join(parts),
        width="100%",
        height=HEIGHT,
        role="img",
        aria_label=label,
        class_="strip",
    )


def _grid(scale: svg.Scale, height: float) -> Markup:
    at = [_percent(scale, value) for value, _ in scale.ticks(5)]
    return Markup("").join(svg.element("line", x1=x, x2=x, y1=0, y2=height, class_="grid") for x in at)


def _axis(scale: svg.Scale) -> Markup:
    texts = [
        svg.element("text", text, x=_percent(scale, value), y=12, class_="tick middle")
        for value, text in scale.ticks(5)
    ]
    return svg.element(
        "svg", Markup("").join(texts), width="100%", height=16, aria_hidden="true", class_="strip"
    )
