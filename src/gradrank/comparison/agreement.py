"""Agreement of two rankings of the same documents: Kendall's tau and Spearman's rho per query."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.order import descending
from gradrank.data.tables.roles import Columns
from gradrank.measures.judgements import Judgements, read_judgements
from gradrank.measures.score_files import read_ranking


def agreement(
    scores: Path | str,
    against: Path | str,
    data: Path | str,
    split: str = "test",
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Return one row per query of `data` with `qid` and the rank correlations `kendall_tau` and `spearman_rho`.

    scores, against: two score files, as in `read_scores`. Only documents with a score in both files are compared. data,
    split, columns: as in `read_scores` and `read_judgements`. A value is null if a query has fewer than two documents
    with scores, or if a file gives the same score to all of them. Raises GradrankError if the scores are malformed. The
    error is also raised if `data` are qrels and the two files differ in the documents that are ranked but not judged.
    """
    judged = read_judgements(data, columns=columns)
    judgements, first, first_ranked = read_ranking(scores, judged, split)
    others, second, second_ranked = read_ranking(against, judged, split)
    if len(first) != len(second) or not _same_documents(judgements, others):
        raise GradrankError(
            f"{scores}, {against}: the files differ in the ranked documents that have no grade in {data}. Fix: give "
            "the ranked collection as the data"
        )
    both = first_ranked & second_ranked
    offsets = np.r_[0, np.cumsum(both)][judgements.offsets]
    tau, rho = kendall_tau(first[both], second[both], offsets), spearman_rho(first[both], second[both], offsets)
    values = {"kendall_tau": tau, "spearman_rho": rho}
    table = pl.DataFrame({"qid": judgements.ids} | values)
    return table.with_columns(pl.col(values).fill_nan(None))


def _same_documents(one: Judgements, two: Judgements) -> bool:
    return one.docids is None or (two.docids is not None and one.docids.equals(two.docids))


@compiled("f8[:], f8[:], i8[:]")
def kendall_tau(a, b, offsets):
    """Return (q,) float64 values of Kendall's tau-b (Kendall 1945).

    tau-b = (pairs in the same order - pairs in opposite order) / sqrt(pairs untied in a * pairs untied in b).
    a, b: (n,) float64 scores. offsets: (q+1,). The value is nan if all scores of a query are equal in a or in b. The
    time for a query of m documents is O(m^2).
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        alike, untied_a, untied_b = 0.0, 0.0, 0.0
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], i):
                first, second = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
                alike += first * second
                untied_a += abs(first)
                untied_b += abs(second)
        if untied_a > 0.0 and untied_b > 0.0:
            out[q] = alike / np.sqrt(untied_a * untied_b)
    return out


@compiled("f8[:], f8[:], i8[:]")
def spearman_rho(a, b, offsets):
    """Return (q,) float64 values of Spearman's rho (Spearman 1904).

    a, b: (n,) float64 scores. offsets: (q+1,). Equal scores share their mean rank. The value is nan if all scores of a
    query are equal in a or in b.
    """
    out = np.full(len(offsets) - 1, np.nan)
    for q in range(len(out)):
        first = _centred_ranks(a[offsets[q] : offsets[q + 1]])
        second = _centred_ranks(b[offsets[q] : offsets[q + 1]])
        size = (first * first).sum() * (second * second).sum()
        if size > 0.0:
            out[q] = (first * second).sum() / np.sqrt(size)
    return out


@compiled()
def _centred_ranks(values):
    """Return the ranks minus their mean. The results are multiples of 1/2, so that their sums are exact."""
    ranked = descending(-values)
    ranks = np.empty(len(values))
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[ranked[end]] != values[ranked[start]]:
            for place in range(start, end):
                ranks[ranked[place]] = (start + end - 1) / 2.0 - (len(values) - 1) / 2.0
            start = end
    return ranks
