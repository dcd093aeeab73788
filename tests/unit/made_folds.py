"""Trained folds whose scores are given formulas, random trees, and Shapley values by enumeration of all subsets."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from gradrank.training.model import Model, ModelParams
from gradrank.training.scoring_form import NoScoringForm, ScoringForm, Tree
from gradrank.training.trained_fold import TrainedFold


class Formula(Model[ModelParams]):
    """A model with a given function of (n, d) features and offsets, and optionally a scoring form."""

    name: ClassVar[str] = "formula"
    Params = ModelParams
    takes_missing = True

    def __init__(self, function: Callable[..., np.ndarray], form: ScoringForm | None, by_query: bool) -> None:
        self.function, self.form, self.by_query = function, form, by_query

    @classmethod
    def fit(cls, *arguments: Any) -> Self:
        raise NotImplementedError

    @property
    def scores_whole_queries(self) -> bool:
        return self.by_query

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.function(features.astype(np.float64), offsets)

    def scoring_form(self, features: int) -> ScoringForm:
        if self.form is None:
            raise NoScoringForm("it is a function")
        return self.form

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    @classmethod
    def load(cls, folder: Path) -> Self:
        raise NotImplementedError


def fold(
    function: Callable[..., np.ndarray],
    width: int,
    form: ScoringForm | None = None,
    by_query: bool = False,
    members: Sequence[TrainedFold] = (),
    **spec: Any,
) -> TrainedFold:
    """Return a fold whose model computes `function` of the normalised features and the offsets."""
    return TrainedFold(Formula(function, form, by_query), {"features": width} | spec, members)


def random_tree(random: np.random.Generator, features: Sequence[int], depth: int) -> Tree:
    """Return a random tree of at most this depth. A path may split on the same feature several times."""
    rows: list[list[Any]] = []

    def grow(depth: int) -> int:
        number = len(rows)
        rows.append([-1, 0.0, -1, -1, False, float(random.normal())])
        if depth and random.random() < 0.9:
            rows[number] = [random.choice(features), np.float32(random.normal()), grow(depth - 1), grow(depth - 1)]
            rows[number] += [bool(random.integers(2)), 0.0]
        return number

    grow(depth)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Tree(columns[0], columns[1].astype(np.float64), columns[2], columns[3], columns[4], columns[5])


def tree_value(tree: Tree, row: np.ndarray) -> float:
    """Return the value of the leaf that a document reaches."""
    node = 0
    while tree.feature[node] >= 0:
        x = row[tree.feature[node]]
        goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
        node = tree.left[node] if goes_left else tree.right[node]
    return float(tree.value[node])


def trees_function(trees: Sequence[Tree], intercept: float = 0.0) -> Callable[..., np.ndarray]:
    """Return the function of (n, d) features and offsets that sums the trees."""
    return lambda x, offsets: np.array([intercept + sum(tree_value(tree, row) for tree in trees) for row in x])


def enumerated(scores: Callable[[np.ndarray], np.ndarray], documents: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return the (d,) Shapley values of s(a) - s(b) by enumeration of all subsets.

    scores: function from the (n, d) features of the query to (n,) scores. The other documents are the background.
    """
    count, width = documents.shape
    others = [row for row in range(count) if row not in (a, b)] or [a, b]

    def value(subset: Sequence[int]) -> float:
        total = 0.0
        for other in others:
            changed = documents.copy()
            changed[[a, b]] = documents[other]
            changed[np.ix_([a, b], subset)] = documents[np.ix_([a, b], subset)]
            scored = scores(changed)
            total += scored[a] - scored[b]
        return total / len(others)

    out = np.zeros(width)
    for size in range(width):
        weight = factorial(size) * factorial(width - size - 1) / factorial(width)
        for feature in range(width):
            rest = [other for other in range(width) if other != feature]
            for subset in combinations(rest, size):
                out[feature] += weight * (value([*subset, feature]) - value(list(subset)))
    return out
