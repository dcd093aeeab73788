"""Which methods differ: a heat map a metric from the paired tests of pairwise.csv."""

import math
from dataclasses import dataclass

from gradrank.evaluation.statistics import LEVEL
from gradrank.report.contents import ReportedDataset
from gradrank.report.tables.table import Row


@dataclass(frozen=True)
class Matrix:
    """`cells[i][j]`: method i against method j, best first; None on the diagonal.

    A cell's class says whether and how they differ, and for those that do the shade: `h1`, a quarter of the
    largest such difference or less, to `h4`.
    """

    metric: str
    convention: str
    models: list[str]
    cells: list[list[dict | None]]
    separated: int  # pairs whose corrected p is below LEVEL
    pairs: int


def matrices(dataset: ReportedDataset) -> list[Matrix]:
    """One Matrix a tested metric; none where nothing was tested."""
    by_metric: dict[str, list[Row]] = {}
    for row in dataset.tables.get("pairwise", []):
        by_metric.setdefault(row["metric"], []).append(row)
    return [_matrix(dataset, metric, rows) for metric, rows in by_metric.items()]


def _matrix(dataset: ReportedDataset, metric: str, rows: list[Row]) -> Matrix:
    differing = [abs(row["difference"]) for row in rows if row["wilcoxon_holm"] < LEVEL]
    largest = max(differing, default=0.0) or 1.0
    cells: dict[tuple[str, str], dict] = {}
    for row in rows:
        one, other = row["model_a"], row["model_b"]
        cells[one, other] = _cell(row["difference"], row["wilcoxon_holm"], largest)
        cells[other, one] = _cell(-row["difference"], row["wilcoxon_holm"], largest)
    models = [model for model in dataset.ranked() if any(model in pair for pair in cells)]
    return Matrix(
        metric=metric,
        convention=rows[0]["convention"],
        models=models,
        cells=[[cells.get((one, other)) for other in models] for one in models],
        separated=len(differing),
        pairs=len(rows),
    )


def _cell(difference: float, p: float, largest: float) -> dict:
    if not p < LEVEL:
        return {"difference": difference, "class": "level", "mark": ""}
    side, mark = ("better", "▲") if difference > 0 else ("worse", "▼")
    shade = max(math.ceil(4 * abs(difference) / largest - 1e-9), 1)
    return {"difference": difference, "class": f"{side} h{shade}", "mark": mark}
