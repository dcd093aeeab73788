"""Steps of gradient descent on a net of one or two layers, along a query's pairs or one pair at a time.

Compiled loops: a step is too small to pay for a call into torch.
"""

from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.losses.lambdarank import swap_weighted
from gradrank.training.losses.ranknet import factored, listed


class Listed(NamedTuple):
    """A list of pairs, group after group: group g has starts[g]:starts[g+1], whose documents are counted within it."""

    starts: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    weight: np.ndarray


NO_PAIRS = Listed(*(np.empty(0, np.int64),) * 3, np.empty(0), np.empty(0))


def descend(
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
    pairs: Listed | None = None,
) -> float:
    """One step of size `rate` on each group of documents rows[offsets[g]:offsets[g+1]], g in `steps`.

    x: (n, d) float64. weights (d, h), biases (h,) and output (h,) change in place; with h = 0 the scorer is linear,
    output (d,). Returns the sum of the groups' costs, each taken before the group's own step. pairs: Listed; None:
    those of the grades.
    """
    layers, costs = (weights, biases, output), (rate, sigma, ties, by_ndcg)
    return _descend(x, labels, rows, offsets, steps, *layers, *costs, *(NO_PAIRS if pairs is None else pairs))


@compiled(
    "f8[:,:], i8[:], i8[:], i8[:], i8[:], f8[:,:] out, f8[:] out, f8[:] out, f8, f8, b1, b1, "
    "i8[:], i8[:], i8[:], f8[:], f8[:]"
)
def _descend(
    x, labels, rows, offsets, steps, weights, biases, output, rate, sigma, ties, by_ndcg,
    starts, better, worse, target, weight
):  # fmt: skip
    cost = 0.0
    for group in steps:
        members = rows[offsets[group] : offsets[group + 1]]
        inputs, own = x[members], np.array([0, len(members)])
        last = _tanh_layer(inputs, weights, biases) if len(biases) > 0 else inputs
        scores = np.zeros(len(members))
        for i in range(len(members)):
            for k in range(len(output)):
                scores[i] += last[i, k] * output[k]
        if len(starts) > 0:
            a, b = starts[group], starts[group + 1]
            group_cost, slope = listed(scores, better[a:b], worse[a:b], target[a:b], weight[a:b], sigma)
        elif by_ndcg:
            group_cost, slope = swap_weighted(scores, labels[members], own, order(scores, own), sigma, ties)
        else:
            group_cost, slope = factored(scores, labels[members], own, sigma, ties)
        cost += group_cost
        if len(biases) > 0:
            _backward(inputs, last, slope, weights, biases, output, rate)
        for i in range(len(members)):
            for k in range(len(output)):
                output[k] -= rate * slope[i] * last[i, k]
    return cost


@compiled("f8[:,:], i4[:], i4[:], f8[:], f8[:], i8[:], f8[:,:] out, f8[:] out, f8[:] out, f8, f8")
def descend_pairs(x, better, worse, targets, factors, steps, weights, biases, output, rate, sigma):
    """One step of size `rate` on each pair of documents, in the order of `steps`; the same net as in `descend`.

    better, worse: (p,) row numbers; targets: (p,) probability that the first is above the second; factors: (p,) of
    a pair's cost. Returns the sum of the pairs' costs, each taken before its own step.
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
    """RankNet's cost of a pair, -target m + log(1 + e^m), and its slope in m, stable at both ends."""
    small = np.exp(-abs(margin))
    probability = (1.0 if margin >= 0.0 else small) / (1.0 + small)
    return max(margin, 0.0) + np.log1p(small) - target * margin, probability - target


@compiled()
def _gap(a, b, weights, biases, output, first, second):
    """The score of `a` minus that of `b`; their hidden units go to `first` and `second`."""
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
    """Both layers' step; `first` and `second` hold the hidden units and are overwritten."""
    for k in range(len(biases)):
        up, down = first[k], second[k]
        first[k] = step * output[k] * (1.0 - up**2)
        second[k] = -step * output[k] * (1.0 - down**2)
        output[k] -= step * (up - down)
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
    """The first layer's step; `output` is still the one that made the scores."""
    delta = np.empty(len(biases))
    for i in range(len(inputs)):
        for k in range(len(biases)):
            delta[k] = rate * slope[i] * output[k] * (1.0 - hidden[i, k] ** 2)
            biases[k] -= delta[k]
        for j in range(inputs.shape[1]):
            for k in range(len(biases)):
                weights[j, k] -= inputs[i, j] * delta[k]
