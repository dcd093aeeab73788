"""The values of the learning curves, and the paired comparisons of all methods at each number of training queries.

The repetitions of a method are its draws of training queries, each with a seed of its own. The difference of two
methods is computed draw by draw, because both were trained on the same queries. Its variance is the sum of that of the
test queries and that of the draws. The p values of all pairs at all sizes of a collection are corrected by Holm.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from gradrank.comparison.significance.decision import decide
from gradrank.comparison.statistics import effect_size, holm
from gradrank.comparison.variance import Runs, freedom, half_width, standard_error
from studies.contest.comparisons import Estimate
from studies.learning_curves.experiments import UNIT

Curves = dict[int, dict[str, Runs]]  # runs by number of training queries and method


def curves_of(jobs: Iterable[Mapping[str, Any]], dataset: str) -> Curves:
    """Return the runs of all methods on one data set, by number of training queries, ascending.

    All training queries of a fold count with their mean number over folds.
    """
    found: Curves = {}
    for job in jobs:
        if job["dataset"] == dataset and job["folds"]:
            size = job["queries"] or round(float(np.mean(job["training_queries"])))
            found.setdefault(size, {})[job["method"]] = runs_of(job["folds"])
    return dict(sorted(found.items()))


def runs_of(folds: list[Mapping[str, Any]]) -> Runs:
    """Return the (draws, 1, q) values of a job. Queries without a value are left out."""
    values = np.concatenate([np.array(fold["values"], np.float64) for fold in folds], axis=1) / UNIT
    numbers = np.repeat(np.arange(1, len(folds) + 1), [len(fold["qids"]) for fold in folds])
    valued = ~np.isnan(values).any(axis=0)
    return Runs(values[:, None, valued], numbers[valued])


def difference(a: Runs, b: Runs) -> Estimate:
    """Return the estimated difference a - b. A method that was trained once has the same value in every draw."""
    draws = max(a.tuners, b.tuners)
    first, second = (np.broadcast_to(runs.values, (draws, *runs.values.shape[1:])) for runs in (a, b))
    gap = Runs(first - second, a.folds)
    terms = gap.variances.of_mean
    effect = effect_size(a.per_query, b.per_query)
    return Estimate(gap.mean, standard_error(terms), freedom(terms), half_width(terms), effect)


def comparisons(curves: Curves) -> list[dict[str, Any]]:
    """Return one row per size and pair of methods. `first` is the method with the higher mean."""
    rows = []
    for size, runs in curves.items():
        for pair in combinations(runs, 2):
            first, second = sorted(pair, key=lambda name: -runs[name].mean)
            found = difference(runs[first], runs[second])
            low, high = found.difference - found.half_width, found.difference + found.half_width
            row: dict[str, Any] = {"size": size, "first": first, "second": second, "difference": found.difference}
            rows.append(row | {"low": low, "high": high, "p": found.p})
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["corrected"] = float(p)
        row["verdict"] = decide(row["corrected"], row["low"], row["high"])
    return rows


def winners(
    curves: Curves, families: Mapping[str, Iterable[str]], compared: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return one row per size and family: its best method, the mean, and how many other methods it is better than.

    wins: `yes` for the family with the highest mean. apart: `yes` if its best method is better than the best method of
    every other family, after the correction of `comparisons`.
    """
    rows = []
    better = {(row["size"], row["first"], row["second"]) for row in compared if row["verdict"] == "better"}
    for size, runs in curves.items():
        best = {
            family: max((name for name in names if name in runs), key=lambda name: runs[name].mean)
            for family, names in families.items()
        }
        winner = max(best, key=lambda family: runs[best[family]].mean)
        for family, name in best.items():
            others = [other for other in best.values() if other != name]
            is_apart = all((size, name, other) in better for other in others)
            row = {"size": size, "family": family, "method": name, "mean": runs[name].mean}
            row |= {"beaten": sum((size, name, other) in better for other in runs)}
            row |= {"wins": "yes" if family == winner else "", "apart": "yes" if is_apart else ""}
            rows.append(row)
    return rows
