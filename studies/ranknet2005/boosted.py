"""Boosting with RankNet's cost, the question in section 2 of the paper.

The paper asks how a combination of RankBoost with its own differentiable cost of pairs would compare, because boosting
can be seen as gradient descent. It leaves the answer to later work. Here, `ranknet_stumps` is RankBoost in which the
derivative of RankNet's cost replaces the weight of a pair. The candidate stumps and their choice are those of
`rankboost_stumps`, which is RankBoost itself. `ranknet_trees` shows how much the stumps limit the result: LightGBM
fits larger trees to RankNet's cost.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.pairs import pair_counts
from gradrank.models.rankboost import RankBoostParams, boost
from gradrank.models.rankboost.pair_sums import strongest_stump
from gradrank.training.losses.ranknet import ranknet, ranknet_curvature
from gradrank.training.solvers.boosting import BoostingParams, create_booster, lightgbm_settings
from gradrank.training.solvers.custom_boosting import CustomObjectiveBooster
from gradrank.training.solvers.stumps import stump_thresholds
from studies.ranknet2005.vectors import FILE, PARTS, Vectors

ROUNDS = 1000  # the round with the least validation error is selected, as the paper selects an epoch
THRESHOLDS = 256  # candidate stumps per feature; the default of `rankboost`
LEAVES = 8
RATE = 0.3  # of the trees; with LightGBM's default of .1, they still improve after 1,000 rounds on 12,500 vectors
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
    params = BoostingParams(num_leaves=LEAVES, learning_rate=RATE, min_data_in_leaf=LEAF)
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
