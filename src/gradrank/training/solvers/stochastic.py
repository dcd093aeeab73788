"""Stochastic gradient descent of the first RankNet papers: one or two layers, a rate that halves, no Adam."""

from collections.abc import Callable, Iterator

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs, crucial_pairs, pair_counts
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback
from gradrank.training.nets.net import Net, standardisation, standardised
from gradrank.training.solvers.pair_descent import Listed, descend, descend_pairs


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
    """How many steps an epoch has, and the epoch, which changes `layers` in place; weights lengthen steps."""
    pairs = train.targets
    if not isinstance(pairs, Pairs):
        pairs = crucial_pairs(train.labels, train.offsets, ties)
    target, weight = (np.ones(len(pairs)) if each is None else each for each in (pairs.target, pairs.weight))

    def epoch(steps: np.ndarray, rate: float) -> float:
        cost = descend_pairs(x, pairs.better, pairs.worse, target, weight, steps, *layers, rate, sigma)
        return cost / weight.sum()

    return len(pairs), epoch


def _query_by_query(
    x: np.ndarray, train: Collection, layers: tuple[np.ndarray, ...], sigma: float, ties: bool, by_ndcg: bool
) -> tuple[int, Epoch]:
    """The same; the cost a mean over pairs, or with `by_ndcg` over queries."""
    rows, listed = np.arange(train.rows), None
    if by_ndcg:
        costs = train.queries
    elif isinstance(train.targets, Pairs):
        listed = _of_queries(train.targets, train)
        costs = listed.weight.sum()
    else:
        costs = pair_counts(train.labels, train.offsets, ties).sum()

    def epoch(steps: np.ndarray, rate: float) -> float:
        own = (x, train.labels, rows, train.offsets, steps)
        return descend(*own, *layers, rate, sigma, ties, by_ndcg, listed) / costs

    return train.queries, epoch


def _of_queries(pairs: Pairs, train: Collection) -> Listed:
    """The pairs that a user gave, their documents counted within their queries."""
    starts = np.searchsorted(pairs.query, np.arange(train.queries + 1))
    better, worse = (end - train.offsets[pairs.query] for end in (pairs.better, pairs.worse))
    return Listed(starts, better, worse, pairs.target, pairs.weight)


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
