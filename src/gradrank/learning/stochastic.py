"""Stochastic gradient descent of the first RankNet papers: one or two layers, a rate that halves, no Adam.

Compiled loops: a step is too small to pay for a call into torch.
"""

from collections.abc import Iterator

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.learning.best_of import Candidate, best_of
from gradrank.learning.losses.lambdarank import ndcg_swap
from gradrank.learning.losses.ranknet import factored, listed
from gradrank.learning.model import Callback
from gradrank.learning.nets import Net, standardisation, standardised
from gradrank.learning.step_groups import groups


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

    A step follows the mean gradient of the pairs of one query (factored, a backward pass a document), or with
    `by_pair` one pair's; steps come in an order shuffled anew each epoch. The learning rate is halved after
    an epoch whose mean cost, taken before each step, exceeds the previous epoch's.
    hidden: tanh units; 0 for a linear scorer. by_ndcg: pairs weighted by |dNDCG|, and summed, not averaged:
    a query's weights are relative to its ideal DCG already.
    Raises GradrankError where the scores stop being finite.
    """
    mean, scale = standardisation(train.features)
    x = standardised(train.features, mean, scale).astype(np.float64)
    of = groups(train, ties, by_pair)
    shares = np.ones_like(of.shares) if by_ndcg else of.shares
    rng = np.random.default_rng(seed)
    layers = initial_layers(x.shape[1], hidden, rng)

    def candidates() -> Iterator[Candidate]:
        rate, previous = learning_rate, np.inf
        for epoch in range(1, epochs + 1):
            steps = rng.permutation(len(of.offsets) - 1)
            own = (x, train.labels, of.rows, of.offsets, shares, steps)
            cost = descend(*own, *layers, rate, sigma, ties, by_ndcg, of.listed)
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
def descend(
    x, labels, rows, offsets, shares, steps, weights, biases, output, rate, sigma, ties, by_ndcg, pairs=None
):
    """One step of size `rate` on each group of documents rows[offsets[g]:offsets[g+1]], g in `steps`.

    x: (n, d) float64. shares: what each group's gradient is divided by. weights (d, h), biases (h,) and
    output (h,) change in place; with h = 0 the scorer is linear, output (d,). Returns the groups' costs, each
    taken before the group's own step, divided by the sum of `shares`. pairs: Listed; None: those of the grades.
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
        if pairs is not None:
            a, b = pairs.starts[group], pairs.starts[group + 1]
            group_cost, slope = listed(
                scores, pairs.better[a:b], pairs.worse[a:b], pairs.target[a:b], pairs.weight[a:b], sigma
            )
        elif by_ndcg:
            swap = ndcg_swap(scores, labels[members], own)
            group_cost, slope = factored(scores, labels[members], own, sigma, ties, swap)
        else:
            group_cost, slope = factored(scores, labels[members], own, sigma, ties, None)
        cost += group_cost
        slope /= shares[group]
        if len(biases) > 0:
            _backward(inputs, last, slope, weights, biases, output, rate)
        for i in range(len(members)):
            for k in range(len(output)):
                output[k] -= rate * slope[i] * last[i, k]
    return cost / shares.sum()


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
