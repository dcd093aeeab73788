"""RankCosine (Qin et al. 2008): the cosine distance between scores and grades.

Source: Qin et al. 2008, Query-level loss functions for information retrieval.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def rankcosine(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, centred: bool = False
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of (1 - cos(y, s)) / 2, and its gradient with respect to the scores.

    The cosine is 0 if all grades or all scores are 0. Time per query: O(n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        centred: whether each query's means of grades and scores are subtracted first. If so, adding a
            constant to all scores changes neither their order nor the cost.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _cosine_costs(scores, labels.astype(np.float64), offsets, centred)


@compiled("f8[:], f8[:], i8[:], b1")
def _cosine_costs(scores, grades, offsets, centred):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        s, y = scores[a:b].copy(), grades[a:b].copy()
        if centred and b > a:
            s -= s.mean()
            y -= y.mean()
        lengths = np.sqrt((s * s).sum()) * np.sqrt((y * y).sum())
        cosine = 0.0
        if lengths > 0.0:
            cosine = (s * y).sum() / lengths
            gradient[a:b] = (cosine * s / (s * s).sum() - y / lengths) / 2.0
        cost += (1.0 - cosine) / 2.0
    return cost, gradient
