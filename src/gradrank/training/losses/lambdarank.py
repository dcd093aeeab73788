"""LambdaRank's pair weights on RankNet's cost (Burges, Ragno & Le 2006; Burges 2010)."""

from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import descending, order
from gradrank.training.loss import loss
from gradrank.training.losses.ranknet import by_pairs


class SwapWeights(NamedTuple):
    """Pair weights that factor over documents: scale_q * |gain_i - gain_j| * |discount_i - discount_j|.

    gain, discount: (n,) float64. scale: (q,) float64.
    """

    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray


@loss
def lambdarank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, sigma: float = 1.0, normalize: bool = False
) -> tuple[float, np.ndarray]:
    """RankNet's cost with pairs weighted by |dNDCG_ij|, and LambdaRank's lambdas (Burges 2010, section 4).

    The weights are held constant in the gradient. normalize: `by_query`; the cost is left as it is.
    """
    cost, gradient = swap_weighted(scores, labels, offsets, order(scores, offsets), sigma, False)
    return cost, by_query(gradient, offsets) if normalize else gradient


def by_query(gradient: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(n,) the gradient with each query's part divided by its sum of absolute values.

    Every query then pulls equally, however many pairs it has; a query without a gradient stays at zero. In
    the spirit of LightGBM's lambdarank_norm.
    """
    total = np.add.reduceat(np.abs(gradient), offsets[:-1])
    return gradient / np.repeat(np.where(total > 0.0, total, 1.0), np.diff(offsets))


@compiled("f8[:], i8[:], i8[:], i8[:], f8, b1")
def swap_weighted(scores, labels, offsets, ranked, sigma, ties):
    """RankNet's cost and gradient with each pair weighted by `ndcg_swap`. ranked: (n,) the order by score."""
    weights = ndcg_swap(labels, offsets, ranked)
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        cost += by_pairs(scores, labels, q, offsets, sigma, ties, weights, gradient)
    return cost, gradient


@compiled()
def ndcg_swap(labels, offsets, ranked):
    """|dNDCG_ij| = |G_i - G_j| |D_i - D_j| / IDCG: the change of NDCG if i and j swapped their present ranks.

    ranked: (n,) row numbers by descending score within each query.
    G = 2^y - 1, D = 1 / log2(1 + rank), not truncated (Burges 2010, section 4). Queries with IDCG 0 weigh 0.
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
