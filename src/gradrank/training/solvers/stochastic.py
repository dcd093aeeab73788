"""Stochastic gradient descent as in Burges et al. 2005 (RankNet): one or two layers and a decreasing learning rate.

Gradient descent takes one step per query or one step per pair. The steps are compiled loops, because each step is too
small for the overhead of torch.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.order import order
from gradrank.data.pairs import Pairs, crucial_pairs, pair_counts
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.losses.pairwise import graded_cost, listed_cost
from gradrank.training.losses.swap_weighted import swap_weighted_cost
from gradrank.training.model import Callback
from gradrank.training.ndcg_gains import gains_of
from gradrank.training.nets.net import Net, standardisation, standardised
from gradrank.training.training_queries import relative_weights

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
    gains: np.ndarray | None = None,
) -> float:
    """Take one gradient step per group of documents, and return the sum of the costs of the groups.

    The cost of a group is computed before its step. x: (n, d) float64 features. labels: (n,) grades. rows: row numbers;
    group g has the documents rows[offsets[g]:offsets[g+1]]. steps: numbers of the groups, in the order of the steps.
    weights, biases, output: the Layers, which change in place. rate: learning rate. sigma: scale of score differences.
    ties: whether pairs of equal grades count, with target 1/2. by_ndcg: whether pairs are weighted by |dNDCG|, as in
    LambdaRank. pairs: the pairs with their targets. If None, the pairs follow from the grades. gains: gain per grade
    from 0; None for 2^grade - 1.
    """
    layers, settings = (weights, biases, output), (rate, sigma, ties, by_ndcg)
    return _update_by_group(
        x, labels, gains_of(labels, gains), rows, offsets, steps, *layers, *settings, *(pairs or NO_PAIRS)
    )


@compiled(
    "f8[:,:], i8[:], f8[:], i8[:], i8[:], i8[:], f8[:,:] out, f8[:] out, f8[:] out, f8, f8, b1, b1, "
    "i8[:], i8[:], i8[:], f8[:], f8[:]"
)
def _update_by_group(
    x, labels, gains, rows, offsets, steps, weights, biases, output, rate, sigma, ties, by_ndcg,
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
            ranked = order(scores, bounds)
            group_cost, slope = swap_weighted_cost(scores, labels[members], gains[members], bounds, ranked, sigma, ties)
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
    """Return the net after the first epoch with the highest `select_by` on `vali`.

    A step follows the sum of the gradients of all pairs of one query or, if `by_pair`, the gradient of one pair. Each
    epoch takes the steps in a new random order. The mean cost of an epoch is computed from the cost before each step.
    If the mean cost exceeds that of the previous epoch, the learning rate is halved. The cost of a query, and so the
    length of its steps, is multiplied by the weight of the query, relative to the mean weight.

    hidden: number of tanh units; 0 for a linear scorer. epochs: number of epochs. sigma: scale of score differences.
    ties: whether pairs of equal grades count, with target 1/2. by_ndcg: whether pairs are weighted by |dNDCG|; this
    setting has no effect if `by_pair` is True. Raises GradrankError if costs or scores are not finite.
    """
    mean, scale = standardisation(train.features, train.weights)
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
                    f"training diverged in epoch {epoch}: scores are not finite. Fix: lower learning_rate (now "
                    f"{learning_rate:g}) or sigma (now {sigma:g})"
                )
            yield Candidate(net, cost, scores, {"learning_rate": rate})
            if cost > previous:
                rate /= 2.0
            previous = cost

    return best_of(candidates(), vali, select_by, callback).kept


# A function from the order of the steps and the learning rate to the mean cost.
Epoch = Callable[[np.ndarray, float], float]


def _pair_by_pair(x: np.ndarray, train: Collection, layers: Layers, sigma: float, ties: bool) -> tuple[int, Epoch]:
    """Return the number of steps per epoch, and a function that runs one epoch and changes `layers` in place.

    The weight of a pair scales its step. The mean cost is the weighted mean over pairs.
    """
    pairs = train.targets
    if not isinstance(pairs, Pairs):
        pairs = crucial_pairs(train.labels, train.offsets, ties)
    target, weight = _targets_and_weights(pairs)
    of_queries = relative_weights(train)
    if of_queries is not None:
        weight = weight * of_queries[pairs.query]

    def epoch(steps: np.ndarray, rate: float) -> float:
        cost = update_by_pair(x, pairs.better, pairs.worse, target, weight, steps, *layers, rate, sigma)
        return cost / weight.sum()

    return len(pairs), epoch


def _query_by_query(
    x: np.ndarray, train: Collection, layers: Layers, sigma: float, ties: bool, by_ndcg: bool
) -> tuple[int, Epoch]:
    """Return the number of steps per epoch, and a function that runs one epoch and changes `layers` in place.

    The mean cost is a mean over pairs or, if `by_ndcg`, over queries.
    """
    rows, pairs, weights = np.arange(train.rows), None, relative_weights(train)
    counts = np.ones(train.queries) if by_ndcg else pair_counts(train.labels, train.offsets, ties)
    if isinstance(train.targets, Pairs) and not by_ndcg:
        pairs = _group_by_query(train.targets, train)
        counts = np.bincount(train.targets.query, pairs.weight, train.queries)

    def update(steps: np.ndarray, rate: float) -> float:
        documents = (x, train.labels, rows, train.offsets, steps)
        return update_by_group(*documents, *layers, rate, sigma, ties, by_ndcg, pairs, train.gains)

    def epoch(steps: np.ndarray, rate: float) -> float:
        if weights is None:
            return update(steps, rate) / counts.sum()
        costs = (weights[query] * update(np.array([query]), float(rate * weights[query])) for query in steps)
        return float(sum(costs) / (weights * counts).sum())

    return train.queries, epoch


def _group_by_query(pairs: Pairs, train: Collection) -> GroupedPairs:
    """Return the pairs of the user's file, grouped by query."""
    starts = np.searchsorted(pairs.query, np.arange(train.queries + 1))
    better, worse = (rows - train.offsets[pairs.query] for rows in (pairs.better, pairs.worse))
    return GroupedPairs(starts, better, worse, *_targets_and_weights(pairs))


def _targets_and_weights(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return the (p,) targets and the (p,) weights of the pairs. Missing targets or weights are 1."""
    target = np.ones(len(pairs)) if pairs.target is None else pairs.target
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    return target, weight


def initial_layers(features: int, hidden: int, rng: np.random.Generator) -> Layers:
    """Return the initial layers: a first layer of zeros, and output weights from U[-.1, .1].

    If `hidden` is 0, the (d,) output weights are zeros. There is no bias of the output, because it would cancel out in
    score differences.
    """
    output = rng.uniform(-0.1, 0.1, hidden) if hidden else np.zeros(features)
    return np.zeros((features, hidden)), np.zeros(hidden), output


def _net(layers: Layers, mean: np.ndarray, scale: np.ndarray) -> Net:
    """Return a Net with copies of the layers."""
    weights, biases, output = (layer.copy() for layer in layers)
    if not len(biases):
        return Net.of_layers([output[:, None]], [np.zeros(1)], mean, scale, "tanh")
    return Net.of_layers([weights, output[:, None]], [biases, np.zeros(1)], mean, scale, "tanh")
