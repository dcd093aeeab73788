"""First and second derivatives of pairwise losses with respect to the scores, for the Newton steps of boosted trees.

The cost of a pair is w ln(1 + e^-o) with o = sigma (s_better - s_worse). The weight w depends on the order of the
scores, but the derivatives treat it as a constant. Let p = sig(o), where sig is the logistic function. The first
derivative with respect to the better score is -sigma w (1 - p), and the first derivative with respect to the worse
score is sigma w (1 - p). The second derivative with respect to each of the two scores is sigma^2 w p (1 - p).

These are the lambdas of LightGBM (Burges 2010, section 7) and the derivatives of CatBoost's PairLogit. The first
derivatives equal the gradients of losses/swap_weighted.py and losses/swap_weighted.py up to a constant factor. If
logistic noise is added to the scores several times, the weights are averaged over the resulting orders (Lyzhin et al.
2023).
"""

from collections.abc import Callable

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares

# A function from (n,) scores to the (n,) first derivatives and the (n,) second derivatives.
Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def lambda_derivatives(
    labels: np.ndarray,
    offsets: np.ndarray,
    rng: np.random.Generator,
    *,
    mu: float = 10.0,
    sigma: float = 1.0,
    draws: int = 0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> Derivatives:
    """Return a function that computes the derivatives of NDCG-Loss2++ (Wang et al. 2018) with natural logarithms.

    The weights |G_i - G_j| (rho + mu d) are those of "loss2++" in losses/swap_weighted.py. With mu = 0, they are
    LambdaRank's |dNDCG|.

    labels: (n,) grades. offsets: (q+1,). rng: generator of the noise. sigma: scale of score differences. draws: number
    of noisy orders over which the weights are averaged; if 0, the only order is that of the scores without noise.
    cutoff: only pairs in which both ranks are at most `cutoff` count. gains: gain per grade from 0; None for
    2^grade - 1.
    """
    ranks = int(np.diff(offsets).max()) + 1
    share, discount = ideal_shares(labels, offsets, cutoff, gains), discounts(ranks, ranks)

    def derivatives(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ranked = np.stack([order(noisy, offsets) for noisy in perturb(scores, draws, rng)])
        return _lambdas(scores, labels, offsets, ranked, share, discount, mu, sigma, cutoff)

    return derivatives


def yeti_derivatives(
    labels: np.ndarray,
    offsets: np.ndarray,
    rng: np.random.Generator,
    *,
    draws: int = 10,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> Derivatives:
    """Return a function that computes the derivatives of YetiLoss for NDCG, averaged over `draws` noisy orders.

    The pairs are the documents at neighbouring ranks r and r + 1 of these orders. Their weights
    |G_i - G_j| (1/D(r) - 1/D(r + 1)) are those of losses/swap_weighted.py. The arguments are those of
    `lambda_derivatives`.
    """
    share = ideal_shares(labels, offsets, cutoff, gains)
    discount = discounts(int(np.diff(offsets).max()), cutoff)

    def derivatives(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes, curvatures = np.zeros(len(scores)), np.zeros(len(scores))
        for noisy in perturb(scores, draws, rng):
            ranked = order(noisy, offsets)
            _neighbours(scores, labels, offsets, ranked, share, discount, slopes, curvatures)
        return slopes / max(draws, 1), curvatures / max(draws, 1)

    return derivatives


def perturb(scores: np.ndarray, draws: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return `draws` copies of the scores with logistic noise. If `draws` is 0, return the scores without noise."""
    return [scores + rng.logistic(size=len(scores)) for _ in range(draws)] or [scores]


@compiled("f8[:], i8[:], i8[:], i8[:,:], f8[:], f8[:], f8, f8, i8")
def _lambdas(scores, labels, offsets, ranked, share, discount, mu, sigma, cutoff):
    slopes, curvatures = np.zeros(len(scores)), np.zeros(len(scores))
    places = np.empty(ranked.shape, np.int64)
    for m in range(len(ranked)):
        for q in range(len(offsets) - 1):
            for place in range(offsets[q + 1] - offsets[q]):
                places[m, ranked[m, offsets[q] + place]] = place
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], offsets[q + 1]):
                if labels[i] <= labels[j]:
                    continue
                weight = 0.0
                for m in range(len(ranked)):
                    above, below = places[m, i], places[m, j]
                    if above < cutoff and below < cutoff:
                        distance = abs(above - below)
                        weight += abs(discount[above] - discount[below])
                        weight += mu * (discount[distance - 1] - discount[distance])
                weight *= (share[i] - share[j]) / len(ranked)
                _add(scores, i, j, weight, sigma, slopes, curvatures)
    return slopes, curvatures


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], f8[:], f8[:] out, f8[:] out")
def _neighbours(scores, labels, offsets, ranked, share, discount, slopes, curvatures):
    """Add the derivatives for one order to `slopes` and `curvatures`."""
    for q in range(len(offsets) - 1):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        for r in range(n - 1):
            i, j = ranked[a + r], ranked[a + r + 1]
            weight = abs(share[i] - share[j]) * (discount[r] - discount[r + 1])
            better, worse = (i, j) if labels[i] > labels[j] else (j, i)
            _add(scores, better, worse, weight, 1.0, slopes, curvatures)


@compiled()
def _add(scores, better, worse, weight, sigma, slopes, curvatures):
    """Add the derivatives of one pair to `slopes` and `curvatures`."""
    if weight > 0.0:
        complement = 1.0 / (1.0 + np.exp(sigma * (scores[better] - scores[worse])))  # 1 - p
        slope = sigma * weight * complement
        curvature = sigma * slope * (1.0 - complement)
        slopes[better] -= slope
        slopes[worse] += slope
        curvatures[better] += curvature
        curvatures[worse] += curvature
