"""ApproxNDCG of noisy scores (Bruch et al. 2020, A Stochastic Treatment of Learning to Rank Scoring Functions)."""

import numpy as np

from gradrank.training.loss import loss
from gradrank.training.losses.approx_ndcg import smooth_ndcg
from gradrank.training.ndcg_gains import ALL_RANKS, ideal_shares


@loss
def gumbel_approx_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    temperature: float = 0.1,
    draws: int = 8,
) -> tuple[float, np.ndarray]:
    """The mean of ApproxNDCG's cost over `draws` of s + Gumbel(0, 1): rankings drawn from Plackett-Luce.

    Without an rng there is no noise, and one draw is enough.
    """
    share = ideal_shares(labels, offsets, ALL_RANKS)
    cost, gradient = 0.0, np.zeros(len(scores))
    for _ in range(draws if rng is not None else 1):
        noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
        drawn_cost, slope = smooth_ndcg((scores + noise) / temperature, share, offsets, 1.0 / temperature)
        cost += drawn_cost
        gradient += slope
    taken = draws if rng is not None else 1
    return cost / taken, gradient / taken
