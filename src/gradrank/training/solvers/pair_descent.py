"""Gradient descent for RankNet on a net of one or two layers. It takes one step per query or one step per pair.

The steps are compiled loops, because each step is too small for the overhead of torch.
"""

from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.losses.lambdarank import swap_weighted_cost
from gradrank.training.losses.ranknet import graded_cost, listed_cost

# The first-layer weights (d, h), the biases (h,) and the output weights (h,). A linear scorer has h = 0, and output
# weights of shape (d,).
Layers = tuple[np.ndarray, np.ndarray, np.ndarray]


class GroupedPairs(NamedTuple):
    """Pairs sorted by group. A group is a set of documents, such as a query.

    starts: (groups + 1,) int64; group g has the pairs starts[g]:starts[g+1]. better, worse: (p,) int64 numbers of the
    two documents of each pair within their group. target: (p,) float64 probabilities that `better` ranks above `worse`.
    weight: (p,) float64.
    """

    starts: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    weight: np.ndarray


NO_NUMBERS = np.empty(0, np.int64)
NO_PAIRS = GroupedPairs(NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, np.empty(0), np.empty(0))


def update_by_group(
    x: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
    offsets: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    biases: np.ndarray,
    output: np.ndarray,
    rate: float,
    sigma: float,
    ties: bool,
    by_ndcg: bool,
    pairs: GroupedPairs | None = None,
) -> float:
    """Take one gradient step per group of documents, and return the sum of the costs of the groups.

    The cost of a group is computed before its step. x: (n, d) float64 features. labels: (n,) grades. rows: row numbers;
    group g has the documents rows[offsets[g]:offsets[g+1]]. steps: numbers of the groups, in the order of the steps.
    weights, biases, output: the Layers, which change in place. rate: learning rate. sigma: scale of score differences.
    ties: whether pairs of equal grades count, with target 1/2. by_ndcg: whether pairs are weighted by |dNDCG|, as in
    LambdaRank. pairs: the pairs with their targets. If None, the pairs follow from the grades.
    """
    layers, settings = (weights, biases, output), (rate, sigma, ties, by_ndcg)
    return _update_by_group(
        x, labels, rows, offsets, steps, *layers, *settings, *(NO_PAIRS if pairs is None else pairs)
    )


@compiled(
    "f8[:,:], i8[:], i8[:], i8[:], i8[:], f8[:,:] out, f8[:] out, f8[:] out, f8, f8, b1, b1, "
    "i8[:], i8[:], i8[:], f8[:], f8[:]"
)
def _update_by_group(
    x, labels, rows, offsets, steps, weights, biases, output, rate, sigma, ties, by_ndcg,
    starts, better, worse, target, weight
):  # fmt: skip
    cost = 0.0
    for group in steps:
        members = rows[offsets[group] : offsets[group + 1]]
        inputs, bounds = x[members], np.array([0, len(members)])
        last = _tanh_layer(inputs, weights, biases) if len(biases) > 0 else inputs
        scores = np.zeros(len(members))
        for i in range(len(members)):
            for k in range(len(output)):
                scores[i] += last[i, k] * output[k]
        if len(starts) > 0:
            a, b = starts[group], starts[group + 1]
            group_cost, slope = listed_cost(scores, better[a:b], worse[a:b], target[a:b], weight[a:b], sigma)
        elif by_ndcg:
            group_cost, slope = swap_weighted_cost(scores, labels[members], bounds, order(scores, bounds), sigma, ties)
        else:
            group_cost, slope = graded_cost(scores, labels[members], bounds, sigma, ties)
        cost += group_cost
        if len(biases) > 0:
            _backward(inputs, last, slope, weights, biases, output, rate)
        for i in range(len(members)):
            for k in range(len(output)):
                output[k] -= rate * slope[i] * last[i, k]
    return cost


@compiled("f8[:,:], i4[:], i4[:], f8[:], f8[:], i8[:], f8[:,:] out, f8[:] out, f8[:] out, f8, f8")
def update_by_pair(x, better, worse, targets, factors, steps, weights, biases, output, rate, sigma):
    """Take one gradient step per pair, and return the sum of the costs of the pairs.

    The cost of a pair is computed before its step. better, worse: (p,) row numbers. targets: (p,) probabilities that
    `better` ranks above `worse`. factors: (p,) factors of the costs. steps: numbers of the pairs, in the order of the
    steps. The other arguments are those of `update_by_group`.
    """
    first, second = np.empty(len(biases)), np.empty(len(biases))
    cost = 0.0
    for pair in steps:
        a, b = x[better[pair]], x[worse[pair]]
        gap = _gap(a, b, weights, biases, output, first, second)
        loss, slope = _logistic(sigma * gap, targets[pair])
        cost += factors[pair] * loss
        step = rate * sigma * factors[pair] * slope
        if len(biases) > 0:
            _pair_backward(a, b, step, weights, biases, output, first, second)
        else:
            for j in range(len(output)):
                output[j] -= step * (a[j] - b[j])
    return cost


@compiled()
def _logistic(margin, target):
    """Return RankNet's cost of a pair, -target m + ln(1 + e^m), and its derivative with respect to the margin m."""
    small = np.exp(-abs(margin))
    probability = (1.0 if margin >= 0.0 else small) / (1.0 + small)
    return max(margin, 0.0) + np.log1p(small) - target * margin, probability - target


@compiled()
def _gap(a, b, weights, biases, output, first, second):
    """Return the score of `a` minus the score of `b`.

    Writes the (h,) hidden units of `a` to `first`, and those of `b` to `second`.
    """
    gap = 0.0
    if len(biases) == 0:
        for j in range(len(output)):
            gap += (a[j] - b[j]) * output[j]
        return gap
    first[:], second[:] = biases, biases
    for j in range(len(a)):
        for k in range(len(biases)):
            first[k] += a[j] * weights[j, k]
            second[k] += b[j] * weights[j, k]
    for k in range(len(biases)):
        first[k], second[k] = np.tanh(first[k]), np.tanh(second[k])
        gap += (first[k] - second[k]) * output[k]
    return gap


@compiled()
def _pair_backward(a, b, step, weights, biases, output, first, second):
    """Update both layers for a pair. `first` and `second` are the hidden units of `a` and `b`, and are overwritten."""
    for k in range(len(biases)):
        unit_a, unit_b = first[k], second[k]
        first[k] = step * output[k] * (1.0 - unit_a**2)
        second[k] = -step * output[k] * (1.0 - unit_b**2)
        output[k] -= step * (unit_a - unit_b)
        biases[k] -= first[k] + second[k]
    for j in range(len(a)):
        for k in range(len(biases)):
            weights[j, k] -= a[j] * first[k] + b[j] * second[k]


@compiled()
def _tanh_layer(inputs, weights, biases):
    out = np.empty((len(inputs), len(biases)))
    for i in range(len(inputs)):
        out[i] = biases
        for j in range(inputs.shape[1]):
            for k in range(len(biases)):
                out[i, k] += inputs[i, j] * weights[j, k]
        for k in range(len(biases)):
            out[i, k] = np.tanh(out[i, k])
    return out


@compiled()
def _backward(inputs, hidden, slope, weights, biases, output, rate):
    """Update the first layer. `output` must still contain the weights with which the scores were computed."""
    delta = np.empty(len(biases))
    for i in range(len(inputs)):
        for k in range(len(biases)):
            delta[k] = rate * slope[i] * output[k] * (1.0 - hidden[i, k] ** 2)
            biases[k] -= delta[k]
        for j in range(inputs.shape[1]):
            for k in range(len(biases)):
                weights[j, k] -= inputs[i, j] * delta[k]
