"""Ranking of new data with a trained fold, in bounded memory. MLflow loads a fold as a pyfunc with this module."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TextIO

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.reader import Batch, batches, read_new
from gradrank.data.tables.roles import Columns
from gradrank.training.score_checks import has_order
from gradrank.training.trained_fold import TrainedFold


def _load_pyfunc(path: str) -> TrainedFold:
    """Load a fold for `mlflow.pyfunc.load_model`.

    `gradrank.bench.tracking.runs` records this module as the loader.
    """
    return TrainedFold.load(path)


def predict(
    fold: Path,
    data: Path,
    out: Path | None = None,
    form: Literal["letor", "trec"] = "letor",
    columns: Columns | None = None,
) -> int:
    """Score `data` with the model in `fold`, write the scores and return the number of documents.

    data: a file in any form that training reads. out: file to write; an existing file is replaced only when the new one
    is complete. If None, scores are printed. form: `letor` writes one score per line in row order, `trec` writes a run
    as returned by `gradrank.export.rankings.trec_run`. columns: names of the columns of a table, if they differ from
    those of the training data.

    Raises GradrankError if the folder has no model, if the data lack a feature of the model, if the data have a feature
    that the model was not trained on, or if the input is malformed.
    """
    if form not in ("letor", "trec"):
        raise GradrankError(f"form {form!r}: expected 'letor' or 'trec'")
    trained, rows, unnamed = TrainedFold.load(fold), 0, 0
    several, is_ordered = False, False
    reading = read_new(Path(data), trained.schema, columns)
    with _opened(out) as stream:
        for batch in batches(reading):
            scores = trained.score(batch.features, batch.offsets)
            if form == "letor":
                stream.write("\n".join([*map(repr, scores.tolist()), ""]))
            else:
                stream.write(_trec_run(batch, scores, rows, trained.model.name))
                unnamed += batch.docids.null_count()
            rows += len(scores)
            several |= bool(np.any(np.diff(batch.offsets) > 1))
            is_ordered = is_ordered or has_order(scores, batch.offsets)
    if several and not is_ordered:
        print(
            f"warning: {data}: the model gives all documents of each query the same score, so it orders nothing",
            file=sys.stderr,
        )
    if unnamed:
        print(
            f"note: {data}: {unnamed} documents have no id; the run uses their row numbers, from 1, as ids, as "
            "`gradrank evaluate` does",
            file=sys.stderr,
        )
    return rows


def _trec_run(batch: Batch, scores: np.ndarray, before: int, tag: str) -> str:
    from gradrank.export.rankings import trec_run
    from gradrank.measures.judgements import document_ids

    names = document_ids(batch.docids, len(scores), before)
    return trec_run(scores, batch.offsets, batch.qids, names, tag)


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """Open `out` for writing. Without a path, yield standard output."""
    if out is not None:
        with atomic(out) as partial, partial.open("w", encoding="utf-8") as stream:
            yield stream
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as `head` closed the pipe; prevent another flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
