"""Heat maps of the paired tests in pairwise.csv, one per metric."""

import math
from dataclasses import dataclass

from gradrank.evaluation.statistics import LEVEL
from gradrank.report.contents import ReportedDataset
from gradrank.report.tables.table import Row


@dataclass(frozen=True)
class Matrix:
    """The heat map of one metric.

    models: best first. cells[i][j]: method i compared with method j; None on the diagonal.

    The class of a cell is `level` if the methods do not differ significantly. Otherwise it is `better` or `worse` and
    the shade, from `h1` (at most a quarter of the largest significant difference) to `h4`. separated: number of pairs
    that differ significantly.
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
