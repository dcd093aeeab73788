"""MDPRank (Wei et al. 2017): policy gradient (REINFORCE) on rankings drawn from a Plackett-Luce model.

Source: Wei et al. 2017, Reinforcement Learning to Rank with Markov Decision Process.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import discounts
from gradrank.training.plackett_luce import order_likelihood


@loss
def mdprank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, rng: np.random.Generator | None = None
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_t G_t ln pi_t for one drawn ranking per query, and its gradient.

    pi_t is the probability that the document at rank t is drawn from the documents at ranks t, ..., n. The return is
    G_t = sum_{k>=t} (2^y_(k) - 1) / log2(1 + k), where y_(k) is the grade at rank k. The gradient treats the returns as
    constants. The expectation of this gradient is the gradient of the expected -DCG. The rewards are discounted only by
    DCG. Time per query:
    O(n log n).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of Gumbel noise; the ranking is the order of the noisy scores (Yellott 1977). If None, no noise
            is added.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
    ordered = order(scores + noise, offsets)
    return order_likelihood(scores, offsets, ordered, returns(labels[ordered], offsets))


@compiled("i8[:], i8[:]")
def returns(ranked, offsets):
    """Return the (n,) float64 returns: for each rank, the part of DCG from this rank and all later ranks.

    ranked: (n,) grades in rank order, query by query.
    """
    out = np.empty(len(ranked))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        discount = discounts(b - a, b - a)
        total = 0.0
        for r in range(b - 1, a - 1, -1):
            total += (2.0 ** ranked[r] - 1.0) * discount[r - a]
            out[r] = total
    return out
