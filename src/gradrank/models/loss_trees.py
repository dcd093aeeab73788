"""Boosted trees on pair losses, and on any loss of the project that needs one output per document.

The pair losses are NDCG-Loss2++, YetiLoss, and the LambdaRank loss averaged over noisy orders. `lambdaloss_trees` is
the method of Wang et al. 2018. `lambdamart_stochastic` and `yeti_trees` follow Lyzhin et al. 2023, who separate three
choices: the pairs, their weights, and whether the weights are taken from noisy orders. The derivatives are computed in
gradrank.training.solvers.pair_derivatives. The trees are built by LightGBM; Lyzhin et al. use CatBoost.

`any_loss_trees` trains on any loss. LightGBM gets the gradient of the loss as the first derivatives. The second
derivatives are 1, as in the gradient boosting of Friedman 2001 without a line search, because the losses have no second
derivatives and some of them are not convex. The gradient is divided by its root mean square in the first round, so that
`learning_rate` has the same meaning for losses of any scale. `lambdaloss_trees` and `yeti_trees` use second derivatives
instead.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import field_validator

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.loss import CUTOFF
from gradrank.training.model import LabelReading, param, register
from gradrank.training.registry import check_loss, find_loss, loss_module
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.solvers.boosting import (
    LIGHTGBM,
    TREES,
    BoostingParams,
    CustomObjectiveBooster,
    WrappedBoostedTrees,
)

if TYPE_CHECKING:
    from gradrank.training.solvers.pair_derivatives import Derivatives


CUTOFFS = {
    "cutoff": Choice((5, 10, 30, CUTOFF.default), "the usual cutoffs of NDCG, LightGBM's truncation, and all ranks")
}


class LossTreesParams(BoostingParams):
    bagging_fraction: float = param(0.7, "the default of lambdamart", gt=0, le=1)
    draws: int = param(0, "noisy orders per round over which the weights are averaged; 0: no noise", ge=0, le=1000)


P = TypeVar("P", bound=LossTreesParams)


class LossTrees(WrappedBoostedTrees[P]):
    """Boosted trees that are fitted to the result of `derivatives`. Queries can have any number of documents."""

    uses_weights = "queries"
    reads_labels = "gains"

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        return params.draws > 0 or super().uses_seed(params)

    @classmethod
    def objectives(cls, train: Collection, params: P) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(train.labels, {"objective": "none"})]

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: P, seed: int) -> CustomObjectiveBooster:
        rng = np.random.default_rng(seed)
        derivatives = cls.derivatives(train.labels, train.offsets, rng, params, train.gains)
        return CustomObjectiveBooster(booster, derivatives, train.weights)

    @classmethod
    def derivatives(
        cls,
        labels: np.ndarray,
        offsets: np.ndarray,
        rng: np.random.Generator,
        params: P,
        gains: np.ndarray | None = None,
    ) -> "Derivatives":
        """Return a function that computes the first and second derivatives of the loss at (n,) scores.

        labels: (n,) grades of the training part. offsets: (q+1,). rng: source of the noise on the scores. gains: gain
        per grade from 0; None for 2^grade - 1.
        """
        raise NotImplementedError


class LambdaLossTreesParams(LossTreesParams):
    mu: float = param(10.0, "weight of loss2 relative to LambdaRank's, 0: LambdaRank's only; allRank's default", ge=0)
    sigma: float = param(1.0, "scale of score differences; the default of LightGBM and allRank", gt=0)
    cutoff: int = CUTOFF


@register("lambdaloss_trees")
class LambdaLossTrees(LossTrees[LambdaLossTreesParams]):
    Params = LambdaLossTreesParams
    summary = "Boosted trees on NDCG-Loss2++, the bound of LambdaLoss (Wang et al. 2018), LightGBM"
    space = TREES | CUTOFFS | {"mu": LogUniform(0.1, 30.0, "from mostly LambdaRank's weights to mostly those of loss2")}

    @classmethod
    def derivatives(
        cls,
        labels: np.ndarray,
        offsets: np.ndarray,
        rng: np.random.Generator,
        params: LambdaLossTreesParams,
        gains: np.ndarray | None = None,
    ) -> "Derivatives":
        from gradrank.training.solvers.pair_derivatives import lambda_derivatives

        settings = params.model_dump(include={"mu", "sigma", "draws", "cutoff"})
        return lambda_derivatives(labels, offsets, rng, gains=gains, **settings)


class StochasticLambdaMARTParams(LambdaLossTreesParams):
    draws: int = param(1, "noisy orders per round, drawn in each round", ge=1, le=1000)
    mu: float = param(0.0, "LambdaRank's weights", ge=0)


@register("lambdamart_stochastic")
class StochasticLambdaMART(LambdaLossTrees):
    Params = StochasticLambdaMARTParams
    summary = "LambdaMART with weights from orders by noisy scores (Lyzhin et al. 2023), LightGBM"
    space = TREES | CUTOFFS | {"draws": Choice((1, 3, 10), "up to CatBoost's number of permutations")}


class YetiTreesParams(LossTreesParams):
    draws: int = param(
        5, "half of CatBoost's 10 and half its time: validation NDCG@10 on MQ2007 .4557; .4553 with 10", ge=1, le=1000
    )
    cutoff: int = CUTOFF


@register("yeti_trees")
class YetiTrees(LossTrees[YetiTreesParams]):
    Params = YetiTreesParams
    summary = "Boosted trees on YetiLoss: neighbours of noisy orders (Lyzhin et al. 2023), LightGBM"
    space = TREES | CUTOFFS | {"draws": Choice((1, 3, 10), "up to CatBoost's number of permutations")}
    published = LIGHTGBM | {"draws": 10}

    @classmethod
    def derivatives(
        cls,
        labels: np.ndarray,
        offsets: np.ndarray,
        rng: np.random.Generator,
        params: YetiTreesParams,
        gains: np.ndarray | None = None,
    ) -> "Derivatives":
        from gradrank.training.solvers.pair_derivatives import yeti_derivatives

        return yeti_derivatives(labels, offsets, rng, draws=params.draws, cutoff=params.cutoff, gains=gains)


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
    def label_reading(cls, params: AnyLossTreesParams) -> LabelReading:
        return find_loss(params.loss).reads_labels

    @classmethod
    def uses_seed(cls, params: AnyLossTreesParams) -> bool:
        return find_loss(params.loss).uses_rng or super().uses_seed(params)

    @classmethod
    def objectives(cls, train: Collection, params: AnyLossTreesParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(train.labels, {"objective": "none"})]

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: AnyLossTreesParams, seed: int) -> CustomObjectiveBooster:
        """Return the wrapper. Raises GradrankError if the loss needs several outputs per document."""
        loss, rng = find_loss(params.loss), np.random.default_rng(seed)
        labels, offsets = loss.labels_of(train), train.offsets
        settings = loss.gain_setting(train)
        if (outputs := loss.outputs(labels)) != 1:
            raise GradrankError(
                f"{cls.name}: the loss {params.loss!r} needs {outputs} outputs per document, and trees have one. "
                "Fix: choose another loss"
            )
        _, first = loss(np.zeros(len(labels)), labels, offsets, rng=rng, **settings)
        scale = float(np.sqrt(np.average(first**2, weights=train.weights))) or 1.0

        def derivatives(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, gradient = loss(scores, labels, offsets, rng=rng, **settings)
            return gradient / scale, np.ones(len(gradient))

        return CustomObjectiveBooster(booster, derivatives, train.weights)
