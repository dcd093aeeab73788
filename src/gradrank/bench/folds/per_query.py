"""Metric values per query from per_query.parquet, with their means, their intervals, and the seeds of the trainings.

The method's folder may also hold folds of seeds that the configuration no longer requests.

The mean of a method is defined as in LETOR: the mean over folds of the mean over the fold's test queries. Its 95%
interval is the mean +- 1.96 standard errors over the test queries of all folds together. The interval shows how much
the mean could change with other queries. The interval is not meant for comparing methods: methods share their queries,
so only paired tests can separate methods.

If the test parts of folds overlap, a query is tested in several folds. It counts in the mean of each of these folds. In
intervals and tests, it counts once, with the mean of its values (`gradrank.comparison.statistics.once_per_query`).

If a method was trained with several seeds, the value of a query is the mean over seeds. The interval then covers the
sample of queries within folds and the sample of seeds (`gradrank.comparison.variance`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.stamps import REPAIR
from gradrank.bench.results import DatasetFolder, MethodFolder, NumberedFold
from gradrank.comparison.statistics import once_per_query
from gradrank.comparison.variance import Runs
from gradrank.measures.query_values import QUERY

if TYPE_CHECKING:
    import polars as pl


SEED = "seed"  # column of per_query.parquet if the method was measured with several seeds


def seeds_of(method: MethodFolder) -> list[int]:
    """Return the seeds in per_query.parquet. The seed of fold<k>/ is first. The list is empty for one seed.

    Raises GradrankError if the file is not Parquet.
    """
    import polars as pl

    if not method.evaluated:
        return []
    try:
        table = pl.scan_parquet(method.per_query_path)
        if SEED not in table.collect_schema().names():
            return []
        return table.select(pl.col(SEED).unique(maintain_order=True)).collect()[SEED].to_list()
    except pl.exceptions.PolarsError:
        raise GradrankError(f"{method.per_query_path}: damaged; not a Parquet file. Fix: {REPAIR}") from None


def measured_folds(method: MethodFolder) -> list[NumberedFold]:
    """Return the finished folds whose fold number and seed are in per_query.parquet, sorted by fold number and seed.

    If the method was not evaluated, return the finished folds of the first seed.
    """
    further = seeds_of(method)[1:]
    numbers = _fold_numbers(method)
    return [
        fold
        for fold in method.folds()
        if (fold.seed is None or fold.seed in further) and (numbers is None or fold.number in numbers)
    ]


def _fold_numbers(method: MethodFolder) -> set[int] | None:
    """Return the fold numbers in per_query.parquet; None if the method was not evaluated."""
    import polars as pl

    if not method.evaluated:
        return None
    return set(pl.scan_parquet(method.per_query_path).select(pl.col("fold").unique()).collect()["fold"].to_list())


def timings(method: MethodFolder) -> list[dict[str, float]]:
    """Return the content of timing.json for each measured fold that has this file."""
    return [fold.timing() for fold in measured_folds(method) if fold.timing_path.is_file()]


COMPACT = ("ndcg@10", "map")
DECIMALS = 6  # of the values in queries.parquet

KEYS = ("dataset", "model", "convention", "split", "fold", SEED, "qid", QUERY)  # the columns that are not metrics


@dataclass(frozen=True)
class QueryValues:
    """Metric values of the test queries under one convention; nan where the convention drops a query.

    folds: (q,) fold numbers. qids: (q,) query ids of the data, integers or text. values: (q,) floats per metric.
    Queries are sorted by fold, then by position in the file. by_seed: (S, q) floats per metric if there are several
    seeds, else empty. With several seeds, `values` contains the means over seeds.
    """

    folds: np.ndarray
    qids: np.ndarray
    values: dict[str, np.ndarray]
    by_seed: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(next(iter(self.by_seed.values()), [0]))

    def runs(self, metric: str) -> Runs:
        """Return the defined values of a metric as the (1, S, q) values of one tuner."""
        defined = ~np.isnan(self.values[metric])
        values = self.by_seed.get(metric, self.values[metric][None])
        return Runs(values[None, :, defined].astype(np.float64), self.folds[defined], self.qids[defined])

    def has_several_seeds(self, metric: str) -> bool:
        """Return whether the metric has defined values of several seeds."""
        return metric in self.by_seed and self.queries(metric) > 0

    def seed_means(self, metric: str) -> list[float]:
        """Return a list with the mean value of each seed; empty if there is a single seed."""
        return self.runs(metric).fold_means.mean(axis=2)[0].tolist() if self.has_several_seeds(metric) else []

    def spread(self, metric: str) -> float:
        """Return the standard deviation, over seeds, of the mean value; nan if there is a single seed."""
        return self.runs(metric).spread if self.has_several_seeds(metric) else np.nan

    def fold_means(self, metric: str) -> dict[int, tuple[float, int]]:
        """Return the mean over test queries and the number of these queries for each fold.

        The keys are fold numbers. Folds without values are left out.
        """
        return self._fold_means[metric]

    @cached_property
    def _fold_means(self) -> dict[str, dict[int, tuple[float, int]]]:
        """The result of `fold_means` for each metric."""
        queries = {int(fold): np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)}
        found: dict[str, dict[int, tuple[float, int]]] = {metric: {} for metric in self.values}
        for metric, values in self.values.items():
            for fold, of_fold in queries.items():
                defined = values[of_fold]
                defined = defined[~np.isnan(defined)]
                if len(defined):
                    found[metric][fold] = float(np.mean(defined, dtype=np.float64)), len(defined)
        return found

    def of_fold(self, fold: int) -> "QueryValues":
        """Return the values of one fold's queries."""
        return self._select(np.flatnonzero(self.folds == fold))

    def queries(self, metric: str) -> int:
        """Return the number of queries with a defined value."""
        return int(np.count_nonzero(~np.isnan(self.values[metric])))

    def mean(self, metric: str) -> float:
        """Return the mean over folds of the means over queries; nan if no value is defined."""
        means = [mean for mean, _ in self.fold_means(metric).values()]
        return float(np.mean(means)) if means else np.nan

    def half_width(self, metric: str) -> float:
        """Return half the width of the 95% interval of the mean.

        With a single seed, the result is 1.96 standard errors over all test queries, or nan for fewer than two queries.
        With several seeds, the interval also covers the seeds, and the result is nan if a fold has a single query.
        """
        if self.has_several_seeds(metric):
            return self.runs(metric).half_width
        defined = ~np.isnan(self.values[metric])
        values = self.values[metric][defined]
        if not self._is_distinct:
            values, _ = once_per_query(values[:, None], self.folds[defined], self.qids[defined])
        return float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    @cached_property
    def _is_distinct(self) -> bool:
        """Whether no query is tested in several folds."""
        return len(np.unique(self.qids)) == len(self.qids)

    def same_queries(self, other: "QueryValues") -> bool:
        """Return whether both objects have the same folds and queries in the same order."""
        return np.array_equal(self.folds, other.folds) and np.array_equal(self.qids, other.qids)

    def reordered_like(self, other: "QueryValues") -> "QueryValues":
        """Return the values in the order of the queries of `other`, or unchanged if the queries differ."""
        rows = {key: row for row, key in enumerate(zip(self.folds.tolist(), self.qids.tolist(), strict=True))}
        wanted = list(zip(other.folds.tolist(), other.qids.tolist(), strict=True))
        if self.same_queries(other) or not (len(rows) == len(self.qids) == len(wanted) and rows.keys() == {*wanted}):
            return self
        return self._select(np.array([rows[key] for key in wanted]))

    def _select(self, rows: np.ndarray) -> "QueryValues":
        values = {metric: of_metric[rows] for metric, of_metric in self.values.items()}
        by_seed = {metric: of_metric[:, rows] for metric, of_metric in self.by_seed.items()}
        return QueryValues(self.folds[rows], self.qids[rows], values, by_seed)


def read_test_queries(path: Path, metrics: Iterable[str] | None = None) -> dict[str, QueryValues]:
    """Return a dict of the values of the test queries in a per_query.parquet. The keys are conventions.

    metrics: the metrics to read; metrics that the file lacks are left out. If None, all metrics of the file are read.
    Raises GradrankError if the file is missing, or has no test queries or none of the metrics.
    """
    import polars as pl

    from gradrank.data.tables.files import results_table

    if not path.is_file():
        raise GradrankError(f"{path}: no such file. Fix: evaluate the model first (`gradrank evaluate-folds`)")
    with results_table(path):
        table = pl.scan_parquet(path)
        columns_in_file = table.collect_schema().names()
        measured = [name for name in columns_in_file if name not in KEYS]
        wanted = measured if metrics is None else [metric for metric in metrics if metric in measured]
        optional = {SEED, QUERY} & set(columns_in_file)
        columns = ["convention", "fold", *({SEED} & optional), "qid", *({QUERY} & optional), *wanted]
        frame = table.filter(pl.col("split") == "test").select(columns).collect()
    if frame.is_empty() or not wanted:
        raise GradrankError(f"{path}: no test queries, or none of the metrics {', '.join(metrics or measured)}")
    frame = _ordered(frame, wanted)  # once, because one call per convention takes more time
    return {
        convention: _query_values(rows, wanted)
        for (convention,), rows in frame.group_by("convention", maintain_order=True)
    }


def query_values(rows: "pl.DataFrame", metrics: Sequence[str]) -> QueryValues:
    """Convert the rows of one method under one convention to arrays.

    rows: columns `fold`, `qid`, one per metric, and optionally `seed` and `query`.
    """
    return _query_values(_ordered(rows, metrics), metrics)


def _ordered(rows: "pl.DataFrame", metrics: Sequence[str]) -> "pl.DataFrame":
    """Return the rows sorted by fold, with nan for undefined values."""
    import polars as pl

    return rows.sort("fold", maintain_order=True).with_columns(pl.col(*metrics).fill_null(np.nan))


def _query_values(rows: "pl.DataFrame", metrics: Sequence[str]) -> QueryValues:
    """Convert the result of `_ordered`."""
    ordered = [rows]
    if SEED in rows.columns:
        ordered = rows.sort(SEED, maintain_order=True).partition_by(SEED, maintain_order=True)
    values = [{metric: table[metric].to_numpy() for metric in metrics} for table in ordered]
    is_text = QUERY in rows.columns and not rows[QUERY].null_count()
    ids = ordered[0][QUERY if is_text else "qid"]
    return mean_over_seeds(ordered[0]["fold"].to_numpy(), ids.to_numpy(), values)


def mean_over_seeds(folds: np.ndarray, qids: np.ndarray, seeds: Sequence[Mapping[str, np.ndarray]]) -> QueryValues:
    """Return the values of one seed, or the means over several seeds together with the values of each seed.

    seeds: one dict per seed with (q,) values per metric. All seeds have the same queries in the same order.
    """
    if len(seeds) == 1:
        return QueryValues(folds, qids, dict(seeds[0]))
    by_seed = {metric: np.stack([seed[metric] for seed in seeds]) for metric in seeds[0]}
    values = {
        metric: stacked.mean(axis=0, dtype=np.float64).astype(stacked.dtype) for metric, stacked in by_seed.items()
    }
    return QueryValues(folds, qids, values, by_seed)


def write_compact(dataset: DatasetFolder, models: Iterable[str], convention: str) -> None:
    """Write queries.parquet, which holds the values for paired tests between two commits and is small enough for git.

    The file holds the metrics in COMPACT for the models under every measured convention. The rows of the primary
    convention, `convention`, come first within each model. The values are rounded to six decimals and stored as
    float32. The rounded values are recovered exactly if they are read as float64 and rounded to six decimals again. A
    metric that was not measured is left out.
    """
    import polars as pl

    is_primary = pl.col("convention") == convention
    # All tables get the same columns, because a diagonal concatenation of so many crashes on an emulated processor.
    # Equal values under two conventions are near each other, so that the compression finds them.
    tables = [
        table.sort(~is_primary, "convention", maintain_order=True)
        for table in _labelled(map(dataset.method, models), COMPACT)
    ]
    rows = pl.concat(tables)
    keys = [name for name in KEYS if name in rows.columns]
    values = [
        pl.Series(name, np.round(rows[name].to_numpy(), DECIMALS), pl.Float32) for name in COMPACT if name in rows
    ]
    with atomic(dataset.queries_path) as partial:
        rows.select(*keys).with_columns(*values).write_parquet(partial, compression="zstd", compression_level=19)


def read_compact(path: Path, convention: str | None = None) -> tuple[str, dict[str, QueryValues]]:
    """Return a convention of a queries.parquet and its values by method, rounded as by `write_compact`.

    convention: one of `compact_conventions(path)`; by default, the primary convention.
    """
    import polars as pl

    convention = compact_conventions(path)[0] if convention is None else convention
    frame = read_table(path).filter(convention=convention)
    metrics = [name for name in COMPACT if name in frame.columns]
    frame = frame.with_columns(pl.col(*metrics).cast(pl.Float64).round(DECIMALS))
    by_model = frame.group_by("model", maintain_order=True)
    return convention, {str(model): query_values(rows, metrics) for (model,), rows in by_model}


def compact_conventions(path: Path) -> list[str]:
    """Return the conventions of a queries.parquet. The primary convention is the first."""
    return read_table(path, ["convention"])["convention"].unique(maintain_order=True).to_list()


def read_table(path: Path, columns: list[str] | None = None) -> "pl.DataFrame":
    """Read a table of results. columns: the columns to read; None for all. Raises GradrankError if it is damaged."""
    import polars as pl

    from gradrank.data.tables.files import results_table

    with results_table(path):
        return pl.read_parquet(path, columns=columns)


def join_test_queries(methods: Iterable[MethodFolder]) -> "pl.DataFrame":
    """Return one table of the test queries of one or more evaluated methods.

    The columns are `dataset`, `model`, and the columns of the files per_query.parquet.
    """
    import polars as pl

    return pl.concat(_labelled(methods), how="diagonal")


def _labelled(methods: Iterable[MethodFolder], metrics: Sequence[str] | None = None) -> "list[pl.DataFrame]":
    """Return a table per method. metrics: the metrics to read, if they were measured; None for all metrics."""
    import polars as pl
    import polars.selectors as cs

    from gradrank.data.tables.files import results_table

    columns = cs.all() if metrics is None else cs.by_name(*KEYS, *metrics, require_all=False)
    tables = []
    for method in methods:
        with results_table(method.per_query_path):
            table = pl.scan_parquet(method.per_query_path).select(columns).collect()
            tables.append(label_test_queries(table, method.dataset, method.name))
    has_seeds = any(SEED in table.columns for table in tables)
    return [_with_seed(table) for table in tables] if has_seeds else tables


def _with_seed(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return the table with a column `seed`, and with the key columns in the order of KEYS. An added column is null."""
    import polars as pl

    if SEED not in table.columns:
        table = table.with_columns(pl.lit(None, pl.Int32).alias(SEED))
    keys = [name for name in KEYS if name in table.columns]
    return table.select(*keys, pl.exclude(*keys))


def label_test_queries(table: "pl.DataFrame", dataset: str, model: str) -> "pl.DataFrame":
    """Return the rows of the test queries in one method's table, with `dataset` and `model` as the first columns."""
    import polars as pl

    names = [pl.lit(dataset).alias("dataset"), pl.lit(model).alias("model")]
    return table.filter(pl.col("split") == "test").select(*names, pl.exclude("split"))
