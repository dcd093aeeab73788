"""DART (Vinayak & Gilad-Bachrach 2015): LambdaMART with dropout of trees, by LightGBM.

Each round fits a tree to the residuals of a random subset of the existing trees. It then scales the new tree and the
dropped trees so that their sum is unchanged. Later rounds therefore change earlier trees, so the model of an earlier
round cannot be recovered by removing the last trees. For this reason, a copy of the best model, as text, is kept during
training.
"""

from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.models.lambdamart import LambdaMART, LambdaMARTParams
from gradrank.training.model import param, register
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.solvers.boosting import TREES
from gradrank.training.solvers.custom_boosting import BestModelBooster, WrappedBoostedTrees


class DARTParams(LambdaMARTParams):
    drop_rate: float = param(0.1, "LightGBM's default: probability that a tree is dropped", ge=0, le=1)
    max_drop: int = param(50, "LightGBM's default: largest number of dropped trees per round", ge=1)
    skip_drop: float = param(0.5, "LightGBM's default: probability that a round drops no tree", ge=0, le=1)
    rounds: int = param(500, "an upper bound; the time of a round grows with the number of trees", ge=1)


@register("dart")
class DART(WrappedBoostedTrees[DARTParams], LambdaMART[DARTParams]):
    Params = DARTParams
    summary = "DART: LambdaMART with trees dropped out (Vinayak & Gilad-Bachrach 2015), LightGBM"
    space = TREES | {
        "drop_rate": LogUniform(0.01, 0.3, "Vinayak & Gilad-Bachrach 2015: .015 to .1; a wider range"),
        "skip_drop": Choice((0.0, 0.5), "the paper's value, and LightGBM's default"),
    }

    @classmethod
    def uses_seed(cls, params: DARTParams) -> bool:
        """Return whether the training drops trees at random, or samples documents or features."""
        return params.drop_rate > 0.0 or super().uses_seed(params)

    @classmethod
    def objectives(cls, labels: np.ndarray, params: DARTParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        ((target, settings),) = super().objectives(labels, params)
        dropping = params.model_dump(include={"drop_rate", "max_drop", "skip_drop"})
        return [(target, settings | dropping | {"boosting": "dart"})]

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: DARTParams, seed: int) -> BestModelBooster:
        return BestModelBooster(booster, params.select_by)
