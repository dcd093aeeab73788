"""ApproxNDCG averaged over scores with Gumbel noise (Bruch et al. 2020).

Source: Bruch et al. 2020, A Stochastic Treatment of Learning to Rank Scoring Functions.
"""

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
    """Return the mean cost of `approx_ndcg` over `draws` samples of noisy scores, and its gradient.

    Each sample adds Gumbel(0, 1) noise to the scores. The order of the noisy scores is a sample of the Plackett-Luce
    model. Time per query: O(draws n^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of the noise. If None, the cost is that of `approx_ndcg` without noise.
        temperature: as in `approx_ndcg`.
        draws: number of samples.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    share = ideal_shares(labels, offsets, ALL_RANKS)
    cost, gradient = 0.0, np.zeros(len(scores))
    count = draws if rng is not None else 1
    for _ in range(count):
        noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
        drawn_cost, slope = smooth_ndcg((scores + noise) / temperature, share, offsets, 1.0 / temperature)
        cost += drawn_cost
        gradient += slope
    return cost / count, gradient / count
