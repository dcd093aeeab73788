"""What a budget of n trials is worth: the expected test value of the best of n, exactly (Dodge et al. 2019)."""

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np


def best_of_weights(count: int, n: int) -> np.ndarray:
    """(count,) the probability that the i-th least of `count` values is the best of n drawn without replacement."""
    return np.array([comb(i, n - 1) / comb(count, n) for i in range(count)])


def expected_best(validation: np.ndarray, test: np.ndarray) -> np.ndarray:
    """(P,) for n = 1..P: the expected test value of the configuration with the best validation value of n drawn ones.

    validation, test: (P,) by number of the draw. Of equal validation values the earlier is taken, as when a
    configuration is chosen. With `validation` for both it is the expected best validation value itself.
    """
    count = len(validation)
    order = np.lexsort((-np.arange(count), validation))
    ranked = np.asarray(test, dtype=np.float64)[order]
    return np.array([np.sum(best_of_weights(count, n) * ranked) for n in range(1, count + 1)])


class Crossing(NamedTuple):
    """At small budgets `ahead` is the better one; from `budget` trials on `behind` is, and stays it."""

    ahead: str
    behind: str
    budget: int


def crossings(curves: Mapping[str, np.ndarray]) -> list[Crossing]:
    """The pairs of (N,) curves over budgets 1..N whose order at one trial is not that at N, by the budget."""
    found = []
    for one, other in combinations(curves, 2):
        gaps = curves[one] - curves[other]
        if gaps[0] * gaps[-1] < 0:
            last = np.sign(gaps) == np.sign(gaps[-1])
            budget = len(gaps) - int(np.argmin(np.append(last[::-1], False))) + 1
            ahead, behind = (one, other) if gaps[0] > 0 else (other, one)
            found.append(Crossing(ahead, behind, budget))
    return sorted(found, key=lambda crossing: (crossing.budget, crossing))
