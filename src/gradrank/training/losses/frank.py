"""The fidelity loss of FRank (Tsai et al. 2007) on pairs of different grades.

Source: Tsai et al. 2007, FRank: a ranking method with fidelity loss. The formula was not checked against the
text of the paper. Tests confirm that the cost of a pair is 0 at probability 1 and 1 - sqrt(1/2) at equal scores. They
also compare the gradient with finite differences. The paper uses this loss to boost single features. Here, the loss
trains any scorer.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def frank(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over pairs with y_i > y_j of 1 - sqrt(P_ij), and its gradient with respect to the scores.

    Both documents of a pair belong to one query. P_ij = sig(s_i - s_j), where sig is the logistic function. The cost of
    a pair is the fidelity loss 1 - sqrt(P t) - sqrt((1 - P)(1 - t)) for the target t = 1. This cost is at most 1. Time
    per query: O(n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _fidelity(scores, labels, offsets)


@compiled("f8[:], i8[:], i8[:]")
def _fidelity(scores, labels, offsets):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], offsets[q + 1]):
                if labels[i] > labels[j]:
                    o = scores[i] - scores[j]
                    e = np.exp(-abs(o))
                    p = (1.0 if o >= 0.0 else e) / (1.0 + e)
                    complement = (e if o >= 0.0 else 1.0) / (1.0 + e)
                    cost += 1.0 - np.sqrt(p)
                    slope = -0.5 * np.sqrt(p) * complement
                    gradient[i] += slope
                    gradient[j] -= slope
    return cost, gradient
