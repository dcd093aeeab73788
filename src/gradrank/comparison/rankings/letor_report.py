"""The output of LETOR's evaluation program, from gradrank's metrics."""

from pathlib import Path
from typing import Any

import polars as pl

from gradrank.comparison.rankings.evaluation import evaluate
from gradrank.measures.conventions import Convention

LETOR_TABLES = (
    {f"P@{k}": f"p@{k}" for k in range(1, 11)} | {"MAP": "map"},
    {f"NDCG@{k}": f"ndcg@{k}" for k in range(1, 11)} | {"MeanNDCG": "mean_ndcg"},
)
LETOR_METRICS = [name for table in LETOR_TABLES for name in table.values()]


def letor_report(y: Any, scores: Path | str, convention: str | Convention = "letor4") -> str:
    """Return the two tables that LETOR's evaluation program prints, character for character.

    The arguments and errors are those of `evaluate`.
    """
    return letor_tables(evaluate(y, scores, metrics=LETOR_METRICS, convention=convention).per_query)


def letor_tables(values: pl.DataFrame) -> str:
    """Return the two tables of `letor_report` from the values per query of all LETOR_METRICS."""
    lines = []
    for table in LETOR_TABLES:
        means = (f"{values[name].mean():.4f}" for name in table.values())
        lines += ["\t".join(["qid", *table]), "\t".join(["Average", *means]), ""]
    return "\n".join(lines) + "\n"
