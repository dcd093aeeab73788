"""Rankings for any outside evaluator: TREC run and qrels, LETOR score file."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.base.results import MethodFolder
from gradrank.data.order import order
from gradrank.data.stored import StoredCollection
from gradrank.evaluation.document_ids import document_ids
from gradrank.evaluation.judgements import Judgements, read_judgements
from gradrank.evaluation.score_files import read_scores


def export_model(folder: Path | str, data: Path | str, out: Path | str) -> list[Path]:
    """The test parts of a trained model's folds as `out`/fold<k>.{run,qrels,scores}.txt; the paths."""
    method, stored, out = MethodFolder(Path(folder)), StoredCollection.open(data), Path(out)
    written = []
    for number, parts in enumerate(stored.folds, start=1):
        judgements = read_judgements(stored, parts["test"])
        scores = read_scores(method.fold(number).scores_path, judgements)
        run, qrels, plain = (out / f"fold{number}.{kind}.txt" for kind in ("run", "qrels", "scores"))
        export_trec(scores, judgements, run, qrels, tag=method.name)
        export_scores(scores, plain)
        written += [run, qrels, plain]
    return written


def export_scores(scores: np.ndarray, path: Path | str) -> None:
    """(n,) scores, one a line in the rows' order, with every digit: what LETOR's evaluation program reads."""
    with atomic(path) as partial:
        pl.DataFrame({"score": scores}).write_csv(partial, include_header=False)


def export_trec(
    scores: np.ndarray, judgements: Judgements, run: Path | str, qrels: Path | str, tag: str = "gradrank"
) -> None:
    """Write `run` (see `trec_run`) and `qrels`, `qid 0 docid grade`, with the same ids in both."""
    ids = document_ids(judgements.docids, len(judgements.labels))
    ranked = trec_run(scores, judgements.offsets, judgements.ids, ids, tag)
    grades = {"qid": judgements.id_of_row, "iteration": 0, "docid": ids, "grade": judgements.labels}
    for path, text in ((run, ranked), (qrels, _lines(pl.DataFrame(grades)))):
        with atomic(path) as partial:
            partial.write_text(text, encoding="utf-8")


def trec_run(scores: np.ndarray, offsets: np.ndarray, qids: np.ndarray, docids: pl.Series, tag: str) -> str:
    """Lines `qid Q0 docid rank score tag`, queries in their order, the best document first.

    scores: (n,). offsets: (q+1,). qids: (q,). docids: (n,), as of `document_ids`. Ranks follow the rows' order
    in ties, but trec_eval goes by score and docid. Raises GradrankError for a document that a query has twice
    and for an id that contains a blank, which TREC files cannot hold.
    """
    sizes = np.diff(offsets)
    table = pl.DataFrame({"query": np.repeat(np.arange(len(sizes)), sizes), "docid": docids})
    bad = table.filter(~pl.struct("query", "docid").is_first_distinct() | pl.col("docid").str.contains(r"\s|^$"))
    if len(bad):
        raise GradrankError(
            f"query {qids[bad['query'][0]]}: document id {bad['docid'][0]!r} occurs twice or has a blank, which "
            "TREC files cannot hold; use LETOR's form"
        )
    if unfit := [qid for qid in qids if isinstance(qid, str) and qid.split() != [qid]]:
        raise GradrankError(
            f"query id {unfit[0]!r} has a blank, which TREC files cannot hold; use LETOR's form, or other ids"
        )
    rows = order(np.ascontiguousarray(scores, dtype=np.float64), offsets)
    ranks = np.arange(len(rows)) - np.repeat(offsets[:-1], sizes) + 1
    columns = {"qid": np.repeat(qids, sizes), "iteration": "Q0", "docid": docids[rows], "rank": ranks}
    return _lines(pl.DataFrame(columns | {"score": np.asarray(scores)[rows], "tag": tag}))


def _lines(table: pl.DataFrame) -> str:
    return table.write_csv(include_header=False, separator=" ", quote_style="never")
