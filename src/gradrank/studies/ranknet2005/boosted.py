"""Boosting with RankNet's cost, the question in section 2 of the paper.

The paper asks how a combination of RankBoost with its own differentiable cost of pairs would compare, because boosting
can be seen as gradient descent. It leaves the answer to later work. Here, both costs are boosted on the same weak
learners, decision stumps: RankBoost on its exponential cost, and LightGBM on RankNet's logistic cost. Larger trees on
RankNet's cost show how much the stumps limit the result.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.models.rankboost import RankBoostParams, boost
from gradrank.studies.ranknet2005.vectors import PARTS, Vectors
from gradrank.training.losses.ranknet import ranknet, ranknet_curvature
from gradrank.training.solvers.boosting import BoostingParams, create_booster, lightgbm_settings
from gradrank.training.solvers.custom_boosting import CustomObjectiveBooster

ROUNDS = 1000  # the round with the least validation error is selected, as the paper selects an epoch
LEAVES = {"ranknet_stumps": 2, "ranknet_trees": 8}
RATE = 0.3  # with LightGBM's default of .1, stumps still improve after 1,000 rounds on 12,500 vectors
LEAF = 5  # least number of vectors per leaf, because the smallest training set has 100 vectors


def run_boosted(data: Vectors, size: int) -> list[dict[str, Any]]:
    """Boost each cost on the first `size` vectors, and return one run per method.

    A run has the keys `experiment`, `net` (name of the method), `size`, `ties`, and the percentages `vali` and `test`
    of correctly ordered pairs at the round (`epoch`) with the lowest validation error.
    """
    train = data[:size]
    methods = {"rankboost_stumps": _exponential(train, data)}
    methods |= {name: _logistic(train, data, leaves) for name, leaves in LEAVES.items()}
    return [
        {"experiment": "boosted", "net": name, "size": size, "ties": False} | _best(data, scores)
        for name, scores in methods.items()
    ]


# Rows of the validation and the test files, which are scored together.
HELD_OUT = slice(PARTS["vali"].start, PARTS["test"].stop)


def _best(data: Vectors, rounds: Iterator[np.ndarray]) -> dict[str, Any]:
    """Return the result of the first round with the lowest validation error. rounds: scores of the HELD_OUT rows."""
    vali, test = data[PARTS["vali"]], data[PARTS["test"]]
    best: dict[str, Any] = {"vali": -1.0}
    for number, scores in enumerate(rounds, start=1):
        correct = vali.correct(scores[: len(vali.grades)])
        if correct > best["vali"]:
            best = {"vali": correct, "test": test.correct(scores[len(vali.grades) :]), "epoch": number}
    return best


def _exponential(train: Vectors, data: Vectors) -> Iterator[np.ndarray]:
    """Yield the scores of the HELD_OUT rows after each round of RankBoost."""
    columns = np.ascontiguousarray(_collection(data[HELD_OUT]).features.T)
    scores = np.zeros(columns.shape[1])
    for term, _ in boost(_collection(train), RankBoostParams(rounds=ROUNDS)):
        scores += term(columns)
        yield scores


def _logistic(train: Vectors, data: Vectors, leaves: int) -> Iterator[np.ndarray]:
    """Yield the scores of the HELD_OUT rows after each round of LightGBM on RankNet's cost.

    The second derivatives are those at equal scores, which bound the second derivatives at any scores.
    """
    settings = lightgbm_settings(BoostingParams(num_leaves=leaves, learning_rate=RATE, min_data_in_leaf=LEAF), 0)
    booster = create_booster(
        _collection(train), _collection(data[HELD_OUT]), train.grades, settings | {"objective": "none"}
    )
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
