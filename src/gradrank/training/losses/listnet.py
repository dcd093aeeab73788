"""ListNet's loss on whole lists (Cao et al. 2007): cross-entropy between top-one probabilities."""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.top_one import cross_entropy, softmax


@loss
def listnet(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, sigma: float = 1.0
) -> tuple[float, np.ndarray]:
    """-sum_i P_y(i) ln P_s(i), and its gradient sigma (P_s - P_y).

    P_y = softmax(grades / temperature), P_s = softmax(sigma * scores), each within its query: the top-one
    probabilities of Cao et al. 2007 with phi = exp.
    """
    target = softmax(labels / temperature, offsets)
    cost, gradient = cross_entropy(sigma * scores, target, np.ones(len(offsets) - 1), offsets)
    return cost, sigma * gradient
