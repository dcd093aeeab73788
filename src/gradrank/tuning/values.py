"""Per-query metric values of the test part, in the tables of a contest."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.files import atomic
from gradrank.evaluation.judgements import Judgements
from gradrank.evaluation.metrics import compute

if TYPE_CHECKING:
    import polars as pl

METRICS = ("ndcg@10", "map", "mean_ndcg", "p@10")  # of retrained choices
OF_TRIALS = ("ndcg@10", "map")  # of trials


def values_table(
    judged: Judgements, scores: np.ndarray, metrics: Sequence[str], convention: str, **about: int
) -> "pl.DataFrame":
    """Return a table with one row per query: the columns of `about`, `qid`, and one column per metric.

    scores: (n,), one per document of `judged`. about: constant columns, by name.
    """
    import polars as pl

    values = compute(metrics, scores, judged.labels, judged.offsets, convention, judged.docids)
    columns = {"qid": judged.qids} | values
    return pl.DataFrame(columns).select(*(pl.lit(value).alias(name) for name, value in about.items()), pl.all())


def write_tables(tables: Iterator["pl.DataFrame"], path: Path, by: Sequence[str]) -> None:
    """Write the concatenated tables to one Parquet file, sorted by the columns `by`."""
    import polars as pl

    joined = pl.concat(tables).sort(by, maintain_order=True)
    with atomic(path) as partial:
        joined.write_parquet(partial)
