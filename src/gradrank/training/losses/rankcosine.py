"""RankCosine (Qin et al. 2008): the angle between scores and grades."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss
def rankcosine(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, centred: bool = False
) -> tuple[float, np.ndarray]:
    """(1 - cos(y, s)) / 2 of each query; grades or scores that are all 0 have cosine 0 with anything.

    centred: their means are taken off first, so that a shift of the scores, which changes no order, costs nothing.
    """
    return _angles(scores, labels.astype(np.float64), offsets, centred)


@compiled("f8[:], f8[:], i8[:], b1")
def _angles(scores, grades, offsets, centred):
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
