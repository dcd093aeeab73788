"""Export of rankings for other evaluation programs: TREC runs, qrels and LETOR score files."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.order import order
from gradrank.measures.judgements import Judgements, document_ids

KINDS = ("run", "qrels", "scores")


def export_scores(scores: np.ndarray, path: Path | str) -> None:
    """Write (n,) scores in row order, one per line with all digits, in the form that LETOR's program reads."""
    with atomic(path) as partial:
        pl.DataFrame({"score": scores}).write_csv(partial, include_header=False)


def export_trec(
    scores: np.ndarray, judgements: Judgements, run: Path | str, qrels: Path | str, tag: str = "gradrank"
) -> None:
    """Write a TREC run (see `trec_run`) and qrels with the same document ids.

    scores: (n,). Lines of the qrels are `qid 0 docid grade`. tag: name of the run. Raises GradrankError for ids that
    TREC files do not allow.
    """
    ids = document_ids(judgements.docids, len(judgements.labels))
    ranked = trec_run(scores, judgements.offsets, judgements.ids, ids, tag)
    grades = {"qid": judgements.id_of_row, "iteration": 0, "docid": ids, "grade": judgements.labels}
    for path, text in ((run, ranked), (qrels, _lines(pl.DataFrame(grades)))):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")


def trec_run(scores: np.ndarray, offsets: np.ndarray, qids: np.ndarray, docids: pl.Series, tag: str) -> str:
    """Return the lines `qid Q0 docid rank score tag` of a TREC run.

    scores: (n,). offsets: (q+1,). qids: (q,). docids: (n,), as returned by `document_ids`. Queries keep their order.
    The documents of a query are sorted by descending score; equal scores keep their row order. trec_eval ignores the
    rank and sorts by score and document id.

    Raises GradrankError for an id that is empty or contains white space, and for a document id that occurs twice in a
    query.
    """
    sizes = np.diff(offsets)
    table = pl.DataFrame({"query": np.repeat(np.arange(len(sizes)), sizes), "docid": docids})
    bad = table.filter(~pl.struct("query", "docid").is_first_distinct() | pl.col("docid").str.contains(r"\s|^$"))
    if len(bad):
        raise GradrankError(
            f"query {qids[bad['query'][0]]}: document id {bad['docid'][0]!r} is empty, has white space or occurs "
            "twice, which a TREC file does not allow. Fix: use the LETOR form"
        )
    if invalid := [qid for qid in qids if isinstance(qid, str) and qid.split() != [qid]]:
        raise GradrankError(
            f"query id {invalid[0]!r} is empty or has white space, which a TREC file does not allow. Fix: use the "
            "LETOR form or other ids"
        )
    rows = order(np.ascontiguousarray(scores, dtype=np.float64), offsets)
    ranks = np.arange(len(rows)) - np.repeat(offsets[:-1], sizes) + 1
    columns = {"qid": np.repeat(qids, sizes), "iteration": "Q0", "docid": docids[rows], "rank": ranks}
    return _lines(pl.DataFrame(columns | {"score": np.asarray(scores)[rows], "tag": tag}))


def _lines(table: pl.DataFrame) -> str:
    return table.write_csv(include_header=False, separator=" ", quote_style="never")
