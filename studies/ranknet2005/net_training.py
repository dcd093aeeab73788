"""The training of a net in section 5.1 of the paper, and the same training with one step per file.

The paper takes one step per pair. An experiment of the study takes one step per file instead, along the sum of the
gradients of all pairs in the file. To first order, this step equals the separate steps, but its results differ.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from gradrank.data.pairs import crucial_pairs
from gradrank.training.solvers.pair_descent import Layers, update_by_group, update_by_pair
from gradrank.training.solvers.stochastic import initial_layers
from studies.ranknet2005.vectors import PARTS, Vectors

RATE, EPOCHS = 1e-3, 100  # section 5.1

Steps = Literal["pair", "file"]


class NetTraining(NamedTuple):
    """How a net is trained.

    hidden: number of tanh units, 0 for a linear net. ties: whether pairs of equal grades count, with target
    probability 1/2. steps: one step per pair or per file. most: largest number of epochs.
    """

    hidden: int
    ties: bool = False
    steps: Steps = "pair"
    most: int = EPOCHS


class Epoch(NamedTuple):
    """The layers after an epoch, and the mean cost per pair, computed before each step of the epoch."""

    layers: Layers
    cost: float


def outputs(layers: Layers, x: np.ndarray) -> np.ndarray:
    """Return the (n,) scores of the vectors. layers: as returned by `initial_layers`."""
    weights, biases, output = layers
    return np.tanh(x @ weights + biases) @ output if len(biases) else x @ output


def train_epochs(train: Vectors, training: NetTraining, seed: int) -> Iterator[Epoch]:
    """Train a net, and yield the result of each epoch without end.

    The first layer starts at zero, and each epoch takes the steps in a new random order. The rate is halved after each
    epoch in which the mean cost rose. The layers are updated in place, so a later epoch changes the layers that were
    yielded before.
    """
    rng = np.random.default_rng(seed)
    layers = initial_layers(train.x.shape[1], training.hidden, rng)
    pairs = crucial_pairs(train.grades, train.offsets, training.ties)
    if training.steps == "pair":
        count, total_cost = len(pairs), _steps_per_pair(train, pairs, layers)
    else:
        count, total_cost = len(train.offsets) - 1, _steps_per_file(train, training.ties, layers)
    rate, previous = RATE, np.inf
    while True:
        cost = total_cost(rng.permutation(count), rate) / len(pairs)
        yield Epoch(layers, cost)
        if cost > previous:
            rate /= 2.0
        previous = cost


# A function that takes the steps of one epoch. The arguments are the order of the steps and the learning rate, and the
# result is the sum of the costs of the pairs.
TotalCost = Callable[[np.ndarray, float], float]


def _steps_per_pair(train: Vectors, pairs: Any, layers: Layers) -> TotalCost:
    factors = np.ones(len(pairs))
    targets = factors if pairs.target is None else pairs.target
    return lambda steps, rate: update_by_pair(
        train.x, pairs.better, pairs.worse, targets, factors, steps, *layers, rate, 1.0
    )


def _steps_per_file(train: Vectors, ties: bool, layers: Layers) -> TotalCost:
    rows = np.arange(len(train.x))
    return lambda steps, rate: update_by_group(
        train.x, train.grades, rows, train.offsets, steps, *layers, rate, 1.0, ties, False
    )


def train_net(data: Vectors, size: int, training: NetTraining, seed: int) -> dict[str, Any]:
    """Train a net on the first `size` vectors, and return its results at the epoch with the lowest validation error.

    NetTraining stops after `training.most` epochs, or earlier if no training pair is in error.

    Returns a dict. `epoch` is the best epoch. `vali` and `test` are the percentages of correctly ordered pairs on the
    validation and test files at this epoch. `epochs` is the number of trained epochs. `train` is the percentage on the
    training files after the last epoch. `pairs` is the number of training pairs. `cost_rises` is the number of epochs
    with a higher mean cost than the epoch before, and `largest_cost_rise` is the largest relative rise. `error_rises`
    is the number of epochs after which more training pairs are in error than after the epoch before, and
    `largest_error_rise` is the largest rise in percentage points. Without a rise, the largest rise is 0.
    """
    train, vali, test = data[:size], data[PARTS["vali"]], data[PARTS["test"]]
    best: dict[str, Any] = {"vali": -1.0}
    costs, corrects = [], []
    for epoch, (layers, cost) in enumerate(train_epochs(train, training, seed), start=1):
        correct = vali.correct(outputs(layers, vali.x))
        if correct > best["vali"]:
            best = {"vali": correct, "test": test.correct(outputs(layers, test.x)), "epoch": epoch}
        costs.append(cost)
        corrects.append(train.correct(outputs(layers, train.x)))
        if corrects[-1] == 100.0 or epoch == training.most:
            break
    pairs = len(crucial_pairs(train.grades, train.offsets, training.ties))
    return best | {"train": corrects[-1], "epochs": len(costs), "pairs": pairs} | _rises(costs, corrects)


def _rises(costs: list[float], corrects: list[float]) -> dict[str, float]:
    """Return the numbers of rises, and the largest rises. corrects: percentages of correct training pairs."""
    cost_ratios = np.divide(costs[1:], costs[:-1]) - 1.0
    error_gaps = -np.diff(corrects)
    return {
        "cost_rises": int(np.count_nonzero(cost_ratios > 0)),
        "largest_cost_rise": float(max([0.0, *cost_ratios])),
        "error_rises": int(np.count_nonzero(error_gaps > 0)),
        "largest_error_rise": float(max([0.0, *error_gaps])),
    }
