"""A ranking measure of documents that rank by level, the highest first, in expectation over orders within levels."""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gradrank.compiled import compiled
from gradrank.errors import GradrankError


class Measure(NamedTuple):
    """A ranking measure, larger being better: scale * sum over ranks of discount * gain.

    gain: (n,) float64. scale: (q,) float64. cumulated: (longest query + 1,) float64, the sum of the discounts
    of the first ranks, constant from rank `cutoff` on. precision: for AP, with 1 / rank as discount, a rank's
    term is multiplied by the relevant documents down to it.
    """

    gain: np.ndarray
    scale: np.ndarray
    cumulated: np.ndarray
    cutoff: int
    precision: bool

    def of(self, rows: np.ndarray, queries: np.ndarray) -> "Measure":
        """The measure on some of the queries, whose documents are `rows`."""
        return self._replace(gain=self.gain[rows], scale=self.scale[queries])


def measure_of(name: str, labels: np.ndarray, offsets: np.ndarray) -> Measure:
    """`ndcg@K` under `letor4` (a shorter query: NDCG@n), `p@K` or `ap`; a grade of 1 or more is relevant.

    labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another name.
    """
    match = re.fullmatch(r"(ndcg|p)@([1-9]\d*)|ap", name)
    if match is None:
        raise GradrankError(f"measure {name!r}: expected 'ndcg@K', 'p@K' or 'ap', as in 'ndcg@10'")
    rank = np.arange(1, np.diff(offsets).max() + 1)
    cutoff = len(rank) if name == "ap" else int(match[2])
    relevant = (labels > 0).astype(np.float64)
    if name == "ap":
        gain, discount = relevant, 1.0 / rank
        best = np.add.reduceat(relevant, offsets[:-1])
    elif match[1] == "p":
        gain, discount = relevant, (rank <= cutoff).astype(np.float64)
        best = np.full(len(offsets) - 1, float(cutoff))
    else:
        gain, discount = 2.0**labels - 1.0, (rank <= cutoff) / np.log2(np.maximum(rank, 2))
        best = np.array([np.sort(gain[a:b])[::-1] @ discount[: b - a] for a, b in pairwise(offsets)])
    scale = np.divide(1.0, best, out=np.zeros(len(best)), where=best > 0)
    return Measure(gain, scale, np.r_[0.0, np.cumsum(discount)], cutoff, name == "ap")


class Levels(NamedTuple):
    """A query's documents by level.

    documents, gains, terms: (C,) of each level, how many, the sum of their gains, their share of the measure before
    its scale. value, above, gain_above: (C + 1,) sums of the terms, documents and gains of a level and all higher ones.
    """

    documents: np.ndarray
    gains: np.ndarray
    terms: np.ndarray
    value: np.ndarray
    above: np.ndarray
    gain_above: np.ndarray


@compiled
def by_level(drawn, gain, C, measure):
    """The `Levels` of documents with these levels and gains, both (n,)."""
    documents, gains, terms = np.zeros(C, np.int64), np.zeros(C), np.zeros(C)
    for j in range(len(drawn)):
        documents[drawn[j]] += 1
        gains[drawn[j]] += gain[j]
    value, above, gain_above = np.zeros(C + 1), np.zeros(C + 1, np.int64), np.zeros(C + 1)
    for level in range(C - 1, -1, -1):
        n, own = documents[level], gains[level]
        terms[level] = term(n, own, above[level + 1], gain_above[level + 1], measure)
        value[level] = value[level + 1] + terms[level]
        above[level], gain_above[level] = above[level + 1] + n, gain_above[level + 1] + own
    return Levels(documents, gains, terms, value, above, gain_above)


@compiled
def value_after(moved, drawn, reached, gain, levels, measure, documents, gains):
    """A query's measure, before its scale, once the documents `moved` have left their levels for `reached`.

    Levels above the highest that changes give what they gave, and those below the lowest give the same terms.
    moved, reached: (m,); drawn, gain: (n,); documents, gains: (C,) to write into.
    """
    highest, lowest = 0, len(documents)
    for m in range(len(moved)):
        before = drawn[moved[m]]
        highest, lowest = max(highest, before, reached[m]), min(lowest, before, reached[m])
    if levels.above[highest + 1] >= measure.cutoff:
        return levels.value[0]
    for level in range(lowest, highest + 1):
        documents[level], gains[level] = levels.documents[level], levels.gains[level]
    for m in range(len(moved)):
        before, own = drawn[moved[m]], gain[moved[m]]
        documents[before] -= 1
        documents[reached[m]] += 1
        gains[before] -= own
        gains[reached[m]] += own
    value, above, gain_above = (
        levels.value[highest + 1],
        levels.above[highest + 1],
        levels.gain_above[highest + 1],
    )
    for level in range(highest, lowest - 1, -1):
        value += term(documents[level], gains[level], above, gain_above, measure)
        above += documents[level]
        gain_above += gains[level]
        if above >= measure.cutoff:
            return value
    for level in range(lowest - 1, -1, -1):
        value += levels.terms[level]
    return value


@compiled
def expected_value(documents, gains, measure):
    """A query's measure, before its scale, in expectation over random orders within levels.

    documents, gains: (C,) documents of each level and sum of their gains.
    """
    value, above, gain_above = 0.0, 0, 0.0
    for level in range(len(documents) - 1, -1, -1):
        value += term(documents[level], gains[level], above, gain_above, measure)
        above += documents[level]
        gain_above += gains[level]
    return value


@compiled
def term(n, gain, above, gain_above, measure):
    """What a level of n documents, their gains' sum `gain`, adds to a query's measure below `above` documents.

    Its documents at ranks a+1..a+n have gain G / n each and share the discounts of these ranks. Under AP a relevant
    one of G at rank a+i has G_above + 1 + (i - 1)(G - 1)/(n - 1) relevant documents down to it (McSherry & Najork
    2008).
    """
    if gain <= 0.0:
        return 0.0
    weight = measure.cumulated[above + n] - measure.cumulated[above]
    if measure.precision:
        spread = (gain - 1.0) / (n - 1.0) if n > 1 else 0.0
        weight = (gain_above + 1.0) * weight + spread * (n - (above + 1.0) * weight)
    return gain / n * weight
