"""LambdaRank: RankNet's cost, in which the weight of a pair is the change of NDCG if its documents swap ranks.

Sources: Burges, Ragno & Le 2006, Learning to Rank with Nonsmooth Cost Functions; Burges 2010, From RankNet to
LambdaRank to LambdaMART: An Overview.
"""

from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import descending, order
from gradrank.training.loss import loss
from gradrank.training.losses.ranknet import accumulate_by_pairs


class SwapWeights(NamedTuple):
    """The weights of pairs of documents, scale_q |gain_i - gain_j| |discount_i - discount_j|.

    gain: (n,) float64, one per document. discount: (n,) float64, one per document. scale: (q,) float64, one per query.
    """

    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray


@loss
def lambdarank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, sigma: float = 1.0, normalize: bool = False
) -> tuple[float, np.ndarray]:
    """Return the sum over pairs of |dNDCG_ij| ln(1 + e^(-sigma (s_i - s_j))), and its gradient.

    Each pair consists of two documents of one query with y_i > y_j. |dNDCG_ij| is the change of NDCG if documents i and
    j exchange their ranks by score. The gradient treats these weights as constants, so it consists of LambdaRank's
    lambdas (Burges 2010, section 4). Time per query: O(n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        sigma: scale of score differences.
        normalize: whether `normalize_by_query` is applied to the gradient. The cost does not change.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    cost, gradient = swap_weighted_cost(scores, labels, offsets, order(scores, offsets), sigma, False)
    return cost, normalize_by_query(gradient, offsets) if normalize else gradient


def normalize_by_query(gradient: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (n,) gradient, in which each query's part is divided by the sum of the absolute values of this part.

    All queries then have the same influence, whatever their number of pairs. A part that is zero stays zero. LightGBM's
    parameter lambdarank_norm has the same purpose.
    """
    total = np.add.reduceat(np.abs(gradient), offsets[:-1])
    return gradient / np.repeat(np.where(total > 0.0, total, 1.0), np.diff(offsets))


@compiled("f8[:], i8[:], i8[:], i8[:], f8, b1")
def swap_weighted_cost(scores, labels, offsets, ranked, sigma, ties):
    """Return RankNet's cost and its (n,) gradient, with the pairs weighted by `ndcg_swap`.

    ranked: (n,) row numbers by descending score within each query. ties: whether pairs of equal grades count.
    """
    weights = ndcg_swap(labels, offsets, ranked)
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        cost += accumulate_by_pairs(scores, labels, q, offsets, sigma, ties, weights, gradient)
    return cost, gradient


@compiled()
def ndcg_swap(labels, offsets, ranked):
    """Return the weights |dNDCG_ij| = |G_i - G_j| |D_i - D_j| / IDCG as SwapWeights.

    A weight is the change of NDCG if documents i and j exchange their ranks (Burges 2010, section 4). The gain is
    G = 2^y - 1, and the discount is D = 1 / log2(1 + rank) without a cutoff. All weights of a query with IDCG 0 are 0.
    ranked: (n,) row numbers by descending score within each query.
    """
    gain, discount = np.empty(len(labels)), np.empty(len(labels))
    scale = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        ideal = 0.0
        for i in range(a, b):
            gain[i] = 2.0 ** labels[i] - 1.0
        best = descending(gain[a:b])
        for i in range(b - a):
            d = 1.0 / np.log2(i + 2.0)
            discount[ranked[a + i]] = d
            ideal += gain[a + best[i]] * d
        if ideal > 0.0:
            scale[q] = 1.0 / ideal
    return SwapWeights(gain, discount, scale)
