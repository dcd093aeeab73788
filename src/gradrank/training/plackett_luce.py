"""The Plackett-Luce model of an order: each rank drawn by softmax of the scores from what is left."""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:], i8[:], f8[:]")
def order_likelihood(scores, offsets, ordered, weights):
    """-sum_r w_r ln P(the document at rank r | those at ranks r and below), and its gradient, each query O(n).

    ordered: (n,) row numbers, the order of each query; weights: (n,) float64 >= 0, one a rank. Sums are kept as
    logarithms: a document far below all before it would lose them.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    left = np.empty(len(scores))  # ln sum of exp(score) from this rank on
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        log_sum = -np.inf
        for r in range(b - 1, a - 1, -1):
            log_sum = log_add(log_sum, scores[ordered[r]])
            left[r] = log_sum
        log_shares = -np.inf  # ln sum of w_r / (sum of exp(score) from r on), over the ranks so far
        for r in range(a, b):
            row = ordered[r]
            cost += weights[r] * (left[r] - scores[row])
            if weights[r] > 0.0:
                log_shares = log_add(log_shares, np.log(weights[r]) - left[r])
            gradient[row] = np.exp(scores[row] + log_shares) - weights[r]
    return cost, gradient


@compiled()
def log_add(x, y):
    """ln(e^x + e^y) without overflow; -inf is nothing yet."""
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))
