"""Which methods differ: a matrix a metric from the paired tests of pairwise.csv."""

from dataclasses import dataclass

from gradrank.report.study import DataSet
from gradrank.tables import LEVEL, Row


@dataclass(frozen=True)
class Matrix:
    """`cells[i][j]`: method i against method j, best first; None on the diagonal."""

    metric: str
    convention: str
    models: list[str]
    cells: list[list[dict | None]]
    separated: int  # pairs whose corrected p is below LEVEL
    pairs: int


def matrices(dataset: DataSet) -> list[Matrix]:
    """One Matrix a tested metric; none where nothing was tested."""
    by_metric: dict[str, list[Row]] = {}
    for row in dataset.tables.get("pairwise", []):
        by_metric.setdefault(row["metric"], []).append(row)
    return [_matrix(dataset, metric, rows) for metric, rows in by_metric.items()]


def _matrix(dataset: DataSet, metric: str, rows: list[Row]) -> Matrix:
    cells: dict[tuple[str, str], dict] = {}
    for row in rows:
        one, other = row["model_a"], row["model_b"]
        cells[one, other] = _cell(row["difference"], row["wins"], row["losses"], row)
        cells[other, one] = _cell(-row["difference"], row["losses"], row["wins"], row)
    models = [model for model in dataset.ranked() if any(model in pair for pair in cells)]
    return Matrix(
        metric=metric,
        convention=rows[0]["convention"],
        models=models,
        cells=[[cells.get((one, other)) for other in models] for one in models],
        separated=sum(row["wilcoxon_holm"] < LEVEL for row in rows),
        pairs=len(rows),
    )


def _cell(difference: float, wins: float, losses: float, row: Row) -> dict:
    significant = row["wilcoxon_holm"] < LEVEL
    return {
        "difference": difference,
        "p": row["wilcoxon_holm"],
        "t_p": row["t_holm"],
        "wins": int(wins),
        "ties": int(row["ties"]),
        "losses": int(losses),
        "class": ("better" if difference > 0 else "worse") if significant else "level",
    }
