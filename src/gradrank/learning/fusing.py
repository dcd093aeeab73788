"""What makes different models' scores comparable within a query: z-scores and reciprocal ranks."""

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.order import order


@compiled
def z_score(scores, offsets):
    """(n,) (s - mean) / standard deviation over the query's documents; 0 where all are equal.

    scores: (n,) float64. offsets: (q+1,) int64.
    """
    out = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        low, high = scores[a:b].min(), scores[a:b].max()
        # Not by the deviation: the mean of equal numbers may differ from them in the last bit.
        if high > low:
            unit = (scores[a:b] - low) / (high - low)
            out[a:b] = (unit - unit.mean()) / unit.std()
    return out


@compiled
def reciprocal_rank(scores, offsets, k):
    """(n,) 1 / (k + rank); equal scores share the mean of the ranks that they occupy (1 is best).

    scores: (n,) float64. offsets: (q+1,) int64.
    """
    out = np.empty(len(scores))
    ranked = order(scores, offsets)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        first = a
        while first < b:
            last = first
            while last + 1 < b and scores[ranked[last + 1]] == scores[ranked[first]]:
                last += 1
            rank = (first + last) / 2.0 - a + 1.0
            for position in range(first, last + 1):
                out[ranked[position]] = 1.0 / (k + rank)
            first = last + 1
    return out
