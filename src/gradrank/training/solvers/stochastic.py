"""Stochastic gradient descent as in Burges et al. 2005 (RankNet): one or two layers and a decreasing learning rate."""

from collections.abc import Callable, Iterator

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs, crucial_pairs, pair_counts
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback
from gradrank.training.nets.net import Net, standardisation, standardised
from gradrank.training.solvers.pair_descent import GroupedPairs, Layers, update_by_group, update_by_pair
from gradrank.training.weights import relative_weights


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
        return update_by_group(*documents, *layers, rate, sigma, ties, by_ndcg, pairs)

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
        return Net([output[:, None]], [np.zeros(1)], mean, scale, "tanh")
    return Net([weights, output[:, None]], [biases, np.zeros(1)], mean, scale, "tanh")
