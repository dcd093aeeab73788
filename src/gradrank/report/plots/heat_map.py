"""Heat maps of the paired tests in pairwise.csv, one per metric."""

import math
from dataclasses import dataclass

from gradrank.evaluation.statistics import LEVEL
from gradrank.report.contents import ReportedDataset
from gradrank.report.tables.table import Row


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
    differing = [abs(row["difference"]) for row in rows if row["wilcoxon_holm"] < LEVEL]
    largest = max(differing, default=0.0) or 1.0
    cells: dict[tuple[str, str], dict] = {}
    for row in rows:
        first, second = row["model_a"], row["model_b"]
        cells[first, second] = _cell(row["difference"], row["wilcoxon_holm"], largest)
        cells[second, first] = _cell(-row["difference"], row["wilcoxon_holm"], largest)
    models = [model for model in dataset.ranked() if any(model in pair for pair in cells)]
    return Matrix(
        metric=metric,
        convention=rows[0]["convention"],
        models=models,
        cells=[[cells.get((first, second)) for second in models] for first in models],
        separated=len(differing),
        pairs=len(rows),
    )


def _cell(difference: float, p: float, largest: float) -> dict:
    if not p < LEVEL:
        return {"difference": difference, "class": "level", "mark": ""}
    side, mark = ("better", "▲") if difference > 0 else ("worse", "▼")
    shade = max(math.ceil(4 * abs(difference) / largest - 1e-9), 1)
    return {"difference": difference, "class": f"{side} h{shade}", "mark": mark}
