"""Squared error after the best constant is added to the scores of each query. This constant does not change the order.

Source: QueryRMSE of CatBoost (without its mean and square root).
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def query_rmse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of sum_i (d_i - mean(d))^2 with d_i = y_i - s_i, and its gradient.

    This is the squared error that remains after the best constant is added to all scores of the query. Time per query:
    O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return centred_squares(scores, labels, offsets, False)


@compiled("f8[:], i8[:], i8[:], b1")
def centred_squares(scores, labels, offsets, times_documents):
    """Return the sum over queries of sum_i (d_i - mean(d))^2 with d = labels - scores, and its (n,) gradient.

    times_documents: whether the cost of each query is multiplied by its number of documents.
    """
    cost = 0.0
    gradient = np.empty(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        mean = 0.0
        for i in range(a, b):
            mean += (labels[i] - scores[i]) / (b - a)
        times = b - a if times_documents else 1
        for i in range(a, b):
            d = labels[i] - scores[i] - mean
            cost += times * d * d
            gradient[i] = -2.0 * times * d
    return cost, gradient
