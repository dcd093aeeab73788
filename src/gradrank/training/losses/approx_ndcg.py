"""ApproxNDCG (Qin, Liu & Li 2010): NDCG with ranks made smooth."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, ideal_shares


@loss
def approx_ndcg(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 0.1
) -> tuple[float, np.ndarray]:
    """-sum_i G_i / log2(1 + r_i), r_i = 1 + sum_{j != i} sig((s_j - s_i) / temperature), G = (2^y - 1) / IDCG.

    -NDCG as the temperature falls, where no scores are equal. O(n^2).
    """
    return smooth_ndcg(scores / temperature, ideal_shares(labels, offsets, ALL_RANKS), offsets, 1.0 / temperature)


@compiled("f8[:], f8[:], i8[:], f8")
def smooth_ndcg(scores, share, offsets, slope):
    """-NDCG at smooth ranks of (n,) scores, and `slope` times its gradient; share: (n,) G."""
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        ranks = np.ones(b - a)
        curve = np.empty((b - a, b - a))  # sig' of each pair
        for i in range(a, b):
            for j in range(i + 1, b):
                o = scores[j] - scores[i]
                e = np.exp(-abs(o))
                above = (1.0 if o >= 0.0 else e) / (1.0 + e)
                ranks[i - a] += above
                ranks[j - a] += 1.0 - above
                curve[i - a, j - a] = e / (1.0 + e) ** 2
        fall = np.empty(b - a)  # of the cost as a document's rank rises
        for i in range(b - a):
            log_rank = np.log1p(ranks[i])
            cost -= share[a + i] * np.log(2.0) / log_rank
            fall[i] = share[a + i] * np.log(2.0) / (log_rank**2 * (1.0 + ranks[i]))
        for i in range(b - a):
            for j in range(i + 1, b - a):
                pull = slope * curve[i, j] * (fall[i] - fall[j])
                gradient[a + i] -= pull
                gradient[a + j] += pull
    return cost, gradient
