"""A ranking measure of documents that rank by level, the highest first, in expectation over orders within levels."""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError


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


def measure_of(name: str, labels: np.ndarray, offsets: np.ndarray, discount: str = "letor4") -> Measure:
    """`ndcg@K` (a shorter query: NDCG@n), `p@K` or `ap`; a grade of 1 or more is relevant.

    labels: (n,) grades; offsets: (q+1,). discount: of NDCG, `letor4`'s (1, then 1 / log2 rank from rank 2 on) or the
    `standard` 1 / log2(1 + rank). Raises GradrankError for another name.
    """
    match = re.fullmatch(r"(ndcg|p)@([1-9]\d*)|ap", name)
    if match is None:
        raise GradrankError(f"measure {name!r}: expected 'ndcg@K', 'p@K' or 'ap', as in 'ndcg@10'")
    rank = np.arange(1, np.diff(offsets).max() + 1)
    cutoff = len(rank) if name == "ap" else int(match[2])
    relevant = (labels > 0).astype(np.float64)
    if name == "ap":
        gain, weights = relevant, 1.0 / rank
        best = np.add.reduceat(relevant, offsets[:-1])
    elif match[1] == "p":
        gain, weights = relevant, (rank <= cutoff).astype(np.float64)
        best = np.full(len(offsets) - 1, float(cutoff))
    else:
        place = np.maximum(rank, 2) if discount == "letor4" else rank + 1
        gain, weights = 2.0**labels - 1.0, (rank <= cutoff) / np.log2(place)
        best = np.array([np.sort(gain[a:b])[::-1] @ weights[: b - a] for a, b in pairwise(offsets)])
    scale = np.divide(1.0, best, out=np.zeros(len(best)), where=best > 0)
    return Measure(gain, scale, np.r_[0.0, np.cumsum(weights)], cutoff, name == "ap")


@compiled()
def by_level(levels, gain, C):
    """(C,) documents of each level and sum of their gains; levels, gain: (n,)."""
    documents, gains = np.zeros(C, np.int64), np.zeros(C)
    for j in range(len(levels)):
        documents[levels[j]] += 1
        gains[levels[j]] += gain[j]
    return documents, gains


@compiled()
def expected_value(documents, gains, measure):
    """A query's measure, before its scale, in expectation over random orders within levels.

    documents, gains: (C,) documents of each level and sum of their gains.
    """
    return sums_above(documents, gains, measure)[0][0]


@compiled()
def sums_above(documents, gains, measure):
    """(C + 1,) measure before its scale, documents and gains of each level and all higher ones; the last are 0."""
    C = len(documents)
    value, above, gain_above = np.zeros(C + 1), np.zeros(C + 1, np.int64), np.zeros(C + 1)
    for level in range(C - 1, -1, -1):
        n, gain, before, gain_before = documents[level], gains[level], above[level + 1], gain_above[level + 1]
        value[level] = value[level + 1] + term(n, gain, before, gain_before, measure)
        above[level], gain_above[level] = before + n, gain_before + gain
    return value, above, gain_above


@compiled()
def changed_values(highest, documents, gains, sums, measure):
    """(m,) a query's measure, before its scale, under (m, C) documents and gains, each other than those of `sums` in
    the levels (m,) `highest` and below; -1: nowhere. What is above gives what it gave.
    """
    value, above, gain_above = sums
    values = np.full(len(highest), value[0])
    for i in range(len(highest)):
        top = highest[i] + 1
        if top > 0 and above[top] < measure.cutoff:
            total, so_far, gain_so_far = value[top], above[top], gain_above[top]
            for level in range(highest[i], -1, -1):
                n, gain = documents[i, level], gains[i, level]
                total += term(n, gain, so_far, gain_so_far, measure)
                so_far += n
                gain_so_far += gain
                if so_far >= measure.cutoff:
                    break
            values[i] = total
    return values


@compiled()
def term(n, gain, above, gain_above, measure):
    """What a level of n documents with this sum of gains adds to a query's measure, below `above` documents.

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
