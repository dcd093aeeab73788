"""Any two methods: the difference of each query, the paired tests, and what the page's script needs for them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from gradrank.report.contents import ReportedDataset
from gradrank.report.plots import svg
from gradrank.report.plots.frame import Frame
from gradrank.report.tables.numbers import missing, number

WIDTH = 360
FRAME = Frame(left=34, right=350, top=14, bottom=224)  # and in two_methods.js
TENTHS = (-10, -5, 0, 5, 10)  # of the levels
MOST_POINTS = 240  # along the queries: more cannot be seen
MOST_VALUES = 200_000  # in the page, of all methods together: about a megabyte
UNDEFINED = -1  # where the convention drops a query


@dataclass(frozen=True)
class TwoMethods:
    """`data`: what two_methods.js draws any other pair from; `drawing` and `tests`: those of `chosen`."""

    models: list[str]
    chosen: tuple[str, str]
    metric: str
    every: int  # the data hold each `every`-th query
    data: dict[str, Any]
    drawing: Markup
    tests: dict[str, list[float]]


def two_methods(dataset: ReportedDataset) -> TwoMethods | None:
    """The two best methods first; None for a single one, or where the queries' values are not here."""
    models = [model for model in dataset.ranked() if model in dataset.queries]
    if len(models) < 2:
        return None
    queries = len(dataset.queries[models[0]])
    every = math.ceil(queries / max(MOST_VALUES // len(models), 1))
    values = [_in_ten_thousandths(dataset.queries[model][::every]) for model in models]
    tests = paired_tests(dataset, models)
    return TwoMethods(
        models=models,
        chosen=(models[0], models[1]),
        metric=dataset.headline,
        every=every,
        data={"models": models, "values": values, "tests": tests},
        drawing=difference_plot(models[0], models[1], values[0], values[1]),
        tests={metric: found["0,1"] for metric, found in tests.items() if "0,1" in found},
    )


def _in_ten_thousandths(values: np.ndarray) -> list[int]:
    """Four digits as integers: the shortest form in JSON."""
    return np.where(np.isnan(values), UNDEFINED, np.round(values * 1e4)).astype(int).tolist()


def paired_tests(dataset: ReportedDataset, models: list[str]) -> dict[str, dict[str, list[float]]]:
    """By metric and `i,j` (places in `models`, i < j): difference, low, high, wins, ties, losses, p, p.

    The p values are Wilcoxon's and Student's, both Holm-corrected.
    """
    place = {model: i for i, model in enumerate(models)}
    found: dict[str, dict[str, list[float]]] = {}
    for row in dataset.tables.get("pairwise", []):
        i, j = place.get(row["model_a"]), place.get(row["model_b"])
        if i is None or j is None:
            continue
        gap = [row["difference"], row["low"], row["high"]]
        counts = [row[key] for key in ("wins", "ties", "losses")]
        if i > j:
            i, j, gap, counts = j, i, [-gap[0], -gap[2], -gap[1]], counts[::-1]
        p = [row["wilcoxon_holm"], row["t_holm"]]
        # 0.0 is added since -0.0 would show its sign.
        numbers = [None if missing(x) else round(x, 4) + 0.0 for x in gap + p]
        found.setdefault(row["metric"], {})[f"{i},{j}"] = [*numbers[:3], *counts, *numbers[3:]]
    return found


def difference_plot(one: str, two: str, first: list[int], second: list[int]) -> Markup:
    """The queries by their difference, first minus second in ten thousandths: what each wins, and loses.

    two_methods.js draws other pairs into the two polygons, by the same arithmetic.
    """
    gaps = sorted(
        (a - b for a, b in zip(first, second, strict=True) if a != UNDEFINED and b != UNDEFINED), reverse=True
    )
    across = svg.Scale(0, max(len(gaps) - 1, 1), FRAME.left, FRAME.right)
    up = svg.Scale(-10_000, 10_000, FRAME.bottom, FRAME.top)
    kept = svg.thin(len(gaps), MOST_POINTS)
    xs = [across(i) for i in kept]
    parts = FRAME.levels(up, [(1000 * tenth, number(tenth / 10, "+.1f") if tenth else "0") for tenth in TENTHS])
    middle = (FRAME.left + FRAME.right) / 2
    words = "queries, by difference"
    parts.append(svg.element("text", words, x=middle, y=FRAME.bottom + 14, class_="tick middle"))
    for class_, sign in (("wins", 1), ("losses", -1)):
        ys = [up(sign * max(sign * gaps[i], 0)) for i in kept]
        points = [(FRAME.left, up(0)), *zip(xs, ys, strict=True), (FRAME.right, up(0))]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(svg.element("polygon", points=text, class_=class_))
    parts.append(FRAME.level(up, 0, "zero"))
    wins, losses = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    label = f"Difference on each of {len(gaps)} queries: {one} is better on {wins}, {two} on {losses}"
    return svg.drawing(parts, WIDTH, FRAME.bottom + 32, label, "difference")
