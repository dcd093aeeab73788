"""Plots of paired tests: heat maps of pairwise.csv, one per metric, and the comparison of two methods.

The comparison shows the differences per query and contains the data for the page's script.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from gradrank.base.text_tables import is_missing, number
from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.plots import svg
from gradrank.bench.report.plots.svg import Frame
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.significance import Decision, decide_row

OPPOSITE: dict[Decision, Decision] = {"better": "worse", "worse": "better", "no evidence": "no evidence"}
MARKS = {"better": "▲", "worse": "▼"}


@dataclass(frozen=True)
class Matrix:
    """The heat map of one metric.

    models: methods, best first. cells[i][j]: the comparison of method i with method j, with the keys `difference`,
    `class` and `mark`; None on the diagonal. separated: number of pairs of methods that differ significantly. pairs:
    number of all pairs.

    The CSS class of a cell is `level` if the two methods do not differ significantly. Otherwise, the class is `better`
    or `worse`, followed by a shade from `h1` to `h4`. A cell has shade `h1` if its difference is at most a quarter of
    the largest significant difference.
    """

    metric: str
    convention: str
    models: list[str]
    cells: list[list[dict | None]]
    separated: int
    pairs: int


def matrices(dataset: ReportedDataset) -> list[Matrix]:
    """Return one Matrix per tested metric."""
    by_metric: dict[str, list[Row]] = {}
    for row in dataset.tables.get("pairwise", []):
        by_metric.setdefault(row["metric"], []).append(row)
    return [_matrix(dataset, metric, rows) for metric, rows in by_metric.items()]


def _matrix(dataset: ReportedDataset, metric: str, rows: list[Row]) -> Matrix:
    decisions: list[Decision] = [decide_row(row) for row in rows]
    differing = [abs(row["difference"]) for row, found in zip(rows, decisions, strict=True) if found != "no evidence"]
    largest = max(differing, default=0.0) or 1.0
    cells: dict[tuple[str, str], dict] = {}
    for row, found in zip(rows, decisions, strict=True):
        first, second = row["model_a"], row["model_b"]
        cells[first, second] = _cell(row["difference"], found, largest)
        cells[second, first] = _cell(-row["difference"], OPPOSITE[found], largest)
    models = [model for model in dataset.ranked() if any(model in pair for pair in cells)]
    return Matrix(
        metric=metric,
        convention=rows[0]["convention"],
        models=models,
        cells=[[cells.get((first, second)) for second in models] for first in models],
        separated=len(differing),
        pairs=len(rows),
    )


def _cell(difference: float, found: Decision, largest: float) -> dict:
    if found == "no evidence":
        return {"difference": difference, "class": "level", "mark": ""}
    shade = max(math.ceil(4 * abs(difference) / largest - 1e-9), 1)
    return {"difference": difference, "class": f"{found} h{shade}", "mark": MARKS[found]}


WIDTH = 360
FRAME = Frame(left=34, right=350, top=14, bottom=224)  # the same as in two_methods.js
STEP = 500  # the axis ends at a multiple of it, in ten-thousandths
MOST_POINTS = 240  # maximum per polygon; more points are indistinguishable at this width
MOST_VALUES = 200_000  # maximum stored in the page for all methods together, about 1 MB
UNDEFINED = -1  # value of a query that the convention excludes from the mean


@dataclass(frozen=True)
class TwoMethods:
    """The comparison of the two methods in `chosen`. tests: results of the paired tests; the keys are metrics.

    data: names, values and tests of all methods, from which two_methods.js draws the comparison of any other pair.
    every: step between the queries in `data`; 1 if `data` contains every query.
    """

    models: list[str]
    chosen: tuple[str, str]
    metric: str
    every: int
    data: dict[str, Any]
    drawing: Markup
    tests: dict[str, list[float | None]]


def two_methods(dataset: ReportedDataset) -> TwoMethods | None:
    """Compare the two best methods. Return None if fewer than two methods have values per query."""
    models = [model for model in dataset.ranked() if model in dataset.queries]
    if len(models) < 2:
        return None
    queries = len(dataset.queries[models[0]])
    every = math.ceil(queries / max(MOST_VALUES // len(models), 1))
    values = [_in_ten_thousandths(dataset.queries[model][::every]) for model in models]
    tests = paired_tests(dataset.tables.get("pairwise", []), models)
    return TwoMethods(
        models=models,
        chosen=(models[0], models[1]),
        metric=dataset.headline,
        every=every,
        data={"models": models, "values": values, "tests": tests},
        drawing=difference_plot(models[0], models[1], values[0], values[1]),
        tests={metric: by_pair["0,1"] for metric, by_pair in tests.items() if "0,1" in by_pair},
    )


def _in_ten_thousandths(values: np.ndarray) -> list[int]:
    """Return values in ten-thousandths, as integers, because this is the shortest form of four decimals in JSON."""
    return np.where(np.isnan(values), UNDEFINED, np.round(values * 1e4)).astype(int).tolist()


def paired_tests(rows: Iterable[Row], models: Sequence[str]) -> dict[str, dict[str, list[float | None]]]:
    """Return [difference, low, high, wins, ties, losses, p, p] for each metric and each pair of methods.

    The outer keys are metrics. The inner keys are texts `i,j` of two indices in `models`, with i < j. The first p value
    is of Wilcoxon's test, the second of Student's test, both Holm-corrected. None stands for an undefined value. rows:
    rows of the table pairwise.
    """
    index = {model: i for i, model in enumerate(models)}
    tests: dict[str, dict[str, list[float | None]]] = {}
    for row in rows:
        i, j = index.get(row["model_a"]), index.get(row["model_b"])
        if i is None or j is None:
            continue
        gap = [row["difference"], row["low"], row["high"]]
        counts = [row[key] for key in ("wins", "ties", "losses")]
        if i > j:
            i, j, gap, counts = j, i, [-gap[0], -gap[2], -gap[1]], counts[::-1]
        p = [row["wilcoxon_holm"], row["t_holm"]]
        # Adding 0.0 turns -0.0 into 0.0, so that no minus sign is printed.
        numbers = [None if is_missing(x) else round(x, 4) + 0.0 for x in gap + p]
        tests.setdefault(row["metric"], {})[f"{i},{j}"] = [*numbers[:3], *counts, *numbers[3:]]
    return tests


def difference_plot(one: str, two: str, first: list[int], second: list[int]) -> Markup:
    """Return a plot of the differences per query, in descending order.

    One polygon shows the queries on which the first method is better. The other polygon shows the queries on which the
    first method is worse. one, two: names of the methods. first, second: their values in ten-thousandths. The axis
    ends at the largest difference, rounded up to a multiple of STEP. For other pairs, two_methods.js redraws the
    polygons and the labels of the axis with the same arithmetic.
    """
    gaps = sorted(
        (a - b for a, b in zip(first, second, strict=True) if a != UNDEFINED and b != UNDEFINED), reverse=True
    )
    across = svg.Scale(0, max(len(gaps) - 1, 1), FRAME.left, FRAME.right)
    limit = STEP * max(math.ceil(max(map(abs, gaps), default=0) / STEP), 1)
    up = svg.Scale(-limit, limit, FRAME.bottom, FRAME.top)
    kept = svg.thin(len(gaps), MOST_POINTS)
    xs = [across(i) for i in kept]
    parts = FRAME.y_axis(up, [(half * limit / 2, _tick(half * limit / 2)) for half in (-2, -1, 0, 1, 2)])
    middle = (FRAME.left + FRAME.right) / 2
    words = "queries, by difference"
    parts.append(svg.element("text", words, x=middle, y=FRAME.bottom + 14, class_="tick middle"))
    for class_, sign in (("wins", 1), ("losses", -1)):
        ys = [up(sign * max(sign * gaps[i], 0)) for i in kept]
        points = [(FRAME.left, up(0)), *zip(xs, ys, strict=True), (FRAME.right, up(0))]
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(svg.element("polygon", points=text, class_=class_))
    parts.append(FRAME.horizontal_line(up, 0, "zero"))
    wins, losses = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    label = f"Difference on each of {len(gaps)} queries: {one} is better on {wins}, {two} on {losses}"
    return svg.drawing(parts, WIDTH, FRAME.bottom + 32, label, "difference")


def _tick(gap: float) -> str:
    """Return the label of a tick at a difference in ten-thousandths."""
    return number(gap / 1e4, "+.3f") if gap else "0"
