"""DART (Vinayak & Gilad-Bachrach 2015): LambdaMART whose rounds leave out some of the trees that there are.

A round fits its tree to what the others lack without those dropped, then scales the new tree and the dropped ones so
that their sum stays in place. So the first trees of a finished model are not the model of an earlier round: the text of
the best round is kept while training goes on.
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
    drop_rate: float = param(0.1, "LightGBM's default: a tree is left out with this probability", ge=0, le=1)
    max_drop: int = param(50, "LightGBM's default: trees left out at most, a round", ge=1)
    skip_drop: float = param(0.5, "LightGBM's default: the share of rounds that leave out none", ge=0, le=1)
    rounds: int = param(500, "an upper bound: a round costs more, the more trees there are", ge=1)


@register("dart")
class DART(WrappedBoostedTrees[DARTParams], LambdaMART[DARTParams]):
    Params = DARTParams
    summary = "DART: LambdaMART with trees dropped out (Vinayak & Gilad-Bachrach 2015), LightGBM"
    space = TREES | {
        "drop_rate": LogUniform(0.01, 0.3, "Vinayak & Gilad-Bachrach 2015: .015 to .1, and beyond"),
        "skip_drop": Choice((0.0, 0.5), "the paper's, LightGBM's"),
    }

    @classmethod
    def uses_seed(cls, params: DARTParams) -> bool:
        """By what is dropped as well."""
        return params.drop_rate > 0.0 or super().uses_seed(params)

    @classmethod
    def objectives(cls, labels: np.ndarray, params: DARTParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        ((target, settings),) = super().objectives(labels, params)
        dropping = params.model_dump(include={"drop_rate", "max_drop", "skip_drop"})
        return [(target, settings | dropping | {"boosting": "dart"})]

    @classmethod
    def led(cls, booster: Any, train: Collection, params: DARTParams, seed: int) -> BestModelBooster:
        return BestModelBooster(booster, params.select_by)
