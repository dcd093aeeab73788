"""Ordinal regression by a yes-or-no question a grade: is this document's at least k? (Pobrotyn et al. 2020)"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


def _highest_grade(labels: np.ndarray) -> int:
    return max(int(labels.max(initial=0)), 1)


@loss(outputs=_highest_grade)
def ordinal(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """sum_{k=1..K} BCE(sig(o_k), [y >= k]) over all documents; a document's score is sum_k sig(o_k).

    scores: (n, K), K the highest grade; a single output may come as (n,). Documents are judged one by one: offsets
    do not matter.
    """
    cost, gradient = _questions(scores[:, None] if scores.ndim == 1 else scores, labels)
    return cost, gradient.reshape(scores.shape)


@compiled("f8[:,:], i8[:]")
def _questions(outputs, labels):
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
