"""SoftRank (Taylor et al. 2008): NDCG in expectation over normal noise on the scores.

The recursion of the rank distributions is from memory of the literature; that they add up to one, the limit of no
noise and finite differences confirm it.
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
    """1 - sum_j G_j sum_{r<=cutoff} p_j(r) / log2(1 + r), G = (2^y - 1) / IDCG@cutoff.

    p_j: the distribution of document j's rank, every other document i being above it with probability
    Phi((s_i - s_j) / (sqrt(2) delta)), each on its own. delta: the noise's standard deviation; as it falls the cost
    tends to 1 - NDCG. A query without a relevant document costs nothing. O(n^2 min(n, cutoff)).
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
            _follow_back(scores[a:b], j - a, scale, ranks, share[j] * discount, gradient[a:b])
    return cost, gradient


@compiled()
def above(difference, scale):
    """Phi(difference / scale)."""
    return 0.5 * math.erfc(-difference / (scale * math.sqrt(2.0)))


@compiled()
def rank_distributions(scores, j, scale, ranks):
    """(n, ranks) p_j(1), p_j(2), ... among the documents seen so far, first j alone, then one more of the others each.

    Lower ranks never depend on higher ones: cut at `ranks`, what is left is exact.
    """
    n = len(scores)
    out = np.zeros((n, ranks))
    out[0, 0] = 1.0
    step = 0
    for i in range(n):
        if i != j:
            p = above(scores[i] - scores[j], scale)
            out[step + 1, 0] = out[step, 0] * (1.0 - p)
            for r in range(1, min(step + 2, ranks)):
                out[step + 1, r] = out[step, r - 1] * p + out[step, r] * (1.0 - p)
            step += 1
    return out


@compiled()
def _follow_back(scores, j, scale, ranks, worth, gradient):
    """Add to `gradient` that of -sum_r p_j(r) worth_r: the recursion of the distributions, backwards."""
    worth = worth.copy()
    step = len(scores) - 1
    for i in range(len(scores) - 1, -1, -1):
        if i == j:
            continue
        step -= 1
        difference = scores[i] - scores[j]
        p = above(difference, scale)
        rise = 0.0  # of the expected worth as document i is likelier above j
        for r in range(len(worth)):
            after = worth[r + 1] if r + 1 < len(worth) else 0.0
            rise += ranks[step, r] * (after - worth[r])
            worth[r] = after * p + worth[r] * (1.0 - p)
        density = math.exp(-0.5 * (difference / scale) ** 2) / (math.sqrt(2.0 * math.pi) * scale)
        gradient[i] -= rise * density
        gradient[j] += rise * density
