"""Rankings for any outside evaluator: TREC run and qrels, LETOR score file."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.data.order import order
from gradrank.errors import GradrankError
from gradrank.evaluation.judgements import Judgements, read_judgements, read_scores
from gradrank.files import atomic, read_json


def export_model(folder: Path | str, data: Path | str, out: Path | str) -> list[Path]:
    """The test parts of a trained model's folds as `out`/fold<k>.{run,qrels,scores}.txt; the paths."""
    folder, data, out = Path(folder), Path(data), Path(out)
    written = []
    for number, parts in enumerate(read_json(data.with_suffix(".json"))["folds"], start=1):
        judgements = read_judgements(data, parts["test"])
        scores = read_scores(folder / f"fold{number}" / "scores.parquet", judgements)
        run, qrels, plain = (out / f"fold{number}.{kind}.txt" for kind in ("run", "qrels", "scores"))
        export_trec(scores, judgements, run, qrels, tag=folder.name)
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
    """Write `qid Q0 docid rank score tag` and `qid 0 docid grade`.

    Without document ids the rows are numbered, with leading zeros. Ranks follow the file's order in ties, but
    trec_eval goes by score and breaks ties by id: under the convention `trec` its figures are ours. Raises
    GradrankError for an id that a query has twice or that contains a blank, which TREC files cannot hold.
    """
    table = pl.DataFrame({"qid": judgements.query_of_row, "docid": _ids(judgements)})
    bad = table.filter(
        ~pl.struct("qid", "docid").is_first_distinct() | pl.col("docid").str.contains(r"\s|^$")
    )
    if len(bad):
        raise GradrankError(
            f"query {bad['qid'][0]}: document id {bad['docid'][0]!r} occurs twice or has a blank"
        )
    table = table.with_columns(score=pl.Series(scores), grade=pl.Series(judgements.labels))
    rows = order(np.ascontiguousarray(scores, dtype=np.float64), judgements.offsets)
    position = np.arange(len(rows)) - np.repeat(judgements.offsets[:-1], np.diff(judgements.offsets)) + 1
    ranked = table[rows].with_columns(rank=pl.Series(position), iteration=pl.lit("Q0"), tag=pl.lit(tag))
    _write(ranked.select("qid", "iteration", "docid", "rank", "score", "tag"), run)
    _write(table.select("qid", pl.lit(0).alias("iteration"), "docid", "grade"), qrels)


def _ids(judgements: Judgements) -> pl.Series:
    if judgements.docids is not None:
        return judgements.docids
    count = len(judgements.labels)
    return pl.Series(np.arange(count)).cast(pl.String).str.zfill(len(str(count)))


def _write(table: pl.DataFrame, path: Path | str) -> None:
    with atomic(path) as partial:
        table.write_csv(partial, include_header=False, separator=" ", quote_style="never")
