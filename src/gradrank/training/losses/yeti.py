"""YetiRank's pairs (Gulin et al. 2011) with YetiLoss' weights (Lyzhin et al. 2023): neighbours of noisy orders."""

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
    """RankNet's cost on the neighbours of `draws` orders by s + ln(u / (1 - u)), weighted and averaged over these.

    What exchanging the documents at ranks r and r + 1 changes is the weight, constant in the gradient. ndcg:
    |G_i - G_j| |1/D(r) - 1/D(r + 1)|, G = (2^y - 1) / IDCG@cutoff, D(r) = log2(1 + r), nothing beyond `cutoff`;
    mrr: 1/r - 1/(r + 1) up to the first relevant one. The noise is logistic; CatBoost calls it Gumbel. Without an
    rng there is none, and one draw is enough. Raises GradrankError for another measure.
    """
    if measure not in MEASURES:
        raise GradrankError(unknown("measure", measure, MEASURES))
    taken = draws if rng is not None else 1
    share = ideal_shares(labels, offsets, cutoff)
    cost, gradient = 0.0, np.zeros(len(scores))
    for _ in range(taken):
        noise = 0.0 if rng is None else rng.logistic(size=len(scores))
        ranked = order(scores + noise, offsets)
        cost += _neighbours(scores, labels, offsets, ranked, share, measure == "mrr", cutoff, gradient)
    return cost / taken, gradient / taken


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], b1, i8, f8[:] out")
def _neighbours(scores, labels, offsets, ranked, share, by_first, cutoff, gradient):
    """The cost of one order's neighbours; their slopes are added to `gradient`."""
    cost = 0.0
    for q in range(len(offsets) - 1):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        discount = discounts(n, cutoff)
        for r in range(n - 1):
            i, j = ranked[a + r], ranked[a + r + 1]
            if by_first:
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
            if by_first and labels[i] > 0:
                break
    return cost
