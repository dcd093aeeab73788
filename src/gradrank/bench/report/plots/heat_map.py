"""Heat maps of the paired tests in pairwise.csv, one per metric."""

import math
from dataclasses import dataclass

from gradrank.bench.report.contents import ReportedDataset
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.significance.decision import Decision, decide_row

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
