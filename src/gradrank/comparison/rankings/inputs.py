"""Judgements and scores from arrays or files, with the rows of each query next to each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.comparison.rankings.arrays import ids, numbers, query_ids, same_length
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.stored import StoredCollection
from gradrank.measures.document_ids import document_ids
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.score_files import read_ranking


@dataclass(frozen=True)
class Judged:
    """Judgements, and the order in which they hold the caller's rows.

    rows: (n,) row numbers of the caller's arrays; None if the judgements have the rows in the caller's order.
    """

    judgements: Judgements
    rows: np.ndarray | None = None


def judged(y: Any, qid: Any, docid: Any) -> Judged:
    """Return the judgements in `y`: (n,) grades, or the path of a file or stored collection.

    qid, docid: (n,) query and document ids if `y` is an array, and None if `y` is a path or a Judgements object. The
    rows may be in any order. Queries are sorted by their first row, and the rows of a query keep their order. Raises
    GradrankError for invalid grades and ids.
    """
    if isinstance(y, str | Path | StoredCollection | Judgements):
        for name, given in (("qid", qid), ("docid", docid)):
            if given is not None:
                raise GradrankError(f"{name}: the data in y have their own ids. Fix: leave out {name}")
        return Judged(y if isinstance(y, Judgements) else read_judgements(y))
    labels = grades(y)
    queries, offsets, rows = group_rows(same_length(query_ids(qid, "qid"), len(labels), "qid", "grades in y"))
    docids = None
    if docid is not None:
        given_ids = same_length(ids(docid, "docid"), len(labels), "docid", "grades in y")
        docids = document_ids(given_ids.cast(pl.String), len(labels))
    if rows is not None:
        labels, docids = labels[rows], docids if docids is None else docids.gather(rows)
    if queries.dtype.is_integer():
        return Judged(Judgements(labels, offsets, queries.to_numpy(), docids), rows)
    names = np.array(queries.to_list(), dtype=object)
    return Judged(Judgements(labels, offsets, np.arange(1, len(names) + 1), docids, names), rows)


def ranking(judged: Judged, scores: Any, name: str) -> tuple[Judgements, np.ndarray, np.ndarray | None]:
    """Return judgements, (n,) float64 scores, and (n,) booleans that are True for documents in the ranking.

    If all documents are in the ranking, None is returned instead of the booleans. scores: (n,) numbers in the order of
    the caller's rows, or the path of a score file. name: name of the scores in error messages. Raises GradrankError for
    invalid scores.
    """
    judgements = judged.judgements
    if isinstance(scores, str | Path):
        if judged.rows is not None:
            raise GradrankError(
                f"{name}: a score file requires that the rows of each query in y are next to each other. Fix: sort y "
                "by qid, or give the scores as an array"
            )
        judgements, values, is_ranked = read_ranking(scores, judgements)
        return judgements, values, None if is_ranked.all() else is_ranked
    if not judgements.complete:
        raise GradrankError(
            f"{name}: an array has no document ids, which qrels require. Fix: give the path of a TREC run"
        )
    values = same_length(numbers(scores, name), len(judgements.labels), name, "grades in y")
    if not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise GradrankError(
            f"{name}: the score of row {row} (counted from 0) is {values[row]}. Fix: give every document a finite score"
        )
    values = values.astype(np.float64, copy=False)
    return judgements, values if judged.rows is None else values[judged.rows], None


def grades(y: Any, name: str = "y") -> np.ndarray:
    """Return the (n,) grades as integers. name: name of the argument in error messages."""
    values = numbers(y, name)
    if not len(values):
        raise GradrankError(f"{name}: no documents. Fix: give at least one document")
    is_invalid = (values < 0) | (values > HIGHEST_GRADE)
    if values.dtype.kind == "f":
        is_invalid |= values != np.floor(values)  # true for nan, too
    if is_invalid.any():
        row = int(np.argmax(is_invalid))
        raise GradrankError(
            f"{name}: the grade of row {row} (counted from 0) is {values[row]:g}. Fix: give integer grades from 0 to "
            f"{HIGHEST_GRADE}"
        )
    return values.astype(np.int64, copy=False)


def group_rows(qid: pl.Series) -> tuple[pl.Series, np.ndarray, np.ndarray | None]:
    """Return the (q,) query ids in the order of their first rows, (q+1,) offsets, and the (n,) grouped row numbers.

    If the rows of each query are next to each other, None is returned instead of the row numbers. Polars only holds the
    ids, because its parallel operations do not return in a forked process.
    """
    values = qid.to_numpy() if qid.dtype.is_integer() else np.array(_positions(qid.to_list()), np.int64)
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.zeros(0, np.int64)
    _, first, query = np.unique(values[starts], return_index=True, return_inverse=True)
    lengths = np.diff(np.r_[starts, len(values)])
    if len(first) == len(starts):
        return qid.gather(starts), np.r_[0, np.cumsum(lengths)], None
    rank = np.argsort(np.argsort(first))  # queries in the order of their first rows
    query_of_row = np.repeat(rank[query], lengths)
    offsets = np.r_[0, np.cumsum(np.bincount(query_of_row))]
    return qid.gather(starts[np.sort(first)]), offsets, np.argsort(query_of_row, kind="stable")


def _positions(texts: Sequence[str]) -> list[int]:
    """Return the position of each text among the distinct texts, in the order of their first appearance."""
    found: dict[str, int] = {}
    return [found.setdefault(text, len(found)) for text in texts]
