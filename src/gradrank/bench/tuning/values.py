"""Tables of a contest with the metric values of each test query."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.measures.judgements import Judgements
from gradrank.measures.metrics import compute

if TYPE_CHECKING:
    import polars as pl

METRICS = ("ndcg@10", "map", "mean_ndcg", "p@10")  # metrics of the trained choices
OF_OTHERS = METRICS[:1]  # metrics of the runs that the choices are compared with


def values_table(
    judged: Judgements, scores: np.ndarray, metrics: Sequence[str], convention: str, **about: int
) -> "pl.DataFrame":
    """Return a table with one row per query.

    The columns are those of `about`, then `qid`, then one Float32 column per metric of METRICS. The columns of metrics
    that are not in `metrics` are null.

    judged: the grades and query ids of the documents. scores: (n,), one per document. about: name and value of each
    constant column.
    """
    import polars as pl

    values = compute(metrics, scores, judged.labels, judged.offsets, convention, judged.docids)
    constants = [pl.lit(value).alias(name) for name, value in about.items()]
    columns = [pl.col(name) if name in values else pl.lit(None).alias(name) for name in METRICS]
    table = pl.DataFrame({"qid": judged.qids} | values)
    return table.select(*constants, "qid", *(column.cast(pl.Float32) for column in columns))


def check_made_with(path: Path) -> None:
    """Raise GradrankError if a file exists that is not a Parquet file with the column `made_with`, as a contest has."""
    import polars as pl

    if not os.path.lexists(path):
        return
    try:
        is_own = path.is_file() and "made_with" in pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError):
        is_own = False
    if not is_own:
        raise GradrankError(
            f"{path}: damaged, or not written by gradrank. Fix: if it is yours, move it; else delete it, and run the "
            "same command again"
        )


def write_tables(tables: Iterator["pl.DataFrame"], path: Path, made_with: str) -> None:
    """Write the concatenated tables to one Parquet file. made_with: content of the constant column of this name."""
    import polars as pl

    joined = pl.concat(tables).with_columns(pl.lit(made_with).alias("made_with"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        joined.write_parquet(partial, compression="zstd", compression_level=19)
