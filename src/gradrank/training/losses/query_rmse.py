"""Squared error up to a constant of each query, which no order depends on (CatBoost's QueryRMSE)."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def query_rmse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """sum_i (d_i - mean(d))^2, d_i = y_i - s_i: the squared error left by the best constant of each query."""
    return centred_squares(scores, labels, offsets, False)


@compiled("f8[:], i8[:], i8[:], b1")
def centred_squares(scores, labels, offsets, times_documents):
    """sum_i (d_i - mean(d))^2 and its gradient, a query's multiplied by its documents if `times_documents`."""
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
