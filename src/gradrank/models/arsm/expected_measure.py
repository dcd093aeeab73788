"""The expected value of a ranking measure if documents are ranked by level, the highest level first.

The documents of a level are in random order, and the expectation is over these orders.
"""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError


class Measure(NamedTuple):
    """A ranking measure of the form scale * sum over ranks of discount * gain. Larger values are better.

    gain: (n,) float64 gains of the documents. scale: (q,) float64 factors of the queries. cumulated: float64 array in
    which element r is the sum of the discounts of the first r ranks; r runs up to the length of the longest query.
    cutoff: the discount is 0 after this rank. precision: if True, the measure is AP. Then the discount is 1 / rank, and
    the term of a rank is multiplied by the number of relevant documents down to this rank.
    """

    gain: np.ndarray
    scale: np.ndarray
    cumulated: np.ndarray
    cutoff: int
    precision: bool

    def of(self, rows: np.ndarray, queries: np.ndarray) -> "Measure":
        """Return the measure of a subset of the queries.

        rows: row numbers of the documents of these queries. queries: numbers of the queries.
        """
        return self._replace(gain=self.gain[rows], scale=self.scale[queries])


def measure_of(name: str, labels: np.ndarray, offsets: np.ndarray, discount: str = "letor4") -> Measure:
    """Return the measure `ndcg@K`, `p@K` or `ap` of a collection. Grades of 1 or more are relevant.

    For a query with n < K documents, `ndcg@K` is NDCG@n.

    labels: (n,) grades. offsets: (q+1,). discount: the discount of NDCG. `letor4` is 1 at rank 1 and 1 / log2(rank)
    from rank 2 on. `standard` is 1 / log2(1 + rank).

    Raises GradrankError if `name` is not one of these measures.
    """
    match = re.fullmatch(r"(ndcg|p)@([1-9]\d*)|ap", name)
    if match is None:
        raise GradrankError(f"measure {name!r}: unknown. Fix: use 'ndcg@K', 'p@K' or 'ap', as in 'ndcg@10'")
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
    """Return the (C,) number of documents per level, and the (C,) sum of gains per level. levels, gain: (n,)."""
    documents, gains = np.zeros(C, np.int64), np.zeros(C)
    for j in range(len(levels)):
        documents[levels[j]] += 1
        gains[levels[j]] += gain[j]
    return documents, gains


@compiled()
def expected_value(documents, gains, measure):
    """Return the expected measure of a query, before multiplication by the scale.

    documents, gains: (C,), from `by_level`.
    """
    return sums_above(documents, gains, measure)[0][0]


@compiled()
def sums_above(documents, gains, measure):
    """Return three (C + 1,) arrays with sums over each level and all higher levels.

    The arrays are the sums of the contributions to the measure before multiplication by the scale, the sums of the
    numbers of documents, and the sums of the gains. The last element of each array, above the highest level, is 0.

    documents, gains: (C,), from `by_level`.
    """
    C = len(documents)
    value, above, gain_above = np.zeros(C + 1), np.zeros(C + 1, np.int64), np.zeros(C + 1)
    for level in range(C - 1, -1, -1):
        n, gain, before, gain_before = documents[level], gains[level], above[level + 1], gain_above[level + 1]
        value[level] = value[level + 1] + term(n, gain, before, gain_before, measure)
        above[level], gain_above[level] = before + n, gain_before + gain
    return value, above, gain_above


@compiled()
def changed_values(highest, documents, gains, sums, measure):
    """Return the (m,) expected measures of a query after each of m changes of levels.

    The measures are not yet multiplied by the scale.

    highest: (m,) the highest level that each change affects, or -1 if the change affects no level. Higher levels
    contribute as before. documents, gains: (m, C) numbers of documents and sums of gains per level after each change.
    sums: the result of `sums_above` before the changes.
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
    """Return the contribution of one level to the measure of a query, before multiplication by the scale.

    The n documents of the level have the ranks a+1 to a+n. At each of these ranks, the expected gain is G / n. For AP,
    if the document at rank a+i is relevant, the expected number of relevant documents down to this rank is
    G_above + 1 + (i - 1)(G - 1)/(n - 1) (McSherry & Najork 2008).

    n: number of documents of the level. gain: G, the sum of the gains of these documents. above: a, the number of
    documents of all higher levels. gain_above: G_above, the sum of the gains of the documents of all higher levels.
    """
    if gain <= 0.0:
        return 0.0
    weight = measure.cumulated[above + n] - measure.cumulated[above]
    if measure.precision:
        spread = (gain - 1.0) / (n - 1.0) if n > 1 else 0.0
        weight = (gain_above + 1.0) * weight + spread * (n - (above + 1.0) * weight)
    return gain / n * weight
