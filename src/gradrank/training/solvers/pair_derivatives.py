"""First and second derivatives of pair losses in each score: what trees, which take Newton's steps, ask of a loss.

A pair's cost is w ln(1 + e^-o), o = sigma (s_better - s_worse), with a weight w from an order that is held constant.
Its slope in the better score is -sigma w (1 - p), its curvature in both sigma^2 w p (1 - p), p = sig(o): LightGBM's
lambdas (Burges 2010, section 7) and CatBoost's pair logits. The slopes are those of losses/lambdaloss.py and
losses/yeti.py, whose costs no tree needs. The orders may be several, by scores with logistic noise: then a weight is
the mean over them, the stochastic treatment of Lyzhin et al. 2023.
"""

from collections.abc import Callable

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # (n,) scores -> (n,) slopes, (n,) curvatures


def lambda_derivatives(
    labels: np.ndarray,
    offsets: np.ndarray,
    rng: np.random.Generator,
    *,
    mu: float = 10.0,
    sigma: float = 1.0,
    draws: int = 0,
    cutoff: int = ALL_RANKS,
) -> Derivatives:
    """Of NDCG-Loss2++, in natural logarithms: w = |G_i - G_j| (rho + mu d); with mu = 0 LambdaRank's |dNDCG|.

    draws: noisy orders whose weights are averaged; 0: the order by the scores as they are.
    """
    ranks = int(np.diff(offsets).max()) + 1
    share, discount = ideal_shares(labels, offsets, cutoff), discounts(ranks, ranks)

    def forces(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ranked = np.stack([order(each, offsets) for each in perturbed(scores, draws, rng)])
        return _lambdas(scores, labels, offsets, ranked, share, discount, mu, sigma, cutoff)

    return forces


def yeti_derivatives(
    labels: np.ndarray, offsets: np.ndarray, rng: np.random.Generator, *, draws: int = 10, cutoff: int = ALL_RANKS
) -> Derivatives:
    """Of YetiLoss for NDCG: neighbours of `draws` noisy orders, w = |G_i - G_j| (1/D(r) - 1/D(r + 1))."""
    share = ideal_shares(labels, offsets, cutoff)
    discount = discounts(int(np.diff(offsets).max()), cutoff)

    def forces(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes, curvatures = np.zeros(len(scores)), np.zeros(len(scores))
        for noisy in perturbed(scores, draws, rng):
            ranked = order(noisy, offsets)
            _neighbours(scores, labels, offsets, ranked, share, discount, slopes, curvatures)
        return slopes / max(draws, 1), curvatures / max(draws, 1)

    return forces


def perturbed(scores: np.ndarray, draws: int, rng: np.random.Generator) -> list[np.ndarray]:
    """`draws` times s + ln(u / (1 - u)); the scores themselves, once, without draws."""
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
                        apart = abs(above - below)
                        weight += abs(discount[above] - discount[below])
                        weight += mu * (discount[apart - 1] - discount[apart])
                weight *= (share[i] - share[j]) / len(ranked)
                _add(scores, i, j, weight, sigma, slopes, curvatures)
    return slopes, curvatures


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], f8[:], f8[:] out, f8[:] out")
def _neighbours(scores, labels, offsets, ranked, share, discount, slopes, curvatures):
    """Adds those of one order."""
    for q in range(len(offsets) - 1):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        for r in range(n - 1):
            i, j = ranked[a + r], ranked[a + r + 1]
            weight = abs(share[i] - share[j]) * (discount[r] - discount[r + 1])
            better, worse = (i, j) if labels[i] > labels[j] else (j, i)
            _add(scores, better, worse, weight, 1.0, slopes, curvatures)


@compiled()
def _add(scores, better, worse, weight, sigma, slopes, curvatures):
    """The pair's derivatives."""
    if weight > 0.0:
        miss = 1.0 / (1.0 + np.exp(sigma * (scores[better] - scores[worse])))
        slope = sigma * weight * miss
        curvature = sigma * slope * (1.0 - miss)
        slopes[better] -= slope
        slopes[worse] += slope
        curvatures[better] += curvature
        curvatures[worse] += curvature
