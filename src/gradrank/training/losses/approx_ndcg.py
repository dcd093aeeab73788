"""ApproxNDCG (Qin, Liu & Li 2010): NDCG with ranks replaced by differentiable approximations.

Source: Qin, Liu & Li 2010, A general approximation framework for direct optimization of information retrieval measures.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, ideal_shares


@loss
def approx_ndcg(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 0.1
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i G_i / log2(1 + r_i), and its gradient with respect to the scores.

    The smooth ranks are r_i = 1 + sum_{j != i} sig((s_j - s_i) / temperature), where sig is the logistic function. The
    gains are G_i = (2^y_i - 1) / IDCG. If a query has no equal scores, its cost tends to -NDCG as the temperature tends
    to 0. Time per query: O(n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: scale of score differences in the smooth ranks.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return smooth_ndcg(scores / temperature, ideal_shares(labels, offsets, ALL_RANKS), offsets, 1.0 / temperature)


@compiled("f8[:], f8[:], i8[:], f8")
def smooth_ndcg(scores, share, offsets, slope):
    """Return the cost of `approx_ndcg` at temperature 1, and its (n,) gradient multiplied by `slope`.

    share: (n,) normalised gains G.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        ranks = np.ones(b - a)
        curve = np.empty((b - a, b - a))  # derivative of sig for each pair
        for i in range(a, b):
            for j in range(i + 1, b):
                o = scores[j] - scores[i]
                e = np.exp(-abs(o))
                above = (1.0 if o >= 0.0 else e) / (1.0 + e)
                ranks[i - a] += above
                ranks[j - a] += 1.0 - above
                curve[i - a, j - a] = e / (1.0 + e) ** 2
        rank_slope = np.empty(b - a)  # derivative of the cost with respect to each rank
        for i in range(b - a):
            log_rank = np.log1p(ranks[i])
            cost -= share[a + i] * np.log(2.0) / log_rank
            rank_slope[i] = share[a + i] * np.log(2.0) / (log_rank**2 * (1.0 + ranks[i]))
        for i in range(b - a):
            for j in range(i + 1, b - a):
                change = slope * curve[i, j] * (rank_slope[i] - rank_slope[j])
                gradient[a + i] -= change
                gradient[a + j] += change
    return cost, gradient
