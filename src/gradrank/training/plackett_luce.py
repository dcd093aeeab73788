"""The Plackett-Luce model of rankings.

The document at each rank is drawn from the remaining documents, with probabilities softmax(scores).
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:], i8[:], f8[:]")
def order_likelihood(scores, offsets, ordered, weights):
    """Return the weighted negative log-likelihood of an order, and its (n,) gradient with respect to the scores.

    The cost is the sum over queries of -sum_r w_r ln P_r, where P_r is the probability that the document at rank r is
    drawn from the documents at ranks r, ..., n. Sums are stored as logarithms, because documents with scores far below
    the others would vanish from plain sums. Time per query: O(n).

    scores: (n,) float64. offsets: (q+1,) int64. ordered: (n,) int64 row numbers in the order of the ranks, query by
    query. weights: (n,) float64 >= 0, the weights w of the ranks, query by query.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    left = np.empty(len(scores))  # ln sum of exp(score) over this rank and all later ranks
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        log_sum = -np.inf
        for r in range(b - 1, a - 1, -1):
            log_sum = log_add(log_sum, scores[ordered[r]])
            left[r] = log_sum
        log_shares = -np.inf  # ln sum of w_r / (sum of exp(score) from rank r on), over the previous ranks
        for r in range(a, b):
            row = ordered[r]
            cost += weights[r] * (left[r] - scores[row])
            if weights[r] > 0.0:
                log_shares = log_add(log_shares, np.log(weights[r]) - left[r])
            gradient[row] = np.exp(scores[row] + log_shares) - weights[r]
    return cost, gradient


@compiled()
def log_add(x, y):
    """Return ln(e^x + e^y) without overflow; -inf stands for an empty sum."""
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))
