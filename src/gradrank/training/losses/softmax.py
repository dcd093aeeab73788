"""Softmax cross-entropy on grades. The weight of a query is the sum of its grades.

Source: Bruch et al. 2019, An Analysis of the Softmax Cross Entropy Loss for Learning-to-Rank with Binary Relevance.
"""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.top_one import cross_entropy


@loss
def softmax(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i y_i ln p_i, where p = softmax(scores), and its gradient.

    ListNet uses the targets softmax(y) instead of y. The cost of a query without relevant documents is 0. Time per
    query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = np.bincount(queries, labels, len(offsets) - 1)
    target = labels / np.where(total > 0.0, total, 1.0)[queries]
    return cross_entropy(scores, target, total, offsets)
