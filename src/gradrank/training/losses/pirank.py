"""PiRank (Swezey et al. 2021): NDCG of a soft permutation.

Source: Swezey et al. 2021, PiRank: Scalable Learning To Rank via Differentiable Sorting.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares
from gradrank.training.neural_sort import soft_sort, soft_sort_gradient


@loss
def pirank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 5.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_{r<=cutoff} (P G)_r / log2(1 + r), and its gradient.

    P is the soft permutation of NeuralSort, and the gains are G = (2^y - 1) / IDCG@cutoff. The cost of a query tends to
    -NDCG@cutoff as the temperature tends to 0. Time per query: O(n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: temperature of NeuralSort.
        cutoff: number of ranks that count.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _soft_ndcg(scores, ideal_shares(labels, offsets, cutoff), offsets, temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _soft_ndcg(scores, share, offsets, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        gains = share[a:b]
        if gains.sum() == 0.0:
            continue
        discount = discounts(min(b - a, cutoff), cutoff)
        soft = soft_sort(scores[a:b], len(discount), temperature)
        slope = np.empty(soft.shape)
        for r in range(len(discount)):
            slope[r] = -discount[r] * gains
            cost += (soft[r] * slope[r]).sum()
        gradient[a:b] = soft_sort_gradient(scores[a:b], soft, slope, temperature)
    return cost, gradient
