"""Trees on the grade, document by document: MART (Friedman 2001), random forest (Breiman 2001)."""

from typing import Any

import numpy as np

from gradrank.learning.boosting import BoostedTrees, BoostingParams
from gradrank.learning.model import param, register


class ForestParams(BoostingParams):
    num_leaves: int = param(127, "deep trees (Breiman 2001); validation on MQ2007: 127 > 255 > 511", ge=2)
    min_data_in_leaf: int = param(20, "validation on MQ2007: 20 > 5, Breiman's for regression", ge=1)
    feature_fraction: float = param(
        0.33, "a third of the features a tree (Breiman 2001, for regression)", gt=0, le=1
    )
    bagging_fraction: float = param(0.632, "distinct documents in a bootstrap sample, 1 - 1/e", gt=0, lt=1)
    bagging_freq: int = param(1, "each tree has its own sample", ge=1, le=1)
    rounds: int = param(300, "trees", ge=1)
    patience: int = param(
        300, "as rounds: a forest does not overfit by growing; the best prefix is kept", ge=1
    )


@register("mart")
class MART(BoostedTrees):
    summary = "Boosted trees on squared error against the grade (Friedman 2001), LightGBM"

    @classmethod
    def objectives(
        cls, labels: np.ndarray, params: BoostingParams
    ) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "regression"})]


@register("random_forest")
class RandomForest(BoostedTrees):
    Params = ForestParams
    summary = "Random forest on the grade (Breiman 2001), LightGBM"

    @classmethod
    def objectives(cls, labels: np.ndarray, params: ForestParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "regression", "boosting": "rf"})]
