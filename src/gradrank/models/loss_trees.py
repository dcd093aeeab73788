"""LambdaMART's trees on other pair losses: NDCG-Loss2++, YetiLoss, LambdaRank's in the mean over noise; LightGBM.

What Lyzhin et al. 2023 take apart: which pairs count, what they weigh, and whether orders are noisy.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import param, register
from gradrank.training.nets.net_params import CUTOFF
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.solvers.boosting import LIGHTGBM, TREES, BoostingParams
from gradrank.training.solvers.custom_boosting import CustomObjectiveBooster, WrappedBoostedTrees

if TYPE_CHECKING:
    from gradrank.training.solvers.pair_derivatives import Derivatives

CUTOFFS = {"cutoff": Choice((5, 10, 30, CUTOFF.default), "NDCG's usual ranks, LightGBM's truncation, or all")}


class LossTreesParams(BoostingParams):
    bagging_fraction: float = param(0.7, "as lambdamart's", gt=0, le=1)
    draws: int = param(0, "orders by noisy scores that weights are averaged over; 0: no noise", ge=0, le=1000)


P = TypeVar("P", bound=LossTreesParams)


class LossTrees(WrappedBoostedTrees[P]):
    """Trees that follow `forces`. Queries may be of any length."""

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        return params.draws > 0 or super().uses_seed(params)

    @classmethod
    def objectives(cls, labels: np.ndarray, params: P) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "none"})]

    @classmethod
    def led(cls, booster: Any, train: Collection, params: P, seed: int) -> CustomObjectiveBooster:
        rng = np.random.default_rng(seed)
        return CustomObjectiveBooster(booster, cls.forces(train.labels, train.offsets, rng, params))

    @classmethod
    def forces(cls, labels: np.ndarray, offsets: np.ndarray, rng: np.random.Generator, params: P) -> "Derivatives":
        """Slopes and curvatures by (n,) scores of the training part."""
        raise NotImplementedError


class LambdaLossTreesParams(LossTreesParams):
    mu: float = param(
        10.0, "what loss2's weights count beside LambdaRank's, 0 for these alone; allRank's default", ge=0
    )
    sigma: float = param(1.0, "scale of a score difference; LightGBM's and allRank's default", gt=0)
    cutoff: int = CUTOFF


@register("lambdaloss_trees")
class LambdaLossTrees(LossTrees[LambdaLossTreesParams]):
    Params = LambdaLossTreesParams
    summary = "Boosted trees on NDCG-Loss2++, the bound of LambdaLoss (Wang et al. 2018), LightGBM"
    space = TREES | CUTOFFS | {"mu": LogUniform(0.1, 30.0, "from LambdaRank's weights to loss2's")}

    @classmethod
    def forces(
        cls, labels: np.ndarray, offsets: np.ndarray, rng: np.random.Generator, params: LambdaLossTreesParams
    ) -> "Derivatives":
        from gradrank.training.solvers.pair_derivatives import lambda_derivatives

        own = params.model_dump(include={"mu", "sigma", "draws", "cutoff"})
        return lambda_derivatives(labels, offsets, rng, **own)


class StochasticLambdaMARTParams(LambdaLossTreesParams):
    draws: int = param(1, "noisy orders a round; every round has new ones", ge=1, le=1000)
    mu: float = param(0.0, "LambdaRank's weights", ge=0)


@register("lambdamart_stochastic")
class StochasticLambdaMART(LambdaLossTrees):
    Params = StochasticLambdaMARTParams
    summary = "LambdaMART with weights from orders by noisy scores (Lyzhin et al. 2023), LightGBM"
    space = TREES | CUTOFFS | {"draws": Choice((1, 3, 10), "up to CatBoost's permutations")}


class YetiTreesParams(LossTreesParams):
    draws: int = param(
        5, "half of CatBoost's 10, half the time: validation NDCG@10 on MQ2007 .4557, .4553 with 10", ge=1, le=1000
    )
    cutoff: int = CUTOFF


@register("yeti_trees")
class YetiTrees(LossTrees[YetiTreesParams]):
    Params = YetiTreesParams
    summary = "Boosted trees on YetiLoss: neighbours of noisy orders (Lyzhin et al. 2023), LightGBM"
    space = TREES | CUTOFFS | {"draws": Choice((1, 3, 10), "up to CatBoost's permutations")}
    published = LIGHTGBM | {"draws": 10}

    @classmethod
    def forces(
        cls, labels: np.ndarray, offsets: np.ndarray, rng: np.random.Generator, params: YetiTreesParams
    ) -> "Derivatives":
        from gradrank.training.solvers.pair_derivatives import yeti_derivatives

        return yeti_derivatives(labels, offsets, rng, draws=params.draws, cutoff=params.cutoff)
