"""The experiments of the first RankNet paper on its artificial data (Burges et al. 2005, section 5).

Each job draws one random target function, and trains nets on the first vectors of its training files.

The data are files of 50 vectors with grades. The data of one random target are 1000 files: 800 files for training, 100
for validation and 100 for testing.

The nets are trained as in section 5.1. The paper takes one step per pair. An experiment of the study takes one step per
file instead, along the sum of the gradients of all pairs in the file. To first order, this step equals the separate
steps, but its results differ.

Boosting with RankNet's cost is the question in section 2 of the paper. The paper asks how a combination of RankBoost
with its own differentiable cost of pairs would compare, because boosting can be seen as gradient descent. It leaves the
answer to later work. Here, `ranknet_stumps` is RankBoost in which the derivative of RankNet's cost replaces the weight
of a pair. The candidate stumps and their choice are those of `rankboost_stumps`, which is RankBoost itself.
`ranknet_trees` shows how much the stumps limit the result: LightGBM fits larger trees to RankNet's cost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.order import order
from gradrank.data.pairs import crucial_pairs, pair_counts
from gradrank.data.sources.synthetic import Target, draw, draw_features, draw_weights, grades, polynomial_terms
from gradrank.measures.ranking import pair_counts as count_pairs
from gradrank.models.rankboost import RankBoostParams, boost, strongest_stump
from gradrank.training.fit import job_seed
from gradrank.training.losses.pairwise import ranknet, ranknet_curvature
from gradrank.training.solvers.boosting import BoostingParams, CustomObjectiveBooster, create_booster, lightgbm_settings
from gradrank.training.solvers.stochastic import Layers, initial_layers, update_by_group, update_by_pair
from gradrank.training.solvers.weighted_terms import stump_thresholds

FILES, FILE = 1000, 50
PARTS = {"train": slice(0, 40_000), "vali": slice(40_000, 45_000), "test": slice(45_000, 50_000)}
TOP_GRADE = 5

# How the three terms of the polynomial are scaled: each divided by its standard deviation, each divided by its
# variance, or such that the linear term has the given share of the variance and the others have half the rest each.
Terms = Literal["deviation", "variance"] | float


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

    def correct(self, scores: np.ndarray) -> float:
        """Return the percentage of correctly ordered pairs, among the pairs of unequal grades within a file.

        scores: (n,) float64. A pair of equal scores counts as half correct.
        """
        ranked = order(scores, self.offsets)
        right, tied, pairs = count_pairs(scores[ranked], self.grades[ranked], self.offsets, TOP_GRADE)
        return float(100 * (right.sum() + tied.sum() / 2) / pairs.sum())


def draw_vectors(target: Target, seed: int, terms: Terms = "deviation") -> Vectors:
    """Draw the vectors and grades of a target function. `terms` has no effect on a random net."""
    if isinstance(terms, str):
        features, values = draw(target, FILES, FILE, seed, terms)
        return Vectors(features.astype(np.float64), values)
    features = draw_features(FILES * FILE, seed)
    scales = np.sqrt([terms, (1 - terms) / 2, (1 - terms) / 2])
    values = scales @ polynomial_terms(draw_weights("poly", seed), features)
    return Vectors(features.astype(np.float32).astype(np.float64), grades(values))


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


ROUNDS = 1000  # the round with the least validation error is selected, as the paper selects an epoch
THRESHOLDS = 256  # candidate stumps per feature; the default of `rankboost`
LEAVES = 8
TREE_RATE = 0.3  # of the trees; with LightGBM's default of .1, they still improve after 1,000 rounds on 12,500 vectors
LEAF = 5  # least number of vectors per leaf, because the smallest training set has 100 vectors
METHODS = ("rankboost_stumps", "ranknet_stumps", "ranknet_trees")

# Rows of the validation and the test files, which are scored together.
HELD_OUT = slice(PARTS["vali"].start, PARTS["test"].stop)


def run_boosted(data: Vectors, size: int) -> list[dict[str, Any]]:
    """Boost each cost on the first `size` vectors, and return one run per method.

    A run has the keys `experiment`, `net` (one of METHODS), `size`, `ties`, and the percentages `vali` and `test` of
    correctly ordered pairs at the round (`epoch`) with the lowest validation error.
    """
    train, held_out = data[:size], data[HELD_OUT].x.astype(np.float32)
    rounds = (_exponential_stumps(train, held_out), _logistic_stumps(train, held_out), _logistic_trees(train, held_out))
    return [
        {"experiment": "boosted", "net": name, "size": size, "ties": False} | _best(data, scores)
        for name, scores in zip(METHODS, rounds, strict=True)
    ]


def _best(data: Vectors, rounds: Iterator[np.ndarray]) -> dict[str, Any]:
    """Return the result of the first round with the lowest validation error. rounds: scores of the HELD_OUT rows."""
    vali, test = data[PARTS["vali"]], data[PARTS["test"]]
    best: dict[str, Any] = {"vali": -1.0}
    for number, scores in enumerate(rounds, start=1):
        correct = vali.correct(scores[: len(vali.grades)])
        if correct > best["vali"]:
            best = {"vali": correct, "test": test.correct(scores[len(vali.grades) :]), "epoch": number}
    return best


def _exponential_stumps(train: Vectors, held_out: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the scores of the (n, 50) float32 `held_out` after each round of RankBoost."""
    columns = np.ascontiguousarray(held_out.T)
    scores = np.zeros(len(held_out))
    for term, _ in boost(_collection(train), RankBoostParams(rounds=ROUNDS, thresholds=THRESHOLDS)):
        scores += term(columns)
        yield scores


def _logistic_stumps(train: Vectors, held_out: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the scores of the (n, 50) float32 `held_out` after each round of RankBoost with RankNet's cost.

    Each round adds the stump with the largest absolute derivative of the cost. Its weight minimises an upper bound of
    the cost, which has the second derivative 1/4 for each pair that the stump separates.
    """
    features = train.x.astype(np.float32)
    cuts = [stump_thresholds(column, THRESHOLDS) for column in features.T]
    codes = np.stack([np.searchsorted(own, column) for own, column in zip(cuts, features.T, strict=True)])
    codes = codes.astype(np.uint16)
    scores, held_out_scores = np.zeros(len(features)), np.zeros(len(held_out))
    for _ in range(ROUNDS):
        potential = -ranknet(scores, train.grades, train.offsets)[1]
        feature, cut, derivative = strongest_stump(codes, potential, THRESHOLDS, True)
        above = codes[feature] > cut
        weight = 4.0 * derivative / max(separated_pairs(above, train), 1)
        scores += weight * above
        held_out_scores += weight * (held_out[:, feature] > cuts[feature][cut])
        yield held_out_scores


def separated_pairs(above: np.ndarray, train: Vectors) -> int:
    """Return the number of pairs with unequal grades of which `above` is true for exactly one vector."""
    pairs = pair_counts(train.grades, train.offsets, False).sum()
    file_and_side = 2 * (np.arange(len(above)) // FILE) + above
    grouped = train.grades[np.argsort(file_and_side, kind="stable")]
    sides = np.r_[0, np.cumsum(np.bincount(file_and_side))]
    return int(pairs - pair_counts(grouped, sides, False).sum())


def _logistic_trees(train: Vectors, held_out: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the scores of the (n, 50) float32 `held_out` after each round of LightGBM on RankNet's cost.

    The second derivatives are those at equal scores, which are upper bounds of the second derivatives at any scores.
    """
    collection = _collection(train)
    params = BoostingParams(num_leaves=LEAVES, learning_rate=TREE_RATE, min_data_in_leaf=LEAF)
    settings = lightgbm_settings(params, collection, seed=0)
    no_grades = np.zeros(len(held_out), np.int32)
    unseen = Collection(held_out, no_grades, np.array([0, len(held_out)]), np.array([0]))
    booster = create_booster(collection, unseen, train.grades, settings | {"objective": "none"})
    curvature = ranknet_curvature(train.grades, train.offsets)
    wrapped = CustomObjectiveBooster(
        booster, lambda scores: (ranknet(scores, train.grades, train.offsets)[1], curvature)
    )
    scored: list[np.ndarray] = []

    def keep_scores(scores: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        scored[:] = [scores]
        return "scores", 0.0, True

    for _ in range(ROUNDS):
        wrapped.update()
        wrapped.eval_valid(keep_scores)
        yield scored[0]


def _collection(vectors: Vectors) -> Collection:
    """Return the vectors as a Collection in which each file is a query."""
    files = len(vectors.offsets) - 1
    return Collection(vectors.x.astype(np.float32), vectors.grades, vectors.offsets, np.arange(files))


NETS = {"linear": 0, "two_layer_5": 5, "two_layer_10": 10}  # numbers of tanh units; the target net has ten
TABLE1 = ("linear", "two_layer_5")  # the nets of the paper's Table 1
ZERO_SIZE, ZERO_EPOCHS = 1000, 1000  # section 5.1: a net of the target's shape learns 1000 vectors without error
LINEAR_SHARES = (0.05, 0.1, 0.2)  # shares of the linear term in the polynomial's variance; 1/3 in the paper's text


class Experiment(NamedTuple):
    """The training of one net: name of the experiment, key of NETS, number of vectors, training, scaling of terms."""

    name: str
    net: str
    size: int
    training: NetTraining
    terms: Terms = "deviation"


def experiments(target: Target, sizes: Sequence[int], tie_sizes: Sequence[int]) -> Iterator[Experiment]:
    """Yield all trainings of nets for a target of one kind.

    For both targets, they are Table 1 at `sizes`, with steps per pair as in the paper and with steps per file. For the
    target `net`, they include a net of ten units, which is the target's own shape, and the check that this net learns
    1000 vectors without error.

    For the target `poly`, they include Table 2 at `tie_sizes`. Both tables also have the polynomial's terms divided by
    their variance, and a linear net is trained for each share of LINEAR_SHARES.
    """
    for size in sizes:
        for net in NETS if target == "net" else TABLE1:
            yield Experiment("table1", net, size, NetTraining(NETS[net]))
            yield Experiment("table1_by_file", net, size, NetTraining(NETS[net], steps="file"))
    if target == "net":
        ten = NetTraining(NETS["two_layer_10"], most=ZERO_EPOCHS)
        yield Experiment("zero_error", "two_layer_10", ZERO_SIZE, ten)
        yield Experiment("zero_error_by_file", "two_layer_10", ZERO_SIZE, ten._replace(steps="file"))
        return
    for size in tie_sizes:
        for ties in (False, True):
            ten = NetTraining(NETS["two_layer_10"], ties)
            yield Experiment("table2", "two_layer_10", size, ten)
            yield Experiment("table2_by_variance", "two_layer_10", size, ten, "variance")
    for size in sizes:
        for net in TABLE1:
            yield Experiment("table1_by_variance", net, size, NetTraining(NETS[net]), "variance")
        for share in LINEAR_SHARES:
            yield Experiment(f"linear_share_{share}", "linear", size, NetTraining(NETS["linear"]), share)


def run_experiments(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Draw one target function, and run all experiments on it.

    The experiments are those of `experiments`, and boosting on the first vectors. settings: `target`, `draw` (the
    number of the target function), `sizes`, `tie_sizes` and `boosted_sizes`. seed: the seed of the workflow. Raises
    GradrankError if a size is not a number of whole training files.
    """
    target, sizes, tie_sizes, boosted_sizes = (
        settings[key] for key in ("target", "sizes", "tie_sizes", "boosted_sizes")
    )
    for size in (*sizes, *tie_sizes, *boosted_sizes):
        if size % FILE or not 0 < size <= PARTS["train"].stop:
            raise GradrankError(f"{size} training vectors: expected a multiple of {FILE} up to {PARTS['train'].stop}")
    target_seed = job_seed(seed, "artificial", target, settings["draw"])
    vectors = cache(lambda terms: draw_vectors(target, target_seed, terms))
    runs = []
    for name, net, size, training, terms in experiments(target, sizes, tie_sizes):
        result = train_net(vectors(terms), size, training, target_seed)
        runs.append({"experiment": name, "net": net, "size": size, "ties": training.ties} | result)
    for size in boosted_sizes:
        runs += run_boosted(vectors("deviation"), size)
    return {"target": target, "draw": settings["draw"], "seed": target_seed, "runs": runs}
