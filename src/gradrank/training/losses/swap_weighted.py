"""Losses on pairs whose weights depend on the ranks: LambdaRank, LambdaLoss and YetiLoss."""

from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError, unknown
from gradrank.data.order import descending, order
from gradrank.training.loss import loss
from gradrank.training.losses.pairwise import accumulate_by_pairs
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, gains_of, ideal_shares


class SwapWeights(NamedTuple):
    """The weights of pairs of documents, scale_q |gain_i - gain_j| |discount_i - discount_j|.

    gain: (n,) float64, one per document. discount: (n,) float64, one per document. scale: (q,) float64, one per query.
    """

    gain: np.ndarray
    discount: np.ndarray
    scale: np.ndarray


@loss(reads_labels="gains")
def lambdarank(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    sigma: float = 1.0,
    normalize: bool = False,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over pairs of |dNDCG_ij| ln(1 + e^(-sigma (s_i - s_j))), and its gradient.

    Each pair consists of two documents of one query with y_i > y_j. |dNDCG_ij| is the change of NDCG if documents i and
    j exchange their ranks by score. The gradient treats these weights as constants, so it consists of LambdaRank's
    lambdas (Burges 2010, section 4). Time per query: O(n^2).

    LambdaRank: RankNet's cost, in which the weight of a pair is the change of NDCG if its documents swap ranks.

    Sources: Burges, Ragno & Le 2006, Learning to Rank with Nonsmooth Cost Functions; Burges 2010, From RankNet to
    LambdaRank to LambdaMART: An Overview.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        sigma: scale of score differences.
        normalize: whether `normalize_by_query` is applied to the gradient. The cost does not change.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    ranked = order(scores, offsets)
    cost, gradient = swap_weighted_cost(scores, labels, gains_of(labels, gains), offsets, ranked, sigma, False)
    return cost, normalize_by_query(gradient, offsets) if normalize else gradient


def normalize_by_query(gradient: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (n,) gradient, in which each query's part is divided by the sum of the absolute values of this part.

    All queries then have the same influence, whatever their number of pairs. A part that is zero stays zero. LightGBM's
    parameter lambdarank_norm has the same purpose.
    """
    total = np.add.reduceat(np.abs(gradient), offsets[:-1])
    return gradient / np.repeat(np.where(total > 0.0, total, 1.0), np.diff(offsets))


@compiled("f8[:], i8[:], f8[:], i8[:], i8[:], f8, b1")
def swap_weighted_cost(scores, labels, gain, offsets, ranked, sigma, ties):
    """Return RankNet's cost and its (n,) gradient, with the pairs weighted by `ndcg_swap`.

    gain: (n,) gains. ranked: (n,) row numbers by descending score within each query. ties: whether pairs of equal
    grades count.
    """
    weights = ndcg_swap(gain, offsets, ranked)
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        cost += accumulate_by_pairs(scores, labels, q, offsets, sigma, ties, weights, gradient)
    return cost, gradient


@compiled()
def ndcg_swap(gain, offsets, ranked):
    """Return the weights |dNDCG_ij| = |G_i - G_j| |D_i - D_j| / IDCG as SwapWeights.

    A weight is the change of NDCG if documents i and j exchange their ranks (Burges 2010, section 4). The
    discount is D = 1 / log2(1 + rank) without a cutoff. All weights of a query with IDCG 0 are 0.
    gain: (n,) gains G. ranked: (n,) row numbers by descending score within each query.
    """
    discount = np.empty(len(gain))
    scale = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        ideal = 0.0
        best = descending(gain[a:b])
        for i in range(b - a):
            d = 1.0 / np.log2(i + 2.0)
            discount[ranked[a + i]] = d
            ideal += gain[a + best[i]] * d
        if ideal > 0.0:
            scale[q] = 1.0 / ideal
    return SwapWeights(gain, discount, scale)


WEIGHTINGS = ("loss1", "loss2", "loss2++", "arp1", "arp2")


@loss(reads_labels="gains")
def lambdaloss(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    weighting: str = "loss2++",
    sigma: float = 1.0,
    mu: float = 10.0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
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

    LambdaLoss (Wang et al. 2018): RankNet's cost with pair weights that make the cost a bound on a ranking metric.

    Source: Wang et al. 2018, The LambdaLoss Framework for Ranking Metric Optimization.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        weighting: name of the weighting.
        sigma: scale of score differences.
        mu: factor of d in loss2++.
        cutoff: only pairs in which both ranks are at most `cutoff` count, and IDCG is IDCG@cutoff.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.

    Raises:
        GradrankError: if `weighting` is unknown.
    """
    if weighting not in WEIGHTINGS:
        raise GradrankError(unknown("weighting", weighting, WEIGHTINGS))
    if gains is not None and weighting.startswith("arp"):
        raise GradrankError(f"weighting {weighting}: its weights are grades, not gains. Fix: choose another weighting")
    share = ideal_shares(labels, offsets, cutoff, gains)
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


MEASURES = ("ndcg", "mrr")


@loss(reads_labels="gains")
def yeti(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    measure: str = "ndcg",
    draws: int = 10,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the mean over noisy orders of sum_r w_r ln(1 + e^(-(s_i - s_j))), summed over queries, and its gradient.

    A noisy order sorts the documents by s + ln(u / (1 - u)), where u is uniform in (0, 1). For each rank r, i is the
    better and j the worse of the documents at ranks r and r + 1, if their grades differ. The weight w_r is the change
    of the measure if the two documents exchange ranks. The gradient treats w_r as a constant. The weights are, by
    measure:

        ndcg: |G_i - G_j| |1/D(r) - 1/D(r + 1)|, with the gains G = (2^y - 1) / IDCG@cutoff and D(r) = log2(1 + r);
            1/D is 0 beyond the cutoff
        mrr: 1/r - 1/(r + 1) at ranks up to the first relevant document, if only one of the two documents is relevant

    The noise is logistic, although CatBoost calls it Gumbel noise. Time per query: O(draws n log n).

    YetiRank (Gulin et al. 2011) with the weights of YetiLoss (Lyzhin et al. 2023).

    Each pair consists of the documents at two neighbouring ranks after noise was added to the scores.

    Sources: Gulin et al. 2011, Winning The Transfer Learning Track of Yahoo!'s Learning To Rank Challenge with
    YetiRank; Lyzhin et al. 2023, Which Tricks are Important for Learning to Rank?

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of the noise. If None, the only order is that of the scores without noise.
        measure: "ndcg" or "mrr".
        draws: number of orders.
        cutoff: number of ranks that count.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.

    Raises:
        GradrankError: if `measure` is unknown.
    """
    if measure not in MEASURES:
        raise GradrankError(unknown("measure", measure, MEASURES))
    count = draws if rng is not None else 1
    share = ideal_shares(labels, offsets, cutoff, gains)
    cost, gradient = 0.0, np.zeros(len(scores))
    for _ in range(count):
        noise = 0.0 if rng is None else rng.logistic(size=len(scores))
        ranked = order(scores + noise, offsets)
        cost += _neighbours(scores, labels, offsets, ranked, share, measure == "mrr", cutoff, gradient)
    return cost / count, gradient / count


@compiled("f8[:], i8[:], i8[:], i8[:], f8[:], b1, i8, f8[:] out")
def _neighbours(scores, labels, offsets, ranked, share, is_mrr, cutoff, gradient):
    """Return the cost of the pairs of neighbours in one order, and add its derivatives to `gradient`."""
    cost = 0.0
    for q in range(len(offsets) - 1):
        a, n = offsets[q], offsets[q + 1] - offsets[q]
        discount = discounts(n, cutoff)
        for r in range(n - 1):
            i, j = ranked[a + r], ranked[a + r + 1]
            if is_mrr:
                relevant = (labels[i] > 0) != (labels[j] > 0)
                weight = 1.0 / (r + 1.0) - 1.0 / (r + 2.0) if relevant and r < cutoff else 0.0
            else:
                weight = abs(share[i] - share[j]) * (discount[r] - discount[r + 1])
            if weight > 0.0:
                better, worse = (i, j) if labels[i] > labels[j] else (j, i)
                o = scores[better] - scores[worse]
                e = np.exp(-abs(o))
                cost += weight * (max(-o, 0.0) + np.log1p(e))
                slope = weight * (e if o >= 0.0 else 1.0) / (1.0 + e)
                gradient[better] -= slope
                gradient[worse] += slope
            if is_mrr and labels[i] > 0:
                break
    return cost
