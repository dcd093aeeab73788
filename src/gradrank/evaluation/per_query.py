"""per_query.parquet read back: one method's metric values, query by query, and their means and intervals.

The mean of a method is LETOR's: the mean over folds of the mean over that fold's test queries. Its 95%
interval is 1.96 standard errors over the test queries of all folds together. The interval says how far the
mean may move with other queries, not how methods compare: methods share their queries, so only paired tests
separate them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.errors import GradrankError
from gradrank.files import atomic

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class QueryValues:
    """Values on the test queries under one convention; nan where the convention drops a query.

    folds, qids: (q,). values: (q,) float64 a metric. Rows are sorted by fold, then by place in the file.
    """

    folds: np.ndarray
    qids: np.ndarray
    values: dict[str, np.ndarray]

    def fold_means(self, metric: str) -> dict[int, tuple[float, int]]:
        """By fold: the mean over its test queries, and how many they are."""
        values, means = self.values[metric], {}
        for fold in np.unique(self.folds):
            chosen = values[(self.folds == fold) & ~np.isnan(values)]
            if len(chosen):
                means[int(fold)] = float(np.mean(chosen)), len(chosen)
        return means

    def of_fold(self, fold: int) -> "QueryValues":
        """The queries of one fold."""
        own = self.folds == fold
        values = {metric: each[own] for metric, each in self.values.items()}
        return QueryValues(self.folds[own], self.qids[own], values)

    def queries(self, metric: str) -> int:
        """How many have a value."""
        return int(np.count_nonzero(~np.isnan(self.values[metric])))

    def mean(self, metric: str) -> float:
        """The mean over folds of their means; nan without any value."""
        means = [mean for mean, _ in self.fold_means(metric).values()]
        return float(np.mean(means)) if means else np.nan

    def half_width(self, metric: str) -> float:
        """Half the 95% interval: 1.96 standard errors over all test queries; nan for fewer than two."""
        values = self.values[metric][~np.isnan(self.values[metric])]
        return float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    def same_queries(self, other: "QueryValues") -> bool:
        return np.array_equal(self.folds, other.folds) and np.array_equal(self.qids, other.qids)


def read_test_queries(
    path: Path, metrics: Iterable[str], optional: Iterable[str] = ()
) -> dict[str, QueryValues]:
    """The test queries of a per_query.parquet by convention, with those of the metrics that the file has.

    Raises GradrankError where the file is missing or holds none of `metrics`.
    """
    import polars as pl

    if not path.is_file():
        raise GradrankError(f"{path}: missing; evaluate the model first (`gradrank evaluate-folds`)")
    table = pl.scan_parquet(path)
    present = table.collect_schema().names()
    wanted = [metric for metric in metrics if metric in present]
    others = [metric for metric in optional if metric in present]
    columns = ["convention", "fold", "qid", *wanted, *others]
    frame = table.filter(pl.col("split") == "test").select(columns).collect()
    if frame.is_empty() or not wanted:
        raise GradrankError(f"{path}: no test queries, or none of the metrics {', '.join(metrics)}")
    return {
        convention: query_values(rows, wanted + others)
        for (convention,), rows in frame.group_by("convention", maintain_order=True)
    }


def query_values(rows: "pl.DataFrame", metrics: Sequence[str]) -> QueryValues:
    """The rows of one method under one convention (columns `fold`, `qid`, one a metric) as arrays."""
    rows = rows.sort("fold", maintain_order=True)
    values = {metric: rows[metric].fill_null(np.nan).to_numpy() for metric in metrics}
    return QueryValues(rows["fold"].to_numpy(), rows["qid"].to_numpy(), values)


def collect(results: Path, out: Path) -> None:
    """`gather` in one Parquet file, for versioning."""
    with atomic(out) as partial:
        gather(results).write_parquet(partial)


def gather(results: Path, dataset: str = "*") -> "pl.DataFrame":
    """The test queries of every method under `results`, of one data set or of all.

    Columns `dataset`, `model`, then those of per_query.parquet; rows by data set, method, convention, fold.
    Raises GradrankError where there is none.
    """
    import polars as pl

    frames = [
        pl.read_parquet(path)
        .filter(pl.col("split") == "test")
        .select(
            pl.lit(path.parts[-3]).alias("dataset"),
            pl.lit(path.parts[-2]).alias("model"),
            pl.exclude("split"),
        )
        for path in sorted(results.glob(f"{dataset}/*/per_query.parquet"))
    ]
    if not frames:
        raise GradrankError(f"{results}: no <dataset>/<model>/per_query.parquet below it")
    return pl.concat(frames, how="diagonal")
