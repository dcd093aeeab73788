"""SmoothRank's objective (Chapelle & Wu 2010): each rank of NDCG taken by all documents with scores near its own.

The formula is from memory of the literature; its limit and finite differences confirm it. Its paper trains a linear
scorer from regression on, the temperature falling; here it is a loss for any scorer.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares


@loss
def smoothrank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """-sum_{r<=cutoff} sum_i G_i h_ir / log2(1 + r), h_ir = exp(-(s_i - s_(r))^2 / temperature), of sum 1 over i.

    s_(r): the score at rank r; G = (2^y - 1) / IDCG@cutoff. -NDCG as the temperature falls, where no scores are equal.
    O(n min(n, cutoff)).
    """
    share = ideal_shares(labels, offsets, cutoff)
    return _near_ranks(scores, share, offsets, order(scores, offsets), temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], i8[:], f8, i8")
def _near_ranks(scores, share, offsets, ranked, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        near = np.empty(b - a)
        for r, discount in enumerate(discounts(min(b - a, cutoff), cutoff)):
            centre = ranked[a + r]
            for i in range(a, b):
                near[i - a] = np.exp(-((scores[i] - scores[centre]) ** 2) / temperature)
            near /= near.sum()
            gain = (near * share[a:b]).sum()
            cost -= discount * gain
            for i in range(a, b):
                slope = 2.0 * (scores[i] - scores[centre]) / temperature
                slope *= discount * near[i - a] * (share[i] - gain)
                gradient[i] += slope
                gradient[centre] -= slope
    return cost, gradient
