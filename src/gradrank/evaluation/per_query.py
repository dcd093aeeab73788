"""per_query.parquet read back: one method's metric values, query by query, and their means and intervals.

The mean of a method is LETOR's: the mean over folds of the mean over that fold's test queries. Its 95%
interval is 1.96 standard errors over the test queries of all folds together. The interval says how far the
mean may move with other queries, not how methods compare: methods share their queries, so only paired tests
separate them.

Of a method trained with several seeds, a query's value is the mean over seeds, and the interval holds both samples:
queries within their folds, and seeds (`gradrank.evaluation.variance`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.results import DatasetFolder, MethodFolder
from gradrank.evaluation.seeds import SEED
from gradrank.evaluation.variance import Runs

if TYPE_CHECKING:
    import polars as pl

COMPACT = ("ndcg@10", "map")
QUERY = "query"  # the column of query ids, where they are text, which `qid` numbers
KEYS = ("dataset", "model", "convention", "split", "fold", SEED, "qid", QUERY)  # the columns that are no metric


@dataclass(frozen=True)
class QueryValues:
    """Values on the test queries under one convention; nan where the convention drops a query.

    folds, qids: (q,), ids as the data have them, whole numbers or text. values: (q,) float64 a metric. Rows are
    sorted by fold, then by place in the file. by_seed: (S, q) a metric, where there are several seeds; `values` are
    then their means.
    """

    folds: np.ndarray
    qids: np.ndarray
    values: dict[str, np.ndarray]
    by_seed: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """How many."""
        return len(next(iter(self.by_seed.values()), [0]))

    def runs(self, metric: str) -> Runs:
        """The values that are there, (1, S, q): one tuner's, whose choice is given."""
        known = ~np.isnan(self.values[metric])
        values = self.by_seed.get(metric, self.values[metric][None])
        return Runs(values[None, :, known].astype(np.float64), self.folds[known])

    def several(self, metric: str) -> bool:
        """Whether there are values of several seeds."""
        return metric in self.by_seed and self.queries(metric) > 0

    def seed_means(self, metric: str) -> list[float]:
        """The mean of each of several seeds; none of a single one."""
        return self.runs(metric).fold_means.mean(axis=2)[0].tolist() if self.several(metric) else []

    def spread(self, metric: str) -> float:
        """Standard deviation of the mean over seeds; nan of a single one."""
        return self.runs(metric).spread if self.several(metric) else np.nan

    def fold_means(self, metric: str) -> dict[int, tuple[float, int]]:
        """By fold: the mean over its test queries, and how many they are."""
        values, means = self.values[metric], {}
        for fold in np.unique(self.folds):
            chosen = values[(self.folds == fold) & ~np.isnan(values)]
            if len(chosen):
                means[int(fold)] = float(np.mean(chosen, dtype=np.float64)), len(chosen)
        return means

    def of_fold(self, fold: int) -> "QueryValues":
        """The queries of one fold."""
        own = self.folds == fold
        values = {metric: each[own] for metric, each in self.values.items()}
        by_seed = {metric: each[:, own] for metric, each in self.by_seed.items()}
        return QueryValues(self.folds[own], self.qids[own], values, by_seed)

    def queries(self, metric: str) -> int:
        """How many have a value."""
        return int(np.count_nonzero(~np.isnan(self.values[metric])))

    def mean(self, metric: str) -> float:
        """The mean over folds of their means; nan without any value."""
        means = [mean for mean, _ in self.fold_means(metric).values()]
        return float(np.mean(means)) if means else np.nan

    def half_width(self, metric: str) -> float:
        """Half the 95% interval: of one seed 1.96 standard errors over all test queries; nan for fewer than two.

        Of several seeds it holds these as well, and is nan where a fold has a single query.
        """
        if self.several(metric):
            return self.runs(metric).half_width
        values = self.values[metric][~np.isnan(self.values[metric])]
        return float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    def same_queries(self, other: "QueryValues") -> bool:
        return np.array_equal(self.folds, other.folds) and np.array_equal(self.qids, other.qids)

    def in_order_of(self, other: "QueryValues") -> "QueryValues":
        """The same values in the order of another's queries; unchanged where these are not the same queries."""
        place = {key: at for at, key in enumerate(zip(self.folds.tolist(), self.qids.tolist(), strict=True))}
        wanted = list(zip(other.folds.tolist(), other.qids.tolist(), strict=True))
        if self.same_queries(other) or not (len(place) == len(self.qids) == len(wanted) and place.keys() == {*wanted}):
            return self
        order = [place[key] for key in wanted]
        values = {metric: each[order] for metric, each in self.values.items()}
        by_seed = {metric: each[:, order] for metric, each in self.by_seed.items()}
        return QueryValues(self.folds[order], self.qids[order], values, by_seed)


def read_test_queries(path: Path, metrics: Iterable[str] | None = None) -> dict[str, QueryValues]:
    """The test queries of a per_query.parquet by convention, with all its metrics or those named that it has.

    Raises GradrankError where the file is missing or holds none of them.
    """
    import polars as pl

    if not path.is_file():
        raise GradrankError(f"{path}: missing; evaluate the model first (`gradrank evaluate-folds`)")
    table = pl.scan_parquet(path)
    present = table.collect_schema().names()
    measured = [name for name in present if name not in KEYS]
    wanted = measured if metrics is None else [metric for metric in metrics if metric in measured]
    columns = ["convention", "fold", *({SEED} & set(present)), "qid", *({QUERY} & set(present)), *wanted]
    frame = table.filter(pl.col("split") == "test").select(columns).collect()
    if frame.is_empty() or not wanted:
        raise GradrankError(f"{path}: no test queries, or none of the metrics {', '.join(metrics or measured)}")
    return {
        convention: query_values(rows, wanted)
        for (convention,), rows in frame.group_by("convention", maintain_order=True)
    }


def query_values(rows: "pl.DataFrame", metrics: Sequence[str]) -> QueryValues:
    """The rows of one method under one convention (columns `fold`, `qid`, one a metric, may be `seed` and `query`)
    as arrays.
    """
    rows = rows.sort("fold", maintain_order=True)
    ordered = [rows]
    if SEED in rows.columns:
        ordered = rows.sort(SEED, maintain_order=True).partition_by(SEED, maintain_order=True)
    values = [{metric: each[metric].fill_null(np.nan).to_numpy() for metric in metrics} for each in ordered]
    is_text = QUERY in rows.columns and not rows[QUERY].null_count()
    ids = ordered[0][QUERY if is_text else "qid"]
    return of_seeds(ordered[0]["fold"].to_numpy(), ids.to_numpy(), values)


def of_seeds(folds: np.ndarray, qids: np.ndarray, seeds: Sequence[Mapping[str, np.ndarray]]) -> QueryValues:
    """The values of one seed, or of several over the same queries in the same order; each (q,) a metric."""
    if len(seeds) == 1:
        return QueryValues(folds, qids, dict(seeds[0]))
    by_seed = {metric: np.stack([each[metric] for each in seeds]) for metric in seeds[0]}
    values = {metric: each.mean(axis=0, dtype=np.float64).astype(each.dtype) for metric, each in by_seed.items()}
    return QueryValues(folds, qids, values, by_seed)


def write_compact(dataset: DatasetFolder, models: Iterable[str], convention: str) -> None:
    """What paired tests between two commits need, small enough for git: COMPACT under one convention.

    float32, to six decimals: read back as float64 and rounded once more they are those decimals exactly. A metric
    that was not measured is left out.
    """
    import polars as pl

    # One summary's methods are measured alike; a diagonal concatenation of as many crashes an emulated processor.
    rows = pl.concat(_labelled(map(dataset.method, models))).filter(convention=convention)
    keys = [name for name in KEYS if name in rows.columns]
    values = [pl.Series(name, np.round(rows[name].to_numpy(), 6), pl.Float32) for name in COMPACT if name in rows]
    with atomic(dataset.queries_path) as partial:
        rows.select(*keys).with_columns(*values).write_parquet(partial, compression="zstd", compression_level=19)


def join_test_queries(methods: Iterable[MethodFolder]) -> "pl.DataFrame":
    """The test queries of evaluated methods, at least one: `dataset`, `model`, then the columns of each file."""
    import polars as pl

    return pl.concat(_labelled(methods), how="diagonal")


def _labelled(methods: Iterable[MethodFolder]) -> "list[pl.DataFrame]":
    import polars as pl

    tables = [labelled(pl.read_parquet(each.per_query_path), each.dataset, each.name) for each in methods]
    several = any(SEED in table.columns for table in tables)
    return [_with_seed(table) for table in tables] if several else tables


def _with_seed(table: "pl.DataFrame") -> "pl.DataFrame":
    """With a column `seed`, null where there is one seed alone, at its place among the others."""
    import polars as pl

    if SEED not in table.columns:
        table = table.with_columns(pl.lit(None, pl.Int32).alias(SEED))
    keys = [name for name in KEYS if name in table.columns]
    return table.select(*keys, pl.exclude(*keys))


def labelled(table: "pl.DataFrame", dataset: str, model: str) -> "pl.DataFrame":
    """The test queries of one method's values, with columns `dataset` and `model` in front."""
    import polars as pl

    names = [pl.lit(dataset).alias("dataset"), pl.lit(model).alias("model")]
    return table.filter(pl.col("split") == "test").select(*names, pl.exclude("split"))
