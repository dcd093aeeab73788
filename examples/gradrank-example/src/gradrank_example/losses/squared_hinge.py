"""Squared hinge loss on pairs of different grades.

Source: Chapelle and Keerthi 2010, Efficient algorithms for ranking with SVMs, Information Retrieval 13.
"""

from itertools import pairwise

import numpy as np

from gradrank.training.loss import loss


@loss
def squared_hinge(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over pairs with y_i > y_j of max(0, 1 - (s_i - s_j))^2, and its gradient.

    Both documents of a pair belong to one query. Time and memory per query: O(n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    cost, gradient = 0.0, np.zeros(len(scores))
    for start, end in pairwise(offsets):
        s, y = scores[start:end], labels[start:end]
        violations = np.where(y[:, None] > y, np.maximum(0.0, 1.0 - (s[:, None] - s)), 0.0)
        cost += float((violations**2).sum())
        gradient[start:end] = 2.0 * (violations.sum(axis=0) - violations.sum(axis=1))
    return cost, gradient
