"""The experiments of the first RankNet paper on its artificial data (Burges et al. 2005, section 5).

One job is one random target: 1000 files of 50 vectors, 800 to train on, 100 to validate and 100 to test. Nets
are trained on the first vectors, as many as asked for. A step is taken a file at a time, along the sum of its
pairs' gradients: to first order the paper's steps a pair at the same rate, and ten times as fast.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.order import order
from gradrank.data.pairs import pair_counts as training_pairs
from gradrank.data.sources.synthetic import Scaling, Target, draw, draw_features, draw_weights, grades, polynomial_terms
from gradrank.evaluation.query_loops import pair_counts
from gradrank.training.seeds import job_seed
from gradrank.training.solvers.pair_descent import update_by_group
from gradrank.training.solvers.stochastic import initial_layers

FILES, FILE = 1000, 50
PARTS = {"train": slice(0, 40_000), "vali": slice(40_000, 45_000), "test": slice(45_000, 50_000)}
RATE, EPOCHS = 1e-3, 100  # section 5.1
NETS = {"linear": 0, "two_layer_5": 5, "two_layer_10": 10}  # tanh units; the target net has ten
ZERO_SIZE, ZERO_EPOCHS = 1000, 1000  # section 5.1: a net of the target's own shape learns 1000 vectors
LINEAR_SHARES = (0.05, 0.1, 0.2)  # of the polynomial's variance; in the text its three terms have a third each

Layers = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Vectors:
    """Files of 50 vectors, one after the other. x: (n, 50) float64; grades: (n,) int32."""

    x: np.ndarray
    grades: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        return np.arange(0, len(self.grades) + 1, FILE)

    def __getitem__(self, rows: slice) -> "Vectors":
        return Vectors(self.x[rows], self.grades[rows])

    def correct(self, layers: Layers) -> float:
        """Percent of the pairs of unequal grade within a file that the net orders rightly; ties count half."""
        scores = outputs(layers, self.x)
        ranked = order(scores, self.offsets)
        right, tied, pairs = pair_counts(scores[ranked], self.grades[ranked], self.offsets, 5)
        return float(100 * (right.sum() + tied.sum() / 2) / pairs.sum())


def outputs(layers: Layers, x: np.ndarray) -> np.ndarray:
    """(n,) scores; `layers` as of gradrank.training.solvers.stochastic.initial_layers."""
    weights, biases, output = layers
    return np.tanh(x @ weights + biases) @ output if len(biases) else x @ output


def epochs(train: Vectors, hidden: int, ties: bool, seed: int, halve: bool) -> Iterator[Layers]:
    """Train as in section 5.1: first layer zero, a rate that halves after an epoch whose mean cost rose.

    Yields the net after each epoch, which the next one changes in place.
    """
    rng = np.random.default_rng(seed)
    layers = initial_layers(train.x.shape[1], hidden, rng)
    files = len(train.offsets) - 1
    rows = np.arange(len(train.x))
    rate, previous = RATE, np.inf
    while True:
        steps = rng.permutation(files)
        cost = update_by_group(train.x, train.grades, rows, train.offsets, steps, *layers, rate, 1.0, ties, False)
        yield layers
        if halve and cost > previous:
            rate /= 2.0
        previous = cost


def trained(
    data: Vectors, size: int, hidden: int, ties: bool, seed: int, most: int = EPOCHS, halve: bool = True
) -> dict[str, Any]:
    """Percent correct on the test files at the least validation error, of epochs until no training error.

    `pairs` are those trained on, `train` the percent correct after the last of `epochs`.
    """
    own, vali, test = data[:size], data[PARTS["vali"]], data[PARTS["test"]]
    best: dict[str, Any] = {"vali": -1.0}
    for epoch, layers in enumerate(epochs(own, hidden, ties, seed, halve), start=1):
        correct = vali.correct(layers)
        if correct > best["vali"]:
            best = {"vali": correct, "test": test.correct(layers), "epoch": epoch}
        right = own.correct(layers)
        if right == 100.0 or epoch == most:
            break
    pairs = int(training_pairs(own.grades, own.offsets, ties).sum())
    return best | {"train": right, "epochs": epoch, "pairs": pairs}


def experiments(
    target: Target, number: int, sizes: Sequence[int], tie_sizes: Sequence[int], seed: int
) -> dict[str, Any]:
    """Draw `number` of a target and all that is trained on it.

    Table 1's nets at `sizes`, and of the net the check that 1000 vectors are learnt with no error (at a constant rate,
    because steps of a whole file raise the mean cost now and then and would halve it away). Of the polynomial
    Table 2's nets at `tie_sizes`, both tables with the other scaling of its terms, and a linear net at every share that
    its linear term may have.
    """
    for size in (*sizes, *tie_sizes):
        if size % FILE or not 0 < size <= PARTS["train"].stop:
            raise GradrankError(f"{size} training vectors: expected files of {FILE}, up to {PARTS['train'].stop}")
    own = job_seed(seed, "artificial", target, number)
    data = vectors(target, own)
    runs = []

    def run(experiment: str, data: Vectors, net: str, size: int, ties: bool = False, **more: Any) -> None:
        made = trained(data, size, NETS[net], ties, own, **more)
        runs.append({"experiment": experiment, "net": net, "size": size, "ties": ties} | made)

    def with_and_without_ties(experiment: str, data: Vectors) -> None:
        for ties in (False, True):
            for size in tie_sizes:
                run(experiment, data, "two_layer_10", size, ties)

    for net in NETS:
        for size in sizes:
            run("table1", data, net, size)
    if target == "net":
        run("zero_error", data, "two_layer_10", ZERO_SIZE, most=ZERO_EPOCHS, halve=False)
    else:
        other = vectors(target, own, "variance")
        with_and_without_ties("table2", data)
        with_and_without_ties("table2_by_variance", other)
        for net in ("linear", "two_layer_5"):
            for size in sizes:
                run("table1_by_variance", other, net, size)
        for share in LINEAR_SHARES:
            shared = with_linear_share(own, share)
            for size in sizes:
                run(f"linear_share_{share}", shared, "linear", size)
    return {"target": target, "draw": number, "seed": own, "runs": runs}


def with_linear_share(seed: int, share: float) -> Vectors:
    """The polynomial of `vectors` with this share of the variance in its linear term, half the rest in either other."""
    features = draw_features(FILES * FILE, seed)
    terms = polynomial_terms(draw_weights("poly", seed), features)
    values = np.sqrt([share, (1 - share) / 2, (1 - share) / 2]) @ terms
    return Vectors(features.astype(np.float32).astype(np.float64), grades(values))


def vectors(target: Target, seed: int, scaling: Scaling = "deviation") -> Vectors:
    features, grades = draw(target, FILES, FILE, seed, scaling)
    return Vectors(features.astype(np.float64), grades)
