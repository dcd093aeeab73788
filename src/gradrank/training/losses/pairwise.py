"""Losses on pairs of documents of one query.

The crucial pairs, those of different grades, follow from the grades and are not stored. Pairs from the user's file are
stored as a list.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.data.pairs import Pairs
from gradrank.training.loss import loss
from gradrank.training.losses.pointwise import centred_squares

FEW = 12  # for shorter queries, `accumulate_by_pairs` is as fast as `accumulate_by_odds`
ALL_ONE = np.empty(0)  # stands for targets or weights that are all 1
WIDEST = 40.0  # largest range of scaled scores for which odds are exact and a product of many factors is finite


def pair_cost(difference: np.ndarray, target: np.ndarray | float = 1.0, sigma: float = 1.0) -> np.ndarray:
    """Return the cost of each pair, -target * o + ln(1 + e^o) with o = sigma * (s_i - s_j), without overflow.

    difference: s_i - s_j, of any shape. target: the desired probability that i ranks above j: 1, 0, or 1/2 for a tie.
    sigma: scale of score differences. Source: Burges et al. 2005, Eq. 3.
    """
    o = sigma * np.asarray(difference, dtype=np.float64)
    return np.asarray(np.logaddexp(0.0, o) - target * o)


@loss(on_pairs=True, reads_labels="order")
def ranknet(
    scores: np.ndarray, labels: np.ndarray | Pairs, offsets: np.ndarray, *, sigma: float = 1.0, ties: bool = False
) -> tuple[float, np.ndarray]:
    """Return the sum over pairs of w_ij [-t_ij o_ij + ln(1 + e^o_ij)], and its gradient with respect to the scores.

    o_ij = sigma (s_i - s_j). If `labels` are grades, each pair consists of two documents of one query with y_i > y_j.
    The target is t_ij = 1, and the weight is w_ij = 1. The gradient consists of the lambdas. Time per query: O(n^2).

    RankNet (Burges et al. 2005): the logistic cost of pairs, with one derivative per document.

    The derivative with respect to score i is lambda_i = sum_j dC_ij/ds_i (Burges, Ragno & Le 2006), so a net needs one
    backward pass per document instead of one per pair. Pairs that follow from the grades are not stored. Pairs from the
    user's file are stored as a list.

    Sources: Burges et al. 2005, Learning to Rank using Gradient Descent; Burges, Ragno & Le 2006, Learning to Rank with
    Nonsmooth Cost Functions.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades, or the Pairs with their targets and weights.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        sigma: scale of score differences.
        ties: whether two documents of equal grades form a pair with target 1/2 (Burges et al. 2005, section 5). This
            setting has no effect if `labels` are Pairs.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    if isinstance(labels, Pairs):
        target, weight = (ALL_ONE if values is None else values for values in (labels.target, labels.weight))
        return listed_cost(scores, labels.better, labels.worse, target, weight, sigma)
    return graded_cost(scores, labels, offsets, sigma, ties)


def ranknet_curvature(labels: np.ndarray | Pairs, offsets: np.ndarray, ties: bool = False) -> np.ndarray:
    """Return the (n,) second derivatives of RankNet's cost with respect to the scores, at equal scores and sigma 1.

    The derivative of a document is one quarter of its number of pairs. If the pairs have weights, the derivative is one
    quarter of the total weight of the document's pairs. The arguments are those of `ranknet`.
    """
    if isinstance(labels, Pairs):
        sums = [np.bincount(rows, labels.weight, offsets[-1]) for rows in (labels.better, labels.worse)]
        return (sums[0] + sums[1]) / 4.0
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    grade = query * (int(labels.max()) + 1) + labels
    return (sizes[query] - (1 if ties else np.bincount(grade)[grade])) / 4.0


@compiled("f8[:], i8[:], i8[:], f8, b1")
def graded_cost(scores, labels, offsets, sigma, ties):
    """Return RankNet's cost and its (n,) gradient for grades; see `ranknet`.

    The cost of a query is computed by odds or pair by pair, depending on its number of documents and range of scores.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        query_scores = scores[start:stop]
        if not ties and len(query_scores) >= FEW and sigma * value_range(query_scores) <= WIDEST:
            cost += accumulate_by_odds(query_scores, labels[start:stop], sigma, gradient[start:stop])
        else:
            cost += accumulate_by_pairs(scores, labels, q, offsets, sigma, ties, None, gradient)
    return cost, gradient


@compiled()
def value_range(values):
    """Return the maximum minus the minimum of (n,) values, n > 0."""
    low = high = values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return high - low


@compiled(reassociated=True)
def accumulate_by_odds(scores, labels, sigma, gradient):
    """Return the cost of one query's pairs of different grades and add its derivatives to `gradient`.

    The odds of a document are a = e^(sigma s). The worse document j ranks above i with probability a_j / (a_i + a_j),
    and the cost of the pair is ln(1 + a_j / a_i). This needs one exponential per document and one division per pair.
    The factors 1 + a_j / a_i of as many pairs as float64 allows are multiplied, and one logarithm of the product is
    taken. The documents are sorted by grade, so the documents of lower grades are contiguous.
    """
    grades, top = 0, scores[0]
    for i in range(len(scores)):
        grades, top = max(grades, labels[i] + 1), max(top, scores[i])
    below, filled = np.zeros(grades + 1, np.int64), np.zeros(grades, np.int64)
    for grade in labels:
        below[grade + 1] += 1
    for grade in range(grades):
        below[grade + 1] += below[grade]
    rows, odds, slopes = np.empty(len(scores), np.int64), np.empty(len(scores)), np.zeros(len(scores))
    for row, grade in enumerate(labels):
        place = below[grade] + filled[grade]
        rows[place], odds[place] = row, np.exp(sigma * (scores[row] - top))
        filled[grade] += 1
    # The divisor is an upper bound of the logarithm of a factor. The logarithm of the largest float64 is 709.7.
    together = int(690.0 / (sigma * value_range(scores) + 0.7))
    cost = 0.0
    for i in range(len(scores)):
        worse, inverse, slope = below[labels[rows[i]]], 1.0 / odds[i], 0.0
        for first in range(0, worse, together):
            product = 1.0
            for j in range(first, min(first + together, worse)):
                ratio = odds[j] * inverse
                product *= 1.0 + ratio
                inverted = ratio / (1.0 + ratio)  # probability that j ranks above i
                slopes[j] += inverted
                slope += inverted
            cost += np.log(product)
        slopes[i] -= slope
    for i in range(len(scores)):
        gradient[rows[i]] += sigma * slopes[i]
    return cost


@compiled()
def accumulate_by_pairs(scores, labels, q, offsets, sigma, ties, weights, gradient):
    """Return the cost of query q, computed pair by pair, and add its derivatives to `gradient`.

    ties: whether pairs of equal grades count. weights: SwapWeights of losses/swap_weighted.py. If None, all weights are
    1.
    """
    cost = 0.0
    for first in range(offsets[q], offsets[q + 1]):
        for second in range(first + 1, offsets[q + 1]):
            if labels[first] == labels[second] and not ties:
                continue
            i, j = (first, second) if labels[first] >= labels[second] else (second, first)
            weight = 1.0
            if weights is not None:
                weight = (
                    weights.scale[q]
                    * abs(weights.gain[i] - weights.gain[j])
                    * abs(weights.discount[i] - weights.discount[j])
                )
            complement = 0.5 if labels[i] == labels[j] else 0.0
            term, slope = _pair_cost(sigma * (scores[i] - scores[j]), complement)
            cost += weight * term
            slope *= sigma * weight
            gradient[i] += slope
            gradient[j] -= slope
    return cost


@compiled("f8[:], i4[:], i4[:], f8[:], f8[:], f8")
def listed_cost(scores, better, worse, target, weight, sigma):
    """Return RankNet's cost and its (n,) gradient for a list of p pairs.

    better, worse: (p,) row numbers. target: (p,) float64 probabilities that `better` ranks above `worse`, or
    ALL_ONE. weight: (p,) float64, or ALL_ONE.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for p in range(len(better)):
        i, j = better[p], worse[p]
        complement = 1.0 - target[p] if len(target) > 0 else 0.0
        factor = weight[p] if len(weight) > 0 else 1.0
        term, slope = _pair_cost(sigma * (scores[i] - scores[j]), complement)
        cost += factor * term
        slope *= sigma * factor
        gradient[i] += slope
        gradient[j] -= slope
    return cost, gradient


@compiled()
def _pair_cost(o, complement):
    """Return the cost -target o + ln(1 + e^o) of a pair, and its derivative with respect to o.

    complement: 1 - target.
    """
    e = np.exp(-abs(o))
    return max(-o, 0.0) + np.log1p(e) + complement * o, complement - (e if o >= 0.0 else 1.0) / (1.0 + e)


@loss(reads_labels="order")
def pairwise_hinge(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over pairs with y_i > y_j of max(0, 1 - (s_i - s_j)), and its gradient.

    Both documents of a pair belong to one query. Time per query: O(n log n + n L) for L grades.

    Hinge loss on pairs of different grades, computed without listing the pairs.

    Source: Joachims 2002, Optimizing Search Engines using Clickthrough Data.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _violations(scores, labels, offsets, order(scores, offsets))


@compiled("f8[:], i8[:], i8[:], i8[:]")
def _violations(scores, labels, offsets, ranked):
    """Return the cost and its (n,) gradient; see `pairwise_hinge`.

    The ranking of each query is scanned twice per grade. During a scan, a second position moves along, one margin ahead
    of or behind the first position.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        rows = ranked[offsets[q] : offsets[q + 1]]
        n = len(rows)
        for grade in np.unique(labels[rows]):
            at, count, total = 0, 0, 0.0  # count, total: over the documents of lower grades with scores above s_i - 1
            for place in range(n):
                i = rows[place]
                if labels[i] != grade:
                    continue
                while at < n and scores[rows[at]] > scores[i] - 1.0:
                    if labels[rows[at]] < grade:
                        count += 1
                        total += scores[rows[at]]
                    at += 1
                cost += count * (1.0 - scores[i]) + total
                gradient[i] -= count
            at, count = n - 1, 0  # count: over the documents of this grade with scores below s_j + 1
            for place in range(n - 1, -1, -1):
                j = rows[place]
                if labels[j] >= grade:
                    continue
                while at >= 0 and scores[j] > scores[rows[at]] - 1.0:
                    count += labels[rows[at]] == grade
                    at -= 1
                gradient[j] += count
    return cost, gradient


@loss(reads_labels="numbers")
def pairwise_mse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over all pairs i < j of ((y_i - y_j) - (s_i - s_j))^2, and its gradient.

    Both documents of a pair belong to one query. With d = y - s, the cost of a query of n documents equals
    n sum_i (d_i - mean(d))^2, which is n times the cost of `query_rmse`. Time per query: O(n).

    Squared error of the score differences of all pairs.

    Source: Jagerman et al. 2022, Rax: Composable Learning-to-Rank Using JAX (pairwise_mse_loss).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return centred_squares(scores, labels, offsets, True)


@loss(reads_labels="order")
def frank(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over pairs with y_i > y_j of 1 - sqrt(P_ij), and its gradient with respect to the scores.

    Both documents of a pair belong to one query. P_ij = sig(s_i - s_j), where sig is the logistic function. The cost of
    a pair is the fidelity loss 1 - sqrt(P t) - sqrt((1 - P)(1 - t)) for the target t = 1. This cost is at most 1. Time
    per query: O(n^2).

    The fidelity loss of FRank (Tsai et al. 2007) on pairs of different grades.

    Source: Tsai et al. 2007, FRank: a ranking method with fidelity loss. The formula was not checked against the text
    of the paper. Tests confirm that the cost of a pair is 0 at probability 1 and 1 - sqrt(1/2) at equal scores. They
    also compare the gradient with finite differences. The paper uses this loss to boost single features. Here, the loss
    trains any scorer.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _fidelity(scores, labels, offsets)


@compiled("f8[:], i8[:], i8[:]")
def _fidelity(scores, labels, offsets):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(offsets[q], offsets[q + 1]):
                if labels[i] > labels[j]:
                    o = scores[i] - scores[j]
                    e = np.exp(-abs(o))
                    p = (1.0 if o >= 0.0 else e) / (1.0 + e)
                    complement = (e if o >= 0.0 else 1.0) / (1.0 + e)
                    cost += 1.0 - np.sqrt(p)
                    slope = -0.5 * np.sqrt(p) * complement
                    gradient[i] += slope
                    gradient[j] -= slope
    return cost, gradient
