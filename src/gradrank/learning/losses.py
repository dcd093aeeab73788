"""RankNet's pair cost and LambdaRank's pair weights, factored into one gradient a document.

lambda_i = sum_j dC_ij/ds_i over the pairs of document i (Burges, Ragno & Le 2006): a net is passed backward
once a document, not once a pair. The pairs are implied by the grades; nothing of size O(pairs) is stored.
"""

from typing import NamedTuple

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.order import order


class SwapWeights(NamedTuple):
    """Pair weights that factor over documents: scale_q * |gain_i - gain_j| * |discount_i - discount_j|.

    gain, discount: (n,) float64. scale: (q,) float64.
    """

    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray


def pair_cost(difference: np.ndarray, target: np.ndarray | float = 1.0, sigma: float = 1.0) -> np.ndarray:
    """C = -target * o + log(1 + e^o), o = sigma * (s_i - s_j) (Burges et al. 2005, Eq. 3), without overflow.

    target: the wanted probability that i ranks above j: 1, 0, or 1/2 for a tie.
    """
    o = sigma * np.asarray(difference, dtype=np.float64)
    return np.logaddexp(0.0, o) - target * o


def ranknet(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, sigma: float = 1.0, ties: bool = False
) -> tuple[float, np.ndarray]:
    """RankNet's cost, summed over the pairs of unequal grades of each query, and its gradient.

    scores: (n,); labels: (n,) grades; offsets: (q+1,). Returns the cost and (n,) float64 lambdas.
    ties: pairs of equal grades count as well, with target probability 1/2 (2005 paper, section 5).
    """
    return factored(np.asarray(scores, dtype=np.float64), labels, offsets, sigma, ties, None)


def ranknet_curvature(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(n,) second derivative of RankNet's cost in each score where all scores are equal: a quarter of its pairs."""
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    grade = query * (int(labels.max()) + 1) + labels
    return (sizes[query] - np.bincount(grade)[grade]) / 4.0


def lambdarank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, sigma: float = 1.0
) -> tuple[float, np.ndarray]:
    """RankNet's cost with pairs weighted by |dNDCG_ij|, and LambdaRank's lambdas (Burges 2010, section 4).

    The weights are held constant in the gradient. Shapes as in `ranknet`.
    """
    scores = np.asarray(scores, dtype=np.float64)
    return factored(scores, labels, offsets, sigma, False, ndcg_swap(scores, labels, offsets))


def by_query(gradient: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(n,) the gradient with each query's part divided by its sum of absolute values.

    Every query then pulls equally, however many pairs it has; a query without a gradient stays at zero. In
    the spirit of LightGBM's lambdarank_norm.
    """
    total = np.add.reduceat(np.abs(gradient), offsets[:-1])
    return gradient / np.repeat(np.where(total > 0.0, total, 1.0), np.diff(offsets))


@compiled
def ndcg_swap(scores, labels, offsets):
    """|dNDCG_ij| = |G_i - G_j| |D_i - D_j| / IDCG: the change of NDCG if i and j swapped their present ranks.

    G = 2^y - 1, D = 1 / log2(1 + rank), not truncated (Burges 2010, section 4). Queries with IDCG 0 weigh 0.
    """
    gain = 2.0 ** labels.astype(np.float64) - 1.0
    discount = np.empty(len(labels))
    scale = np.zeros(len(offsets) - 1)
    ranked = order(scores, offsets)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        ideal = 0.0
        best = np.sort(gain[a:b])[::-1]
        for i in range(b - a):
            d = 1.0 / np.log2(i + 2.0)
            discount[ranked[a + i]] = d
            ideal += best[i] * d
        if ideal > 0.0:
            scale[q] = 1.0 / ideal
    return SwapWeights(gain, discount, scale)


@compiled
def factored(scores, labels, offsets, sigma, ties, weights):
    """The one loop over pairs: every pair of a query once, as (better i, worse j) where the grades differ."""
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        for first in range(offsets[q], offsets[q + 1]):
            for second in range(first + 1, offsets[q + 1]):
                if labels[first] == labels[second] and not ties:
                    continue
                i, j = (first, second) if labels[first] >= labels[second] else (second, first)
                weight = 1.0
                if weights is not None:
                    weight = (
                        weights.scale[q]
                        * abs(weights.gain[i] - weights.gain[j])
                        * abs(weights.discount[i] - weights.discount[j])
                    )
                o = sigma * (scores[i] - scores[j])
                miss = 0.5 if labels[i] == labels[j] else 0.0  # 1 - target
                e = np.exp(-abs(o))
                cost += weight * (max(-o, 0.0) + np.log1p(e) + miss * o)
                slope = sigma * weight * (miss - (e if o >= 0.0 else 1.0) / (1.0 + e))
                gradient[i] += slope
                gradient[j] -= slope
    return cost, gradient
