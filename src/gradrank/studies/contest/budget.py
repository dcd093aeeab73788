"""Expected test value of the best of n trials, computed exactly (Dodge et al. 2019)."""

from collections.abc import Mapping
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np


def best_of_weights(count: int, n: int) -> np.ndarray:
    """Return the (count,) probabilities that each value is the largest of n values drawn without replacement.

    The i-th probability belongs to the i-th smallest of the `count` values.
    """
    return np.array([comb(i, n - 1) / comb(count, n) for i in range(count)])


def expected_best(validation: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the (P,) expected test values of the configuration that validation selects from n = 1, ..., P trials.

    The n trials are drawn without replacement from the P trials. validation, test: (P,) values in the order of the
    trials. If validation values are equal, the earlier trial is selected, as in the contest. With the validation values
    as `test`, the result is the expected best validation value.
    """
    count = len(validation)
    order = np.lexsort((-np.arange(count), validation))
    ranked = np.asarray(test, dtype=np.float64)[order]
    return np.array([np.sum(best_of_weights(count, n) * ranked) for n in range(1, count + 1)])


class Crossing(NamedTuple):
    """Two methods whose order depends on the budget.

    `ahead` is the better one with fewer than `budget` trials, and `behind` is the better one with `budget` or more.
    """

    ahead: str
    behind: str
    budget: int


def crossings(curves: Mapping[str, np.ndarray]) -> list[Crossing]:
    """Return the pairs of methods whose order with one trial is reversed with N trials, smallest budget first.

    curves: the (N,) expected values of each method, for budgets of 1, ..., N trials.
    """
    crossed = []
    for first, second in combinations(curves, 2):
        gaps = curves[first] - curves[second]
        if gaps[0] * gaps[-1] < 0:
            has_final_order = np.sign(gaps) == np.sign(gaps[-1])
            budget = len(gaps) - int(np.argmin(np.append(has_final_order[::-1], False))) + 1
            ahead, behind = (first, second) if gaps[0] > 0 else (second, first)
            crossed.append(Crossing(ahead, behind, budget))
    return sorted(crossed, key=lambda crossing: (crossing.budget, crossing))
