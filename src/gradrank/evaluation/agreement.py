"""How alike two rankings of the same documents are: Kendall's tau and Spearman's rho, a value a query."""

from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.order import descending
from gradrank.data.tables.roles import Columns
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.score_files import read_ranking


def agreement(
    scores: Path | str,
    against: Path | str,
    data: Path | str,
    split: str = "test",
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """A row a query of `data`: `qid`, `kendall_tau`, `spearman_rho` of the scores of both files.

    scores, against, data, columns: as in `evaluate_file`; documents that one of the two leaves out are left out of
    both. Null where a query has fewer than two documents, or one of the two scores all alike. Raises GradrankError
    for malformed scores, and for qrels to which a run adds documents of its own.
    """
    judged = read_judgements(data, columns=columns)
    judgements, ours, ranked = read_ranking(scores, judged, split)
    others, theirs, also_ranked = read_ranking(against, judged, split)
    same = judgements.docids is None or judgements.docids.equals(others.docids)
    if len(ours) != len(theirs) or not same:
        raise GradrankError(
            f"{scores}, {against}: they rank documents that {data} does not judge, and not the same ones; give the "
            "collection that was ranked as the data"
        )
    both = ranked & also_ranked
    offsets = np.r_[0, np.cumsum(both)][judgements.offsets]
    tau, rho = kendall_tau(ours[both], theirs[both], offsets), spearman_rho(ours[both], theirs[both], offsets)
    values = {"kendall_tau": tau, "spearman_rho": rho}
    table = pl.DataFrame({"qid": judgements.ids} | values)
    return table.with_columns(pl.col(values).fill_nan(None))


@compiled("f8[:], f8[:], i8[:]")
def kendall_tau(a, b, offsets):
    """(q,) tau-b (Kendall 1945): (pairs in equal order - pairs in opposite ones) / sqrt(pairs untied in a * in b).

    a, b: (n,) float64 scores. nan where one of them has no pair untied. O(n^2) a query.
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
    """(q,) correlation of the ranks (Spearman 1904), equal scores sharing their mean; nan where all are equal."""
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
    """Ranks less their mean; whole and half numbers, so that no sum rounds."""
    ranked = descending(-values)
    ranks = np.empty(len(values))
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or values[ranked[end]] != values[ranked[start]]:
            for place in range(start, end):
                ranks[ranked[place]] = (start + end - 1) / 2.0 - (len(values) - 1) / 2.0
            start = end
    return ranks
