"""Hinge loss on pairs of different grades, computed without listing the pairs.

Source: Joachims 2002, Optimizing Search Engines using Clickthrough Data.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss


@loss
def pairwise_hinge(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over pairs with y_i > y_j of max(0, 1 - (s_i - s_j)), and its gradient.

    Both documents of a pair belong to one query. Time per query: O(n log n + n L) for L grades.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _violations(scores, labels, offsets, order(scores, offsets))


@compiled("f8[:], i8[:], i8[:], i8[:]")
def _violations(scores, labels, offsets, ranked):
    """Return the cost and its (n,) gradient; see `pairwise_hinge`.

    The ranking of each query is scanned twice per grade. During a scan, a second position moves along, one margin ahead
    of or behind the first position.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        rows = ranked[offsets[q] : offsets[q + 1]]
        n = len(rows)
        for grade in np.unique(labels[rows]):
            at, count, total = 0, 0, 0.0  # count, total: over the documents of lower grades with scores above s_i - 1
            for place in range(n):
                i = rows[place]
                if labels[i] != grade:
                    continue
                while at < n and scores[rows[at]] > scores[i] - 1.0:
                    if labels[rows[at]] < grade:
                        count += 1
                        total += scores[rows[at]]
                    at += 1
                cost += count * (1.0 - scores[i]) + total
                gradient[i] -= count
            at, count = n - 1, 0  # count: over the documents of this grade with scores below s_j + 1
            for place in range(n - 1, -1, -1):
                j = rows[place]
                if labels[j] >= grade:
                    continue
                while at >= 0 and scores[j] > scores[rows[at]] - 1.0:
                    count += labels[rows[at]] == grade
                    at -= 1
                gradient[j] += count
    return cost, gradient
