"""ListMLE (Xia et al. 2008): the likelihood of the order by grade, optionally weighted by position (Lan et al. 2014).

Sources: Xia et al. 2008, Listwise Approach to Learning to Rank: Theory and Algorithm; Lan et al. 2014, Position-Aware
ListMLE: A Sequential Learning Process for Ranking.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.plackett_luce import order_likelihood


@loss
def listmle(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    positions: bool = False,
) -> tuple[float, np.ndarray]:
    """Compute sum_r w_r [ln sum_{k>=r} exp s_(k) - s_(r)] per query, where s_(r) is the score at rank r by grade.

    Time per query: O(n log n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator for the order of equal grades (Xia et al. 2008). None: they keep the order of the rows.
        positions: whether w_r is proportional to 2^(n-r) - 1, with sum 1 (Lan et al. 2014). Otherwise w_r = 1.

    Returns:
        The cost and its (n,) float64 gradient in the scores.
    """
    if rng is not None:
        shuffled = order(rng.random(len(scores)), offsets)
        ordered = shuffled[order(labels[shuffled].astype(np.float64), offsets)]
    else:
        ordered = order(labels.astype(np.float64), offsets)
    weights = position_weights(offsets) if positions else np.ones(len(scores))
    return order_likelihood(scores, offsets, ordered, weights)


@compiled("i8[:]")
def position_weights(offsets):
    """Return (n,) weights proportional to 2^(n-r) - 1 for the ranks r of each query, with sum 1.

    The weight of a query's only document is 0. All weights are scaled by 2^-n, because 2^n overflows from 1,024
    documents on.
    """
    out = np.zeros(offsets[-1])
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        for r in range(a, b):
            out[r] = 0.5 ** (r - a + 1.0) - 0.5 ** float(b - a)
        total = out[a:b].sum()
        if total > 0.0:
            out[a:b] /= total
    return out
