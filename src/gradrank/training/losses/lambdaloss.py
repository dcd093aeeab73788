"""LambdaLoss (Wang et al. 2018): RankNet's cost with pair weights that make the cost a bound on a ranking metric.

Source: Wang et al. 2018, The LambdaLoss Framework for Ranking Metric Optimization.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError, unknown
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares

WEIGHTINGS = ("loss1", "loss2", "loss2++", "arp1", "arp2")


@loss
def lambdaloss(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    weighting: str = "loss2++",
    sigma: float = 1.0,
    mu: float = 10.0,
    cutoff: int = ALL_RANKS,
) -> tuple[float, np.ndarray]:
    """Return the sum over pairs of w_ij log2(1 + e^(-sigma (s_i - s_j))), and its gradient.

    Both documents of a pair belong to one query. The weights w_ij depend on the gains G_i = (2^y_i - 1) / IDCG, the
    discounts 1/D(r) with D(r) = log2(1 + r), and the ranks r_i by the current scores. With m = |r_i - r_j|,
    d = |1/D(m) - 1/D(m + 1)| and rho = |1/D(r_i) - 1/D(r_j)|, the five weightings are:

        loss1: G_i / D(r_i), for all i, j, including i = j
        loss2: |G_i - G_j| d, for y_i > y_j; this gives the paper's bound on the NDCG cost
        loss2++: |G_i - G_j| (rho + mu d), for y_i > y_j; with mu = 0, these are the weights of LambdaRank
        arp1: y_i, for all i, j, including i = j
        arp2: y_i - y_j, for y_i > y_j

    The gradient treats the weights as constants. Time per query: O(min(n, cutoff)^2).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        weighting: name of the weighting.
        sigma: scale of score differences.
        mu: factor of d in loss2++.
        cutoff: only pairs in which both ranks are at most `cutoff` count, and IDCG is IDCG@cutoff.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.

    Raises:
        GradrankError: if `weighting` is unknown.
    """
    if weighting not in WEIGHTINGS:
        raise GradrankError(unknown("weighting", weighting, WEIGHTINGS))
    share = ideal_shares(labels, offsets, cutoff)
    kind = WEIGHTINGS.index(weighting)
    return _pairs(scores, labels, offsets, order(scores, offsets), share, kind, sigma, mu, cutoff)


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], i8, f8, f8, i8")
def _pairs(scores, labels, offsets, ranked, share, kind, sigma, mu, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, n = offsets[q], min(offsets[q + 1] - offsets[q], cutoff)
        discount = discounts(n + 1, n + 1)
        for first in range(n):
            i = ranked[a + first]
            cost += _weight(kind, labels[i], labels[i], share[i], share[i], first, first, discount, mu)
            for second in range(first + 1, n):
                j = ranked[a + second]
                forward = _weight(kind, labels[i], labels[j], share[i], share[j], first, second, discount, mu)
                back = _weight(kind, labels[j], labels[i], share[j], share[i], second, first, discount, mu)
                if forward == 0.0 and back == 0.0:
                    continue
                o = sigma * (scores[i] - scores[j])  # >= 0, because i ranks above j
                e = np.exp(-o)
                log = np.log1p(e)
                cost += (forward * log + back * (o + log)) / np.log(2.0)
                slope = sigma * (back - forward * e) / ((1.0 + e) * np.log(2.0))
                gradient[i] += slope
                gradient[j] -= slope
    return cost, gradient


@compiled()
def _weight(kind, grade, other_grade, share, other_share, place, other_place, discount, mu):
    """Return the weight w_ij of a document i and another document j.

    kind: position of the weighting in WEIGHTINGS. grade, share, place: grade, normalised gain and rank (from 0) of i;
    the arguments that begin with `other_` describe j.
    """
    if kind == 0:
        return share * discount[place]
    if kind == 3:
        return float(grade)
    if grade <= other_grade:
        return 0.0
    if kind == 4:
        return float(grade - other_grade)
    m = abs(place - other_place)
    d = discount[m - 1] - discount[m]
    if kind == 1:
        return (share - other_share) * d
    rho = abs(discount[place] - discount[other_place])
    return (share - other_share) * (rho + mu * d)
