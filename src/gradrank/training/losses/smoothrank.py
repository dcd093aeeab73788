"""SmoothRank (Chapelle & Wu 2010): NDCG in which documents with similar scores share a rank.

Source: Chapelle & Wu 2010, Gradient descent optimization of smoothed information retrieval metrics. The formula was not
checked against the text of the paper. Tests confirm its limit and compare its gradient with finite differences. The
paper trains a linear scorer at decreasing temperatures, starting from the weights of a regression. This loss trains any
scorer at one temperature.
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
    """Return the sum over queries of -sum_{r<=cutoff} sum_i G_i h_ir / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. The share h_ir of document i in rank r is proportional to
    exp(-(s_i - s_(r))^2 / temperature), where s_(r) is the score at rank r; the shares in a rank sum to 1. If a query
    has no equal scores, its cost tends to -NDCG@cutoff as the temperature tends to 0. Time per query:
    O(n min(n, cutoff)).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: scale of squared score differences.
        cutoff: number of ranks that count.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
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
