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
    """Return the sum over queries of sum_r w_r [ln sum_{k>=r} exp s_(k) - s_(r)], and its gradient.

    s_(r) is the score of the document at rank r in the order by grade. Time per query: O(n log n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator that shuffles documents of equal grades (Xia et al. 2008). If None, documents of equal grades
            keep the order of the rows.
        positions: whether w_r is proportional to 2^(n-r) - 1, with sum 1 (Lan et al. 2014). Otherwise w_r = 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
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
    """Return the (n,) weights of the ranks of all queries, proportional to 2^(n-r) - 1 for rank r of n documents.

    The weights of a query sum to 1. If a query has only one document, its weight is 0. The powers are scaled by 2^-n,
    because 2^n overflows from 1,024 documents on.
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
