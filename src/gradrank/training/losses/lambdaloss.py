"""LambdaLoss (Wang et al. 2018): RankNet's cost with weights that make it a bound on a ranking metric."""

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
    """sum w_ij log2(1 + e^(-sigma (s_i - s_j))), the weights at the present ranks and constant in the gradient.

    G_i = (2^y_i - 1) / IDCG, D(r) = log2(1 + r), r_i the rank by score, m = |r_i - r_j|. Over y_i > y_j:
    loss2: |G_i - G_j| d, d = |1/D(m) - 1/D(m + 1)|, the bound on NDCG's cost; loss2++: |G_i - G_j| (rho + mu d),
    rho = |1/D(r_i) - 1/D(r_j)|, LambdaRank's; arp2: y_i - y_j. Over all i, j, i = j included: loss1: G_i / D(r_i);
    arp1: y_i. cutoff: pairs with both in the first ranks alone, IDCG@cutoff. Raises GradrankError for another
    weighting.
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
                o = sigma * (scores[i] - scores[j])  # not negative: i ranks above j
                e = np.exp(-o)
                cost += (forward * np.log1p(e) + back * (o + np.log1p(e))) / np.log(2.0)
                slope = sigma * (back - forward * e) / ((1.0 + e) * np.log(2.0))
                gradient[i] += slope
                gradient[j] -= slope
    return cost, gradient


@compiled()
def _weight(kind, grade, other_grade, share, other_share, place, other_place, discount, mu):
    """What the cost of `grade` not being above `other_grade` weighs, at these places counted from 0."""
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
