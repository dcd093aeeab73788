"""RankNet's pair cost (Burges et al. 2005), factored into one gradient a document.

lambda_i = sum_j dC_ij/ds_i over the pairs of document i (Burges, Ragno & Le 2006): a net is passed backward
once a document, not once a pair. Where the grades imply the pairs, nothing of size O(pairs) is stored; pairs with
targets of a user's own come as a list.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.pairs import Pairs
from gradrank.training.loss import loss

FEW = 12  # documents of a query below which pair by pair is as fast
ALL_ONE = np.empty(0)  # a list's targets or weights if all of them are 1
WIDEST = 40.0  # range of a query's scaled scores within which odds are exact and a product holds many pairs


def pair_cost(difference: np.ndarray, target: np.ndarray | float = 1.0, sigma: float = 1.0) -> np.ndarray:
    """C = -target * o + log(1 + e^o), o = sigma * (s_i - s_j) (Burges et al. 2005, Eq. 3), without overflow.

    target: the wanted probability that i ranks above j: 1, 0, or 1/2 for a tie.
    """
    o = sigma * np.asarray(difference, dtype=np.float64)
    return np.logaddexp(0.0, o) - target * o


@loss(on_pairs=True)
def ranknet(
    scores: np.ndarray, labels: np.ndarray | Pairs, offsets: np.ndarray, *, sigma: float = 1.0, ties: bool = False
) -> tuple[float, np.ndarray]:
    """RankNet's cost, summed over the pairs of unequal grades of each query, and its gradient, the lambdas.

    ties: pairs of equal grades count as well, with target probability 1/2 (2005 paper, section 5).
    labels: the grades, or the pairs themselves with their targets and weights, which are then all there are.
    """
    if isinstance(labels, Pairs):
        target, weight = (ALL_ONE if each is None else each for each in (labels.target, labels.weight))
        return listed(scores, labels.better, labels.worse, target, weight, sigma)
    return factored(scores, labels, offsets, sigma, ties)


def ranknet_curvature(labels: np.ndarray | Pairs, offsets: np.ndarray, ties: bool = False) -> np.ndarray:
    """(n,) second derivative of RankNet's cost in each score where all scores are equal: a quarter of its pairs."""
    if isinstance(labels, Pairs):
        ends = (labels.better, labels.worse)
        return sum(np.bincount(end, labels.weight, offsets[-1]) for end in ends) / 4.0
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    grade = query * (int(labels.max()) + 1) + labels
    return (sizes[query] - (1 if ties else np.bincount(grade)[grade])) / 4.0


@compiled("f8[:], i8[:], i8[:], f8, b1")
def factored(scores, labels, offsets, sigma, ties):
    """Cost and gradient, a query after the other: by its documents' odds where these hold, else pair by pair."""
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        own = scores[start:stop]
        if not ties and len(own) >= FEW and sigma * width(own) <= WIDEST:
            cost += by_odds(own, labels[start:stop], sigma, gradient[start:stop])
        else:
            cost += by_pairs(scores, labels, q, offsets, sigma, ties, None, gradient)
    return cost, gradient


@compiled()
def width(values):
    """The highest less the lowest of (n,) values, n > 0."""
    low = high = values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return high - low


@compiled(reassociated=True)
def by_odds(scores, labels, sigma, gradient):
    """Cost of the pairs of unequal grades of one query, whose lambdas it adds to `gradient`.

    With a = e^(sigma s), the probability that the worse j ranks above i is a_j / (a_i + a_j), its cost the logarithm of
    1 + a_j / a_i: an exponential a document and a division a pair. Of the costs the logarithm is taken of a product, of
    as many pairs as float64 holds. With the documents in order of their grades, those worse than one lie together.
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
    # The logarithm of a factor is less than the divisor, that of the largest float64 is 709.
    together = int(690.0 / (sigma * width(scores) + 0.7))
    cost = 0.0
    for i in range(len(scores)):
        worse, inverse, slope = below[labels[rows[i]]], 1.0 / odds[i], 0.0
        for first in range(0, worse, together):
            product = 1.0
            for j in range(first, min(first + together, worse)):
                ratio = odds[j] * inverse
                product *= 1.0 + ratio
                miss = ratio / (1.0 + ratio)
                slopes[j] += miss
                slope += miss
            cost += np.log(product)
        slopes[i] -= slope
    for i in range(len(scores)):
        gradient[rows[i]] += sigma * slopes[i]
    return cost


@compiled()
def by_pairs(scores, labels, q, offsets, sigma, ties, weights, gradient):
    """Cost of query q, whose lambdas it adds to `gradient`: every pair once, as (better i, worse j).

    weights: SwapWeights of losses/lambdarank.py, or None if all pairs weigh 1.
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
            miss = 0.5 if labels[i] == labels[j] else 0.0
            own, slope = _pair(sigma * (scores[i] - scores[j]), miss)
            cost += weight * own
            slope *= sigma * weight
            gradient[i] += slope
            gradient[j] -= slope
    return cost


@compiled("f8[:], i4[:], i4[:], f8[:], f8[:], f8")
def listed(scores, better, worse, target, weight, sigma):
    """Cost and gradient of a list of pairs. target, weight: (p,), or ALL_ONE."""
    cost = 0.0
    gradient = np.zeros(len(scores))
    for p in range(len(better)):
        i, j = better[p], worse[p]
        miss = 1.0 - target[p] if len(target) > 0 else 0.0
        factor = weight[p] if len(weight) > 0 else 1.0
        own, slope = _pair(sigma * (scores[i] - scores[j]), miss)
        cost += factor * own
        slope *= sigma * factor
        gradient[i] += slope
        gradient[j] -= slope
    return cost, gradient


@compiled()
def _pair(o, miss):
    """A pair's cost -target o + log(1 + e^o), and its slope in o; miss: 1 - target."""
    e = np.exp(-abs(o))
    return max(-o, 0.0) + np.log1p(e) + miss * o, miss - (e if o >= 0.0 else 1.0) / (1.0 + e)
