"""The importance of features over the test parts of all folds, and the agreement of two methods on it."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from gradrank.base.numbers import is_missing


class FeatureImportance(TypedDict):
    """The mean drop of the metric if a feature is permuted, and the bounds of its interval; None if undefined."""

    feature: str
    drop: float
    low: float | None
    high: float | None


def over_folds(folds: Sequence[pl.DataFrame]) -> list[FeatureImportance]:
    """Return the importance of each feature over all folds, most important first.

    The drop is the mean over folds, as the metric is. The folds have different test queries and different models, so
    the squared half widths of their intervals add up. Features with equal drops are in the order of the first fold.

    folds: one frame per fold with the columns `feature`, `drop`, `low` and `high`. All folds have the same features.
    """
    columns = {row["feature"]: [row] for row in folds[0].to_dicts()}
    for frame in folds[1:]:
        for row in frame.to_dicts():
            columns[row["feature"]].append(row)
    rows = [_mean(feature, rows) for feature, rows in columns.items()]
    return sorted(rows, key=lambda row: -row["drop"])


def _mean(feature: str, rows: Sequence[dict[str, Any]]) -> FeatureImportance:
    drop = float(np.mean([row["drop"] for row in rows]))
    if any(is_missing(row["low"]) or is_missing(row["high"]) for row in rows):
        return {"feature": feature, "drop": drop, "low": None, "high": None}
    half = float(np.sqrt(sum(((row["high"] - row["low"]) / 2) ** 2 for row in rows))) / len(rows)
    return {"feature": feature, "drop": drop, "low": drop - half, "high": drop + half}


def kendall_tau(first: Sequence[FeatureImportance], second: Sequence[FeatureImportance]) -> float | None:
    """Return Kendall's tau-b of the importances of the features for two methods; None if it is undefined.

    It is 1 if both methods order the features equally, -1 if the orders are opposite, and about 0 if they are
    unrelated. It is undefined if all importances of a method are equal.
    """
    from scipy.stats import kendalltau

    drops = {row["feature"]: row["drop"] for row in second}
    test = kendalltau([row["drop"] for row in first], [drops[row["feature"]] for row in first])
    tau = float(test.statistic)  # pyright: ignore[reportAttributeAccessIssue] (not in scipy's stub)
    return None if is_missing(tau) else tau
