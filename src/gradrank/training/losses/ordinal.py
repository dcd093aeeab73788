"""Ordinal regression with one binary classifier per grade k, which predicts whether the grade is at least k.

Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (the ordinal loss of allRank).
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


def _highest_grade(labels: np.ndarray) -> int:
    return max(int(labels.max(initial=0)), 1)


@loss(outputs=_highest_grade)
def ordinal(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_i sum_{k=1..K} BCE(sig(o_ik), [y_i >= k]), and its gradient with respect to the outputs o.

    BCE is the binary cross-entropy, and sig is the logistic function. A trained model scores a document by
    sum_k sig(o_ik). Time: O(n K).

    Args:
        scores: (n, K) float64 outputs o, where K is the highest grade; (n,) is accepted if K = 1.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; not used, because the documents are independent.

    Returns:
        The cost and its float64 gradient, which has the shape of `scores`.
    """
    cost, gradient = _binary_cross_entropies(scores[:, None] if scores.ndim == 1 else scores, labels)
    return cost, gradient.reshape(scores.shape)


@compiled("f8[:,:], i8[:]")
def _binary_cross_entropies(outputs, labels):
    cost = 0.0
    gradient = np.empty(outputs.shape)
    for i in range(len(outputs)):
        for k in range(outputs.shape[1]):
            target = 1.0 if labels[i] > k else 0.0
            o = outputs[i, k]
            e = np.exp(-abs(o))
            cost += max(o, 0.0) - target * o + np.log1p(e)
            gradient[i, k] = (1.0 if o >= 0.0 else e) / (1.0 + e) - target
    return cost, gradient
