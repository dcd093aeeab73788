"""YetiRank (Gulin et al. 2011) with the weights of YetiLoss (Lyzhin et al. 2023).

Each pair consists of the documents at two neighbouring ranks after noise was added to the scores.

Sources: Gulin et al. 2011, Winning The Transfer Learning Track of Yahoo!'s Learning To Rank Challenge with YetiRank;
Lyzhin et al. 2023, Which Tricks are Important for Learning to Rank?
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError, unknown
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares

MEASURES = ("ndcg", "mrr")


@loss
def yeti(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    measure: str = "ndcg",
    draws: int = 10,
    cutoff: int = ALL_RANKS,
) -> tuple[float, np.ndarray]:
    """Return the mean over noisy orders of sum_r w_r ln(1 + e^(-(s_i - s_j))), summed over queries, and its gradient.

    A noisy order sorts the documents by s + ln(u / (1 - u)), where u is uniform in (0, 1). For each rank r, i is the
    better and j the worse of the documents at ranks r and r + 1, if their grades differ. The weight w_r is the change
    of the measure if the two documents exchange ranks. The gradient treats w_r as a constant. The weights are, by
    measure:

        ndcg: |G_i - G_j| |1/D(r) - 1/D(r + 1)|, with the gains G = (2^y - 1) / IDCG@cutoff and D(r) = log2(1 + r);
            1/D is 0 beyond the cutoff
        mrr: 1/r - 1/(r + 1) at ranks up to the first relevant document, if only one of the two documents is relevant

    The noise is logistic, although CatBoost calls it Gumbel noise. Time per query: O(draws n log n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of the noise. If None, the only order is that of the scores without noise.
        measure: "ndcg" or "mrr".
        draws: number of orders.
        cutoff: number of ranks that count.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.

    Raises:
        GradrankError: if `measure` is unknown.
    """
    if measure not in MEASURES:
        raise GradrankError(unknown("measure", measure, MEASURES))
    count = draws if rng is not None else 1
    share = ideal_shares(labels, offsets, cutoff)
    cost, gradient = 0.0, np.zeros(len(scores))
    for _ in range(count):
        noise = 0.0 if rng is None else rng.logistic(size=len(scores))
        ranked = order(scores + noise, offsets)
        cost += _neighbours(scores, labels, offsets, ranked, share, measure == "mrr", cutoff, gradient)
    return cost / count, gradient / count


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], b1, i8, f8[:] out")
def _neighbours(scores, labels, offsets, ranked, share, is_mrr, cutoff, gradient):
    """Return the cost of the pairs of neighbours in one order, and add its derivatives to `gradient`."""
    cost = 0.0
    for q in range(len(offsets) - 1):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        discount = discounts(n, cutoff)
        for r in range(n - 1):
            i, j = ranked[a + r], ranked[a + r + 1]
            if is_mrr:
                relevant = (labels[i] > 0) != (labels[j] > 0)
                weight = 1.0 / (r + 1.0) - 1.0 / (r + 2.0) if relevant and r < cutoff else 0.0
            else:
                weight = abs(share[i] - share[j]) * (discount[r] - discount[r + 1])
            if weight > 0.0:
                better, worse = (i, j) if labels[i] > labels[j] else (j, i)
                o = scores[better] - scores[worse]
                e = np.exp(-abs(o))
                cost += weight * (max(-o, 0.0) + np.log1p(e))
                slope = weight * (e if o >= 0.0 else 1.0) / (1.0 + e)
                gradient[better] -= slope
                gradient[worse] += slope
            if is_mrr and labels[i] > 0:
                break
    return cost
