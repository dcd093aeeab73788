"""A table with the metric values of each query."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from gradrank.measures.conventions import Convention
from gradrank.measures.judgements import Judgements
from gradrank.measures.metrics import compute

QUERY = "query"  # column of textual query ids; if there is such a column, `qid` holds their numbers


def query_table(
    judgements: Judgements,
    scores: np.ndarray,
    convention: Convention,
    metrics: Sequence[str],
    ranked: np.ndarray | None = None,
) -> pl.DataFrame:
    """Return one row per query: `qid`, `query` (if the ids are text) and one column per metric.

    The arguments are those of Ranking. metrics: names in gradrank's own spelling. Undefined values are null.
    """
    labels, offsets, ids = judgements.labels, judgements.offsets, judgements.docids
    ranked = None if ranked is None or ranked.all() else ranked
    values = compute(metrics, scores, labels, offsets, convention, ids, ranked)
    ids = {"qid": judgements.qids} | ({} if judgements.names is None else {QUERY: judgements.names})
    return pl.DataFrame(ids | values).with_columns(pl.col(metrics).fill_nan(None))
