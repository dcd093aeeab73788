"""Unique softmax (Zhu & Klabjan 2020): a softmax over each document and all documents of lower grades.

Source: Zhu & Klabjan 2020, Listwise Learning to Rank by Exploring Unique Ratings.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.plackett_luce import log_add


@loss
def unique_softmax(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of the cost below, and its gradient with respect to the scores.

    The cost of a query is -sum_i (2^y_i - 1) ln [e^s_i / (e^s_i + sum_{y_j < y_i} e^s_j)]. Time per query:
    O(n log n), because documents of one grade share the sum over the lower grades.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _by_grade(scores, labels, offsets, order(labels.astype(np.float64), offsets))


@compiled("f8[:], i8[:], i8[:], i8[:]")
def _by_grade(scores, labels, offsets, ordered):
    cost = 0.0
    gradient = np.zeros(len(scores))
    below = np.empty(len(scores))  # ln sum of exp(score) over the lower grades
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        lower, level = -np.inf, -np.inf
        for place in range(b - 1, a - 1, -1):
            row = ordered[place]
            if place < b - 1 and labels[row] != labels[ordered[place + 1]]:
                lower = level
            below[place] = lower
            level = log_add(level, scores[row])
        higher, level = -np.inf, -np.inf  # ln sum of gain / denominator over the higher grades
        for place in range(a, b):
            row = ordered[place]
            if place > a and labels[row] != labels[ordered[place - 1]]:
                higher = level
            gain = 2.0 ** labels[row] - 1.0
            log_sum = log_add(scores[row], below[place])
            cost += gain * (log_sum - scores[row])
            gradient[row] = gain * np.expm1(scores[row] - log_sum) + np.exp(scores[row] + higher)
            if gain > 0.0:
                level = log_add(level, np.log(gain) - log_sum)
    return cost, gradient
