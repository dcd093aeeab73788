"""The experiments of the first RankNet paper on its artificial data (Burges et al. 2005, section 5).

Each job draws one random target function. Its data are 1000 files of 50 vectors: 800 files for training, 100 for
validation and 100 for testing. A net is trained on the first vectors of the training files. The training takes one
gradient step per file, along the sum of the gradients of all pairs in the file. To first order, this step equals the
paper's separate steps for each pair, at the same rate. One step per file needs only a tenth of the time.
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
NETS = {"linear": 0, "two_layer_5": 5, "two_layer_10": 10}  # numbers of tanh units; the target net has ten
ZERO_SIZE, ZERO_EPOCHS = 1000, 1000  # section 5.1: a net of the target's shape learns 1000 vectors without error
LINEAR_SHARES = (0.05, 0.1, 0.2)  # shares of the linear term in the polynomial's variance; 1/3 in the paper's text

Layers = tuple[np.ndarray, np.ndarray, np.ndarray]  # weights, biases, output weights


@dataclass(frozen=True)
class Vectors:
    """Consecutive files of 50 vectors each. x: (n, 50) float64 features. grades: (n,) int32 relevance grades."""

    x: np.ndarray
    grades: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """The index of the first row of each file, followed by the total number of rows."""
        return np.arange(0, len(self.grades) + 1, FILE)

    def __getitem__(self, rows: slice) -> "Vectors":
        return Vectors(self.x[rows], self.grades[rows])

    def correct(self, layers: Layers) -> float:
        """Return the percentage of correctly ordered pairs, among the pairs of unequal grades within a file.

        A pair of equal scores counts as half correct.
        """
        scores = outputs(layers, self.x)
        ranked = order(scores, self.offsets)
        right, tied, pairs = pair_counts(scores[ranked], self.grades[ranked], self.offsets, 5)
        return float(100 * (right.sum() + tied.sum() / 2) / pairs.sum())


def outputs(layers: Layers, x: np.ndarray) -> np.ndarray:
    """Return the (n,) scores of the vectors. layers: as returned by `initial_layers`."""
    weights, biases, output = layers
    return np.tanh(x @ weights + biases) @ output if len(biases) else x @ output


def train_epochs(train: Vectors, hidden: int, ties: bool, seed: int, halve: bool) -> Iterator[Layers]:
    """Train a net as in section 5.1 of the paper, and yield its layers after each epoch.

    The first layer starts at zero. halve: if True, halve the rate after each epoch in which the mean cost rose. The
    arrays are updated in place, so a later epoch changes the layers that were yielded before.
    """
    rng = np.random.default_rng(seed)
    weights, biases, output = initial_layers(train.x.shape[1], hidden, rng)
    files = len(train.offsets) - 1
    rows = np.arange(len(train.x))
    rate, previous = RATE, np.inf
    while True:
        steps = rng.permutation(files)
        cost = update_by_group(
            train.x, train.grades, rows, train.offsets, steps, weights, biases, output, rate, 1.0, ties, False
        )
        yield weights, biases, output
        if halve and cost > previous:
            rate /= 2.0
        previous = cost


def train_net(
    data: Vectors, size: int, hidden: int, ties: bool, seed: int, most: int = EPOCHS, halve: bool = True
) -> dict[str, Any]:
    """Train a net, and return its results at the epoch with the lowest validation error.

    Training stops after `most` epochs, or earlier if no training pair is in error.

    size: number of training vectors. hidden: number of tanh units, 0 for a linear net. ties: if True, train on pairs of
    equal grades as well.

    Returns a dict. `epoch` is the best epoch. `vali` and `test` are the percentages of correctly ordered pairs on the
    validation and test files at this epoch. `epochs` is the number of trained epochs. `train` is the percentage on the
    training files after the last epoch. `pairs` is the number of training pairs.
    """
    train, vali, test = data[:size], data[PARTS["vali"]], data[PARTS["test"]]
    best: dict[str, Any] = {"vali": -1.0}
    epoch, train_correct = 0, 0.0
    for epoch, layers in enumerate(train_epochs(train, hidden, ties, seed, halve), start=1):
        correct = vali.correct(layers)
        if correct > best["vali"]:
            best = {"vali": correct, "test": test.correct(layers), "epoch": epoch}
        train_correct = train.correct(layers)
        if train_correct == 100.0 or epoch == most:
            break
    pairs = int(training_pairs(train.grades, train.offsets, ties).sum())
    return best | {"train": train_correct, "epochs": epoch, "pairs": pairs}


def run_experiments(
    target: Target, number: int, sizes: Sequence[int], tie_sizes: Sequence[int], seed: int
) -> dict[str, Any]:
    """Draw one target function and run all experiments on it.

    For the target `net`, the experiments are Table 1 at `sizes`, and the check that 1000 vectors are learned without
    error. The check keeps the rate constant, because steps per file sometimes raise the mean cost, and halving would
    then stop the training.

    For the target `poly`, the experiments are Table 1 at `sizes` and Table 2 at `tie_sizes`, each with both scalings of
    the polynomial's terms, and a linear net for each share of LINEAR_SHARES.

    Raises GradrankError if a size is not a number of whole training files.
    """
    for size in (*sizes, *tie_sizes):
        if size % FILE or not 0 < size <= PARTS["train"].stop:
            raise GradrankError(f"{size} training vectors: expected a multiple of {FILE} up to {PARTS['train'].stop}")
    target_seed = job_seed(seed, "artificial", target, number)
    data = draw_vectors(target, target_seed)
    runs = []

    def run(experiment: str, data: Vectors, net: str, size: int, ties: bool = False, **more: Any) -> None:
        result = train_net(data, size, NETS[net], ties, target_seed, **more)
        runs.append({"experiment": experiment, "net": net, "size": size, "ties": ties} | result)

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
        other = draw_vectors(target, target_seed, "variance")
        with_and_without_ties("table2", data)
        with_and_without_ties("table2_by_variance", other)
        for net in ("linear", "two_layer_5"):
            for size in sizes:
                run("table1_by_variance", other, net, size)
        for share in LINEAR_SHARES:
            shared = draw_with_linear_share(target_seed, share)
            for size in sizes:
                run(f"linear_share_{share}", shared, "linear", size)
    return {"target": target, "draw": number, "seed": target_seed, "runs": runs}


def draw_with_linear_share(seed: int, share: float) -> Vectors:
    """Return the vectors of a polynomial target whose linear term has the given share of the variance.

    Each of the other two terms has half of the remaining variance.
    """
    features = draw_features(FILES * FILE, seed)
    terms = polynomial_terms(draw_weights("poly", seed), features)
    values = np.sqrt([share, (1 - share) / 2, (1 - share) / 2]) @ terms
    return Vectors(features.astype(np.float32).astype(np.float64), grades(values))


def draw_vectors(target: Target, seed: int, scaling: Scaling = "deviation") -> Vectors:
    """Draw the vectors and grades of a target function."""
    features, grades = draw(target, FILES, FILE, seed, scaling)
    return Vectors(features.astype(np.float64), grades)
