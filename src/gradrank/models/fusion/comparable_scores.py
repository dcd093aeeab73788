"""Functions that convert the scores of a model to points, so that different models are comparable within a query.

The functions `z_score` and `min_max` use the scores. The other functions use only the ranks. Each function has the
arguments `scores`, (n,) float64, and `offsets`, (q+1,) int64 offsets of contiguous queries. It returns (n,) points.
Higher points are better. Ranks are counted from 1, and documents with equal scores share the mean of their ranks.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order


@compiled("f8[:], i8[:]")
def z_score(scores, offsets):
    """Return (s - mean) / standard deviation per query (Montague & Aslam 2001).

    The points are 0 if all scores of a query are equal.
    """
    out = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        low, high = scores[a:b].min(), scores[a:b].max()
        # The standard deviation of equal scores need not be 0: due to rounding, their mean can differ in the last bit.
        if high > low:
            unit = (scores[a:b] - low) / (high - low)
            out[a:b] = (unit - unit.mean()) / unit.std()
    return out


@compiled("f8[:], i8[:]")
def min_max(scores, offsets):
    """Return (s - minimum) / (maximum - minimum) per query; 0 if all scores of a query are equal (Lee 1997)."""
    out = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        low, high = scores[a:b].min(), scores[a:b].max()
        if high > low:
            out[a:b] = (scores[a:b] - low) / (high - low)
    return out


@compiled("f8[:], i8[:]")
def rank(scores, offsets):
    """Return the (n,) ranks of the documents within their queries. Unlike points, low ranks are better."""
    out = np.empty(len(scores))
    ranked = order(scores, offsets)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        first = a
        while first < b:
            last = first
            while last + 1 < b and scores[ranked[last + 1]] == scores[ranked[first]]:
                last += 1
            shared = (first + last) / 2.0 - a + 1.0
            for position in range(first, last + 1):
                out[ranked[position]] = shared
            first = last + 1
    return out


def reciprocal_rank(scores: np.ndarray, offsets: np.ndarray, k: float) -> np.ndarray:
    """Return 1 / (k + rank) (Cormack et al. 2009)."""
    return 1.0 / (k + rank(scores, offsets))


def inverse_square_rank(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return 1 / rank^2 (Mourão et al. 2015)."""
    return 1.0 / rank(scores, offsets) ** 2


def borda(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return n for the first of the n documents of a query, n - 1 for the second, and so on (Aslam & Montague 2001)."""
    sizes = np.diff(offsets)
    return np.repeat(sizes, sizes) + 1.0 - rank(scores, offsets)
