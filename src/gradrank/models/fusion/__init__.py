"""Fusion: other models' scores of a query made comparable, weighted and added up.

The "features" are the scores of the models that a fusion names, a column each. A member of the family says by its
parameters what scores become, and by its class how they are added and weighted. The training part is not looked at:
the models know its grades. What is learned is learned from the validation part.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from gradrank.base.files import read_json, write_json
from gradrank.data.collection import Collection
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.search_space import Choice, Grid, LogUniform
from gradrank.training.selection import CRITERION, measure

NotNegative = Literal["min_max", "reciprocal_rank", "inverse_square_rank", "borda"]
Points = Literal["z_score", NotNegative]
DEPTH = Choice((None, 5, 10, 20), "all of a query, and beginnings of the length that LETOR's measures look at")


def own_points(name: str, source: str) -> Any:
    """The `points` of a member's parameters."""
    return param(name, f"{source}; another: z_score and min_max keep how far apart scores are, the others ranks alone")


class FusionParams(ModelParams):
    # Not `members`: elsewhere that is how many models of one kind are averaged.
    models: tuple[str, ...] = param(
        ("xendcg", "ranknet_kernel", "listnet_neural", "rankboost"),
        "trees, kernel, net, stumps: of the subsets of seven models the best mean validation MAP on MQ2007",
        min_length=2,
    )
    points: Any  # of Points: each method declares those that it allows
    k: Annotated[float, Field(ge=0)] = param(60.0, "of reciprocal_rank: Cormack et al. 2009, section 2")


P = TypeVar("P", bound=FusionParams)


class Fusion(Model[P]):
    """score = sum_m w_m points_m; `weigh` gives the weights, here 1."""

    Params = FusionParams

    def __init__(self, params: P, weights: np.ndarray) -> None:
        """weights: (m,), one a column of the features."""
        self.params, self.weights = params, weights

    @classmethod
    def members(cls, params: P) -> tuple[str, ...]:
        return params.models

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        """No: its members' chance is theirs."""
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
        points = cls.points(vali.features, vali.offsets, params)
        return cls(params, cls.weigh(replace(vali, features=points), params, callback))

    @classmethod
    def points(cls, features: np.ndarray, offsets: np.ndarray, params: P) -> np.ndarray:
        """(n, m) float64, of the (n, m) scores of m models."""
        from gradrank.models.fusion import comparable_scores as fusing

        settings = {"k": params.k} if params.points == "reciprocal_rank" else {}
        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        given = [getattr(fusing, params.points)(column, offsets, **settings) for column in columns]
        return np.stack(given, axis=1)

    @classmethod
    def weigh(cls, vali: Collection, params: P, callback: Callback) -> np.ndarray:
        """(m,) weights of the models; vali: with their (n, m) points. The validation measures are reported."""
        return cls.reported(np.ones(vali.features.shape[1]), vali, callback)

    @classmethod
    def reported(cls, weights: np.ndarray, vali: Collection, callback: Callback) -> np.ndarray:
        """The weights, after a report of the validation measures that they give."""
        scores = cls.added(vali.features, weights)
        criteria = ("map", "ndcg@10")
        callback(1, **{f"vali_{name}": measure(name, scores, vali.labels, vali.offsets) for name in criteria})
        return weights

    @staticmethod
    def added(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(n,) the weighted sums of (n, m) points."""
        return sum(weight * column for weight, column in zip(weights, points.T, strict=True))

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.added(self.points(features, offsets, self.params), self.weights)

    def save(self, folder: Path) -> None:
        stored = {"params": self.params.model_dump(mode="json"), "weights": self.weights.tolist()}
        write_json(folder / "fusion.json", stored)

    @classmethod
    def load(cls, folder: Path) -> Self:
        stored = read_json(folder / "fusion.json")
        params = cast("P", cls.Params(**stored["params"]))
        return cls(params, np.array(stored["weights"]))


class CombSUMParams(FusionParams):
    points: Points = own_points("z_score", "Montague & Aslam 2001")


@register("combsum")
class CombSUM(Fusion[CombSUMParams]):
    Params = CombSUMParams
    summary = "CombSUM: sum of other models' z-scores (Fox & Shaw 1994, Montague & Aslam 2001)"
    space: ClassVar = {"points": Choice(("z_score", "min_max"), "Montague & Aslam 2001, Lee 1997")}


class ReciprocalRankParams(FusionParams):
    points: Points = own_points("reciprocal_rank", "Cormack et al. 2009")


@register("rrf")
class ReciprocalRankFusion(Fusion[ReciprocalRankParams]):
    Params = ReciprocalRankParams
    summary = "Reciprocal rank fusion: sum of 1 / (60 + rank) in other models' rankings (Cormack et al. 2009)"
    space: ClassVar = {"k": LogUniform(1.0, 1000.0, "about Cormack et al.'s 60")}


class BordaParams(FusionParams):
    points: Points = own_points("borda", "Aslam & Montague 2001")


@register("borda")
class Borda(Fusion[BordaParams]):
    Params = BordaParams
    summary = "Borda count: in how many places documents are above others, summed (Aslam & Montague 2001)"


class CombMNZParams(FusionParams):
    points: NotNegative = own_points("min_max", "Lee 1997")
    depth: PositiveInt | None = param(
        None, "a model lists a query's documents down to this rank; below it gives no points. None: all of them"
    )


@register("combmnz")
class CombMNZ(Fusion[CombMNZParams]):
    """The sum times the number of models that give the document points."""

    Params = CombMNZParams
    summary = "CombMNZ: CombSUM times the number of models that list the document (Fox & Shaw 1994, Lee 1997)"
    space: ClassVar = {"depth": DEPTH}

    @classmethod
    def points(cls, features: np.ndarray, offsets: np.ndarray, params: CombMNZParams) -> np.ndarray:
        from gradrank.models.fusion.comparable_scores import rank

        points = super().points(features, offsets, params)
        if params.depth is not None:
            for column, scores in zip(points.T, features.T, strict=True):
                column[rank(np.ascontiguousarray(scores, dtype=np.float64), offsets) > params.depth] = 0.0
        return points

    @staticmethod
    def added(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (points > 0.0).sum(axis=1) * Fusion.added(points, weights)


class InverseSquareRankParams(CombMNZParams):
    points: NotNegative = own_points("inverse_square_rank", "Mourão et al. 2015")


@register("isr")
class InverseSquareRank(CombMNZ):
    Params = InverseSquareRankParams
    summary = "ISR: sum of 1 / rank^2 times the number of models that list the document (Mourão et al. 2015)"


class WeightedCombSUMParams(CombSUMParams):
    power: Annotated[float, Field(ge=0)] = param(
        4.0, "Wu et al. 2009: powers of a model's measure do better than itself; not tuned here; 0: all alike"
    )
    select_by: str = param("map", "the validation measure that weighs, LETOR's choice", pattern=CRITERION)


@register("weighted_combsum")
class WeightedCombSUM(Fusion[WeightedCombSUMParams]):
    Params = WeightedCombSUMParams
    summary = "CombSUM in which a model weighs a power of its own validation measure (Wu et al. 2009)"
    space: ClassVar = {"power": LogUniform(1.0, 100.0, "from the measure itself to almost the best alone")}

    @classmethod
    def weigh(cls, vali: Collection, params: WeightedCombSUMParams, callback: Callback) -> np.ndarray:
        own = np.array([measure(params.select_by, each, vali.labels, vali.offsets) for each in vali.features.T])
        best = own.max()
        weights = (own / best) ** params.power if best > 0.0 else np.ones(len(own))
        return cls.reported(weights, vali, callback)


class LearnedFusionParams(CombSUMParams):
    models: tuple[str, ...] = param(
        (
            *("regression", "ranksvm", "ranknet_linear", "listnet", "coordinate_ascent", "smoothrank"),
            *("ranknet_kernel", "rankboost", "rankboost_ndcg", "frank"),
            *("ranknet_two_layer", "lambdarank", "listnet_neural", "softmax", "lambdaloss"),
            *("approx_ndcg", "neural_ndcg", "attention_lambdaloss", "arsm"),
            *("mart", "mcrank", "random_forest", "lambdamart", "lambdamart_stochastic", "lambdaloss_trees"),
            *("yeti_trees", "xendcg", "dart"),
        ),
        "some of every kind of learner: linear, kernel and stumps, nets, trees; the weights do the choosing",
        min_length=2,
    )
    l2: Grid[PositiveFloat] = param(
        (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003),
        "half decades from weights in proportion to each model's own fit to what 28 models overfit on 330 queries",
        min_length=1,
    )
    parts: int = param(10, "of the validation queries, for choosing l2 (Kohavi 1995: ten)", ge=2)


@register("fusion")
class LearnedFusion(Fusion[LearnedFusionParams]):
    Params = LearnedFusionParams
    summary = "Sum of other models' z-scores, weights learned on the validation part (stacking, Wolpert 1992)"
    learns_on_validation = True

    @classmethod
    def weigh(cls, vali: Collection, params: LearnedFusionParams, callback: Callback) -> np.ndarray:
        """Equal weights where fewer than two queries have an order to learn."""
        from gradrank.models.fusion.stacking import learned_weights
        from gradrank.training.training_queries import of_two_grades

        ordered = of_two_grades(vali)
        if ordered.sum() < 2:
            return super().weigh(vali, params, callback)
        return learned_weights(vali.select_queries(ordered), params.l2, params.parts, callback)
