"""Root mean squared error per query.

Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (the pointwise RMSE of allRank).
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def pointwise_rmse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of sqrt(mean_i (y_i - s_i)^2), and its gradient with respect to the scores.

    For a query with cost 0, the gradient is set to 0. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _errors(scores, labels, offsets)


@compiled("f8[:], i8[:], i8[:]")
def _errors(scores, labels, offsets):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        squares = 0.0
        for i in range(a, b):
            squares += (scores[i] - labels[i]) ** 2
        if squares > 0.0:
            error = np.sqrt(squares / (b - a))
            cost += error
            for i in range(a, b):
                gradient[i] = (scores[i] - labels[i]) / ((b - a) * error)
    return cost, gradient
