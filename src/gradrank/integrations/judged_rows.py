"""Judgements and a ranking as rows with ids, which other packages read."""

from typing import Any

import numpy as np
import polars as pl

from gradrank.comparison.rankings.inputs import judged, ranking
from gradrank.measures.judgements import document_ids


def judged_rows(y: Any, scores: Any, qid: Any, docid: Any) -> pl.DataFrame:
    """Return the columns `query` and `docid` (text), `grade`, `score` and `ranked` of all documents.

    The arguments and errors are those of `gradrank.evaluate`. Without document ids, the ids are row numbers from 1.
    """
    judgements, values, ranked = ranking(judged(y, qid, docid), scores, "scores")
    columns = {"grade": judgements.labels, "score": values}
    columns["ranked"] = np.ones(len(values), dtype=bool) if ranked is None else ranked
    docids = document_ids(judgements.docids, len(values))
    return pl.DataFrame({"query": judgements.id_of_row, "docid": docids} | columns)
