"""Expected highest validation value of n trials, computed exactly (Dodge et al. 2019)."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradrank.bench.tuning.selection import JUDGED

if TYPE_CHECKING:
    import polars as pl


def best_of_weights(count: int, n: int) -> np.ndarray:
    """Return the (count,) probabilities that each value is the largest of n values drawn without replacement.

    The i-th probability belongs to the i-th smallest of the `count` values.
    """
    return np.array([comb(i, n - 1) / comb(count, n) for i in range(count)])


def expected_best(values: np.ndarray) -> np.ndarray:
    """Return the (P,) expected highest values of n = 1, ..., P trials, drawn without replacement from (P,) values."""
    count, ranked = len(values), np.sort(np.asarray(values, dtype=np.float64))
    return np.array([np.sum(best_of_weights(count, n) * ranked) for n in range(1, count + 1)])


def curves(trials: Mapping[str, "Sequence[pl.DataFrame]"]) -> dict[str, np.ndarray]:
    """Return, for each tuned method, the (n,) expected validation values with 1, ..., n trials, averaged over folds.

    n is the smallest number of drawn trials of any tuned method on any fold. trials: the tables of the tuners.
    """
    import polars as pl

    drawn = {}
    for method, tables in trials.items():
        random = pl.concat(tables).filter(pl.col("trial") > 0).drop_nulls(JUDGED)
        folds = [expected_best(rows[JUDGED].to_numpy()) for rows in random.partition_by("fold", maintain_order=True)]
        if folds:
            reach = min(map(len, folds))
            drawn[method] = np.mean([curve[:reach] for curve in folds], axis=0)
    reach = min(map(len, drawn.values()), default=0)
    return {method: curve[:reach] for method, curve in drawn.items()}


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
