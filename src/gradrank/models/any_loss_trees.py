"""Boosted trees on any loss of the project that needs one output per document.

LightGBM gets the gradient of the loss as the first derivatives. The second derivatives are 1, as in the gradient
boosting of Friedman 2001 without a line search, because the losses have no second derivatives and some of them are not
convex. The gradient is divided by its root mean square in the first round, so that `learning_rate` has the same meaning
for losses of any scale. `lambdaloss_trees` and `yeti_trees` use second derivatives instead.
"""

from typing import Any

import numpy as np
from pydantic import field_validator

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.lookup import check_loss, find_loss, loss_module
from gradrank.training.model import param, register
from gradrank.training.solvers.boosting import BoostingParams
from gradrank.training.solvers.custom_boosting import CustomObjectiveBooster, WrappedBoostedTrees


class AnyLossTreesParams(BoostingParams):
    loss: str = param("softmax", "any loss with one output per document, with the settings of its paper")
    bagging_fraction: float = param(0.7, "the default of lambdamart", gt=0, le=1)

    def modules(self) -> tuple[str, ...]:
        return (*super().modules(), loss_module(self.loss))

    _is_known = field_validator("loss")(check_loss)


@register("any_loss_trees")
class AnyLossTrees(WrappedBoostedTrees[AnyLossTreesParams]):
    Params = AnyLossTreesParams
    uses_weights = "queries"
    summary = "Boosted trees on the gradient of any loss of the project (Friedman 2001), LightGBM"

    @classmethod
    def uses_seed(cls, params: AnyLossTreesParams) -> bool:
        return find_loss(params.loss).uses_rng or super().uses_seed(params)

    @classmethod
    def objectives(cls, labels: np.ndarray, params: AnyLossTreesParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "none"})]

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: AnyLossTreesParams, seed: int) -> CustomObjectiveBooster:
        """Return the wrapper. Raises GradrankError if the loss needs several outputs per document."""
        loss, rng = find_loss(params.loss), np.random.default_rng(seed)
        labels, offsets = train.labels, train.offsets
        if (outputs := loss.outputs(labels)) != 1:
            raise GradrankError(
                f"{cls.name}: the loss {params.loss!r} needs {outputs} outputs per document, and trees have one. "
                "Fix: choose another loss"
            )
        _, first = loss(np.zeros(len(labels)), labels, offsets, rng=rng)
        scale = float(np.sqrt(np.average(first**2, weights=train.weights))) or 1.0

        def derivatives(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, gradient = loss(scores, labels, offsets, rng=rng)
            return gradient / scale, np.ones(len(gradient))

        return CustomObjectiveBooster(booster, derivatives, train.weights)
