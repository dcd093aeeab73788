"""Trees that predict the grade of a document: MART (Friedman 2001) and random forests (Breiman 2001), by LightGBM.

`mart` boosts trees on the squared error. `random_forest` samples documents without replacement, whereas Breiman 2001
draws bootstrap samples. Its number of trees is selected on validation.
"""

from typing import Any, ClassVar

import numpy as np

from gradrank.training.model import param, register
from gradrank.training.search_space import Choice, Uniform
from gradrank.training.solvers.boosting import BoostedTrees, BoostingParams


class ForestParams(BoostingParams):
    num_leaves: int = param(
        127, "deep trees (Breiman 2001); 127 is better than 255 and 511 on validation of MQ2007", ge=2
    )
    min_data_in_leaf: int = param(
        20, "better on validation of MQ2007 than 5, the value of Breiman 2001 for regression", ge=1
    )
    feature_fraction: float = param(0.33, "a third of the features per tree (Breiman 2001, for regression)", gt=0, le=1)
    bagging_fraction: float = param(0.632, "share of distinct documents in a bootstrap sample, 1 - 1/e", gt=0, lt=1)
    bagging_freq: int = param(1, "each tree has a sample of its own", ge=1, le=1)
    rounds: int = param(300, "number of trees", ge=1)
    patience: int = param(300, "as rounds, because more trees do not overfit; the best number of trees is kept", ge=1)


@register("mart")
class MART(BoostedTrees[BoostingParams]):
    summary = "Boosted trees on squared error against the grade (Friedman 2001), LightGBM"

    @classmethod
    def objectives(cls, labels: np.ndarray, params: BoostingParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "regression"})]


@register("random_forest")
class RandomForest(BoostedTrees[ForestParams]):
    Params = ForestParams
    space: ClassVar = {
        "num_leaves": Choice((31, 63, 127, 255, 511), "up to nearly unpruned trees"),
        "min_data_in_leaf": Choice((1, 5, 10, 20, 50), "Breiman 2001: 1 to 5"),
        "feature_fraction": Uniform(0.1, 0.8, "around a third, or the square root of their number (Breiman 2001)"),
        "bagging_fraction": Uniform(0.3, 0.9, "around the .632 of a bootstrap sample"),
    }
    published: ClassVar = {"num_leaves": 511, "min_data_in_leaf": 5}  # Breiman 2001: unpruned, five documents per leaf
    summary = "Random forest on the grade (Breiman 2001), LightGBM"

    @classmethod
    def objectives(cls, labels: np.ndarray, params: ForestParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "regression", "boosting": "rf"})]
