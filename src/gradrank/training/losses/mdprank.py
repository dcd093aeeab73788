"""MDPRank (Wei et al. 2017): REINFORCE on whole rankings drawn from the Plackett-Luce model of the scores."""

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
    """-sum_t G_t ln pi_t of a ranking drawn a query, G_t = sum_{k>=t} (2^y_(k) - 1) / log2(1 + k) its gain from t on.

    The gradient, G_t held constant, is in expectation that of -DCG. The ranking is by score plus Gumbel noise from
    `rng` (Yellott 1977); without one, by score. Rewards are not discounted beyond DCG's own discount.
    """
    noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
    ordered = order(scores + noise, offsets)
    return order_likelihood(scores, offsets, ordered, returns(labels[ordered], offsets))


@compiled("i8[:], i8[:]")
def returns(ranked, offsets):
    """(n,) float64 DCG from each rank on, of (n,) grades in rank order."""
    out = np.empty(len(ranked))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        discount = discounts(b - a, b - a)
        total = 0.0
        for r in range(b - 1, a - 1, -1):
            total += (2.0 ** ranked[r] - 1.0) * discount[r - a]
            out[r] = total
    return out
