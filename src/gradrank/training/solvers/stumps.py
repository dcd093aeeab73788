"""Stumps 1[x_f > threshold] on single features, the weak learners of RankBoost and FRank."""

import numpy as np

PERFECT = 1.0 - 1e-6  # upper limit of |r|, because a stump that orders all pairs correctly would get weight infinity


def stump_thresholds(column: np.ndarray, count: int) -> np.ndarray:
    """Return at most `count` values of the (n,) `column` in ascending order, without its largest value.

    If the column has more distinct values, the returned values have equal distances in rank.
    """
    ordered = np.sort(column)
    values = np.unique(ordered)
    if len(values) > count + 1:
        values = np.unique(ordered[np.arange(1, count + 1) * len(ordered) // (count + 1)])
    return values[values < ordered[-1]]
