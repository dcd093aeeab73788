"""PiRank (Swezey et al. 2021): NDCG of a soft sort of the scores."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares
from gradrank.training.neural_sort import soft_sort, through_soft_sort


@loss
def pirank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 5.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """-sum_{r<=cutoff} (P G)_r / log2(1 + r), P the soft permutation of NeuralSort, G = (2^y - 1) / IDCG@cutoff.

    -NDCG@cutoff as the temperature falls. O(n min(n, cutoff)).
    """
    return _soft_ndcg(scores, ideal_shares(labels, offsets, cutoff), offsets, temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _soft_ndcg(scores, share, offsets, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        own = share[a:b]
        if own.sum() == 0.0:
            continue
        discount = discounts(min(b - a, cutoff), cutoff)
        soft = soft_sort(scores[a:b], len(discount), temperature)
        slope = np.empty(soft.shape)
        for r in range(len(discount)):
            slope[r] = -discount[r] * own
            cost += (soft[r] * slope[r]).sum()
        gradient[a:b] = through_soft_sort(scores[a:b], soft, slope, temperature)
    return cost, gradient
