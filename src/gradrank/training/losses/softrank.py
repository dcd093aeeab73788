"""SoftRank (Taylor et al. 2008): the expected NDCG of scores with normal noise.

Source: Taylor et al. 2008, SoftRank: optimizing non-smooth rank metrics. The recursion of the rank distributions was
not checked against the text of the paper. Tests confirm that the distributions sum to 1 and that the cost has the right
limit without noise. They also compare the gradient with finite differences.
"""

import math

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares


@loss
def softrank(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, delta: float = 1.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of 1 - sum_j G_j sum_{r<=cutoff} p_j(r) / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. p_j is the distribution of the rank of document j if every other document
    i ranks above j independently, with probability Phi((s_i - s_j) / (sqrt(2) delta)). Phi is the normal distribution
    function. The cost of a query tends to 1 - NDCG@cutoff as delta tends to 0. The cost of a query without relevant
    documents is 0. Time per query: O(n^2 min(n, cutoff)).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        delta: standard deviation of the noise on the scores.
        cutoff: number of ranks that count.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _expected(scores, ideal_shares(labels, offsets, cutoff), offsets, math.sqrt(2.0) * delta, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _expected(scores, share, offsets, scale, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        discount = discounts(min(b - a, cutoff), cutoff)
        cost += 1.0
        for j in range(a, b):
            if share[j] == 0.0:
                continue
            ranks = rank_distributions(scores[a:b], j - a, scale, len(discount))
            cost -= share[j] * (ranks[b - a - 1] * discount).sum()
            _add_gradient(scores[a:b], j - a, scale, ranks, share[j] * discount, gradient[a:b])
    return cost, gradient


@compiled()
def normal_probability(difference, scale):
    """Return Phi(difference / scale), where Phi is the normal distribution function."""
    return 0.5 * math.erfc(-difference / (scale * math.sqrt(2.0)))


@compiled()
def rank_distributions(scores, j, scale, ranks):
    """Return (n, ranks) probabilities: one distribution of document j's rank per row.

    In the first row, document j is alone; each further row adds one other document. The probability of a rank depends
    only on the previous row's probabilities of this rank and of the rank above. So only the first `ranks` columns need
    to be computed.
    """
    n = len(scores)
    out = np.zeros((n, ranks))
    out[0, 0] = 1.0
    step = 0
    for i in range(n):
        if i != j:
            p = normal_probability(scores[i] - scores[j], scale)
            out[step + 1, 0] = out[step, 0] * (1.0 - p)
            for r in range(1, min(step + 2, ranks)):
                out[step + 1, r] = out[step, r - 1] * p + out[step, r] * (1.0 - p)
            step += 1
    return out


@compiled()
def _add_gradient(scores, j, scale, ranks, values, gradient):
    """Add to `gradient` the gradient of -sum_r p_j(r) values_r with respect to the scores.

    The recursion of `rank_distributions` is differentiated in reverse order.
    """
    values = values.copy()
    step = len(scores) - 1
    for i in range(len(scores) - 1, -1, -1):
        if i == j:
            continue
        step -= 1
        difference = scores[i] - scores[j]
        p = normal_probability(difference, scale)
        slope = 0.0  # derivative of the expected value with respect to p
        for r in range(len(values)):
            after = values[r + 1] if r + 1 < len(values) else 0.0
            slope += ranks[step, r] * (after - values[r])
            values[r] = after * p + values[r] * (1.0 - p)
        density = math.exp(-0.5 * (difference / scale) ** 2) / (math.sqrt(2.0 * math.pi) * scale)
        gradient[i] -= slope * density
        gradient[j] += slope * density
