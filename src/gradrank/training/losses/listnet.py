"""ListNet (Cao et al. 2007): cross-entropy between the top-one probabilities of grades and scores.

Source: Cao et al. 2007, Learning to Rank: From Pairwise Approach to Listwise Approach.
"""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.top_one import cross_entropy, softmax


@loss
def listnet(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, sigma: float = 1.0
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i P_y(i) ln P_s(i), and its gradient sigma (P_s - P_y).

    P_y = softmax(labels / temperature) and P_s = softmax(sigma * scores), each within one query. They are the top-one
    probabilities of Cao et al. 2007 with phi = exp. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: divisor of the grades.
        sigma: factor of the scores.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    target = softmax(labels / temperature, offsets)
    cost, gradient = cross_entropy(sigma * scores, target, np.ones(len(offsets) - 1), offsets)
    return cost, sigma * gradient
