"""Hinge loss on pairs of different grade (Joachims 2002), without listing them."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss


@loss
def pairwise_hinge(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """sum_{y_i > y_j} max(0, 1 - (s_i - s_j)), O(n log n + n L) for L grades."""
    return _violations(scores, labels, offsets, order(scores, offsets))


@compiled("f8[:], i8[:], i8[:], i8[:]")
def _violations(scores, labels, offsets, ranked):
    """Two walks a grade down the ranking, each with a pointer that stays one margin ahead or behind."""
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        own = ranked[offsets[q] : offsets[q + 1]]
        n = len(own)
        for grade in np.unique(labels[own]):
            at, count, total = 0, 0, 0.0  # lower grades above this document's score less the margin
            for place in range(n):
                i = own[place]
                if labels[i] != grade:
                    continue
                while at < n and scores[own[at]] > scores[i] - 1.0:
                    if labels[own[at]] < grade:
                        count += 1
                        total += scores[own[at]]
                    at += 1
                cost += count * (1.0 - scores[i]) + total
                gradient[i] -= count
            at, count = n - 1, 0  # documents of this grade below a lower one's score and the margin
            for place in range(n - 1, -1, -1):
                j = own[place]
                if labels[j] >= grade:
                    continue
                while at >= 0 and scores[j] > scores[own[at]] - 1.0:
                    count += labels[own[at]] == grade
                    at -= 1
                gradient[j] += count
    return cost, gradient
