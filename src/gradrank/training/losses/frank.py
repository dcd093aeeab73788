"""FRank's fidelity loss (Tsai et al. 2007) on pairs of different grade.

The formula is from memory of the literature; it is what its identity, 0 at certainty and 1 - sqrt(1/2) at equal
scores, and finite differences confirm. Its paper boosts it over single features; here it trains any scorer.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def frank(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """sum_{y_i > y_j} 1 - sqrt(P pbar) - sqrt((1 - P)(1 - pbar)), P = sig(s_i - s_j), target pbar = 1: 1 - sqrt(P).

    A pair costs at most 1, however wrong it is.
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
                    miss = (e if o >= 0.0 else 1.0) / (1.0 + e)
                    cost += 1.0 - np.sqrt(p)
                    slope = -0.5 * np.sqrt(p) * miss
                    gradient[i] += slope
                    gradient[j] -= slope
    return cost, gradient
