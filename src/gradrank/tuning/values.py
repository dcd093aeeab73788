"""Tables of a contest with the metric values of each test query."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.files import atomic
from gradrank.evaluation.judgements import Judgements
from gradrank.evaluation.metrics import compute

if TYPE_CHECKING:
    import polars as pl

METRICS = ("ndcg@10", "map", "mean_ndcg", "p@10")  # metrics of the retrained models
OF_TRIALS = ("ndcg@10", "map")  # metrics of the trials


def values_table(
    judged: Judgements, scores: np.ndarray, metrics: Sequence[str], convention: str, **about: int
) -> "pl.DataFrame":
    """Return a table with one row per query.

    The columns are those of `about`, then `qid`, then one column per metric.

    judged: the grades and query ids of the documents. scores: (n,), one per document. about: name and value of each
    constant column.
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
