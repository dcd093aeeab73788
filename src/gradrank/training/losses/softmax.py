"""Softmax cross-entropy on grades (Bruch et al. 2019): a list weighs as much as its grades add up to."""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.top_one import cross_entropy


@loss
def softmax(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """-sum_i y_i ln p_i, p = softmax(scores) within the query; ListNet's targets are softmax(y) instead.

    Without a relevant document a query costs nothing.
    """
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = np.bincount(queries, labels, len(offsets) - 1)
    target = labels / np.where(total > 0.0, total, 1.0)[queries]
    return cross_entropy(scores, target, total, offsets)
