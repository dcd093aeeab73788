"""Stochastic gradient descent of the first RankNet papers: one or two layers, a rate that halves, no Adam.

Compiled loops: a step is too small to pay for a call into torch.
"""

from collections.abc import Callable, Iterator

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.data.pairs import crucial_pairs, pair_counts
from gradrank.errors import GradrankError
from gradrank.learning.best_of import Candidate, best_of
from gradrank.learning.losses.lambdarank import ndcg_swap
from gradrank.learning.losses.ranknet import factored
from gradrank.learning.model import Callback
from gradrank.learning.nets import Net, standardisation, standardised


def train_stochastic(
    train: Collection,
    vali: Collection,
    hidden: int,
    learning_rate: float,
    epochs: int,
    seed: int,
    callback: Callback,
    select_by: str,
    sigma: float = 1.0,
    ties: bool = False,
    by_pair: bool = False,
    by_ndcg: bool = False,
) -> Net:
    """The net after the epoch with the best `select_by` on `vali`; of equal epochs the first.

    A step follows the summed gradients of the pairs of one query (factored, a backward pass a document), or with
    `by_pair` one pair's; steps come in an order shuffled anew each epoch. The learning rate is halved after
    an epoch whose mean cost, taken before each step, exceeds the previous epoch's.
    hidden: tanh units; 0 for a linear scorer. by_ndcg: pairs weighted by |dNDCG|.
    Raises GradrankError where the scores stop being finite.
    """
    mean, scale = standardisation(train.features)
    x = standardised(train.features, mean, scale).astype(np.float64)
    rng = np.random.default_rng(seed)
    layers = initial_layers(x.shape[1], hidden, rng)
    if by_pair:
        steps, epoch_cost = _pair_by_pair(x, train, layers, sigma, ties)
    else:
        steps, epoch_cost = _query_by_query(x, train, layers, sigma, ties, by_ndcg)

    def candidates() -> Iterator[Candidate]:
        rate, previous = learning_rate, np.inf
        for epoch in range(1, epochs + 1):
            cost = epoch_cost(rng.permutation(steps), rate)
            net = _net(layers, mean, scale)
            scores = net.scores(vali.features)
            if not (np.isfinite(cost) and np.isfinite(scores).all()):
                raise GradrankError(
                    f"training diverged in epoch {epoch}: scores are not finite; lower learning_rate, now "
                    f"{learning_rate:g}, or sigma, now {sigma:g}"
                )
            yield Candidate(net, cost, scores, {"learning_rate": rate})
            if cost > previous:
                rate /= 2.0
            previous = cost

    return best_of(candidates(), vali, select_by, callback).kept


Epoch = Callable[[np.ndarray, float], float]  # takes the steps in the order given, at a rate; the mean cost


def _pair_by_pair(
    x: np.ndarray, train: Collection, layers: tuple[np.ndarray, ...], sigma: float, ties: bool
) -> tuple[int, Epoch]:
    """How many steps an epoch has, and the epoch, which changes `layers` in place."""
    pairs = crucial_pairs(train.labels, train.offsets, ties)
    targets = np.where(train.labels[pairs.better] > train.labels[pairs.worse], 1.0, 0.5)

    def epoch(steps: np.ndarray, rate: float) -> float:
        cost = descend_pairs(x, pairs.better, pairs.worse, targets, steps, *layers, rate, sigma)
        return cost / len(pairs)

    return len(pairs), epoch


def _query_by_query(
    x: np.ndarray, train: Collection, layers: tuple[np.ndarray, ...], sigma: float, ties: bool, by_ndcg: bool
) -> tuple[int, Epoch]:
    """The same; the cost a mean over pairs, or with `by_ndcg` over queries."""
    rows = np.arange(train.rows)
    costs = train.queries if by_ndcg else pair_counts(train.labels, train.offsets, ties).sum()

    def epoch(steps: np.ndarray, rate: float) -> float:
        cost = descend(x, train.labels, rows, train.offsets, steps, *layers, rate, sigma, ties, by_ndcg)
        return cost / costs

    return train.queries, epoch


def initial_layers(features: int, hidden: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """(d, h) and (h,) zeros of the first layer, (h,) output weights from U[-.1, .1]; linear: (d,) zeros last.

    The output needs no bias: it cancels in every score difference.
    """
    output = rng.uniform(-0.1, 0.1, hidden) if hidden else np.zeros(features)
    return np.zeros((features, hidden)), np.zeros(hidden), output


def _net(layers: tuple[np.ndarray, ...], mean: np.ndarray, scale: np.ndarray) -> Net:
    weights, biases, output = (layer.copy() for layer in layers)
    if not len(biases):
        return Net([output[:, None]], [np.zeros(1)], mean, scale, "tanh")
    return Net([weights, output[:, None]], [biases, np.zeros(1)], mean, scale, "tanh")


@compiled
def descend(x, labels, rows, offsets, steps, weights, biases, output, rate, sigma, ties, by_ndcg):
    """One step of size `rate` on each group of documents rows[offsets[g]:offsets[g+1]], g in `steps`.

    x: (n, d) float64. weights (d, h), biases (h,) and output (h,) change in place; with h = 0 the scorer is linear,
    output (d,). Returns the sum of the groups' costs, each taken before the group's own step.
    """
    cost = 0.0
    for group in steps:
        members = rows[offsets[group] : offsets[group + 1]]
        inputs, own = x[members], np.array([0, len(members)])
        last = _tanh_layer(inputs, weights, biases) if len(biases) > 0 else inputs
        scores = np.zeros(len(members))
        for i in range(len(members)):
            for k in range(len(output)):
                scores[i] += last[i, k] * output[k]
        if by_ndcg:
            swap = ndcg_swap(scores, labels[members], own)
            group_cost, slope = factored(scores, labels[members], own, sigma, ties, swap)
        else:
            group_cost, slope = factored(scores, labels[members], own, sigma, ties, None)
        cost += group_cost
        if len(biases) > 0:
            _backward(inputs, last, slope, weights, biases, output, rate)
        for i in range(len(members)):
            for k in range(len(output)):
                output[k] -= rate * slope[i] * last[i, k]
    return cost


@compiled
def descend_pairs(x, better, worse, targets, steps, weights, biases, output, rate, sigma):
    """One step of size `rate` on each pair of documents, in the order of `steps`; the same net as in `descend`.

    better, worse: (p,) row numbers; targets: (p,) probability that the first is above the second. Returns the sum of
    the pairs' costs, each taken before its own step.
    """
    first, second = np.empty(len(biases)), np.empty(len(biases))
    cost = 0.0
    for pair in steps:
        a, b = x[better[pair]], x[worse[pair]]
        gap = _gap(a, b, weights, biases, output, first, second)
        loss, slope = _logistic(sigma * gap, targets[pair])
        cost += loss
        step = rate * sigma * slope
        if len(biases) > 0:
            _pair_backward(a, b, step, weights, biases, output, first, second)
        else:
            for j in range(len(output)):
                output[j] -= step * (a[j] - b[j])
    return cost


@compiled
def _logistic(margin, target):
    """RankNet's cost of a pair, -target m + log(1 + e^m), and its slope in m, stable at both ends."""
    small = np.exp(-abs(margin))
    probability = (1.0 if margin >= 0.0 else small) / (1.0 + small)
    return max(margin, 0.0) + np.log1p(small) - target * margin, probability - target


@compiled
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


@compiled
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


@compiled
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


@compiled
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
