"""Fusion: the scores of other models are made comparable within each query, weighted and added.

The combined models are the members of a fusion. The features of a fusion model are the scores of its members, one
column per member. The parameter `points` selects how scores are converted to comparable points
(gradrank.models.fusion.comparable_scores). The class of the model defines how the points are weighted and added.
Weights are learned from the validation part. The training part is not used, because the members were trained on its
grades.

The methods are CombSUM and CombMNZ (Fox & Shaw 1994, Lee 1997, Montague & Aslam 2001), the Borda count (Aslam &
Montague 2001), reciprocal rank fusion (Cormack et al. 2009), ISR (Mourão et al. 2015), weighted CombSUM (Wu et al.
2009) and stacking (Wolpert 1992).

Within one fold, these are the documents of the validation part. The members were trained on the grades of the training
part, so weights learned on that part would favour the members that overfit most.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from gradrank.base.files import write_json
from gradrank.base.validation import validate
from gradrank.data.collection import Collection
from gradrank.training.losses.listwise import softmax
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, Weights, check_width, damaged, read_content
from gradrank.training.scoring_form import NoScoringForm, ScoringForm
from gradrank.training.search_space import Choice, Grid, LogUniform
from gradrank.training.selection import CRITERION, measure
from gradrank.training.solvers.linear import l2_path, times
from gradrank.training.training_queries import have_two_grades


def learned_weights(held_out: Collection, grid: Sequence[float], parts: int, callback: Callback) -> np.ndarray:
    """Return the (m,) weights of the features that minimise the softmax cross-entropy, with the best l2 of `grid`.

    The best l2 is the value with the smallest cross-entropy in a cross-validation over the queries. It is not selected
    by a ranking measure, because on a few hundred queries, differences in the measure are mostly due to chance. The
    callback is called once per value of l2, from the largest to the smallest, with the measures of the cross-validated
    scores over all queries.

    held_out: queries that no member was trained on, at least two of them with documents of different grades. The
    weights are learned from these, because there is nothing to order in the others. Its features are (n, m). grid: the
    values of l2. parts: number of parts of the cross-validation.
    """
    strengths, ordered = sorted(grid, reverse=True), have_two_grades(held_out)
    learned_on, scores = held_out.select_queries(ordered), np.zeros((len(grid), held_out.rows))
    found = cross_validated_scores(learned_on, strengths, min(parts, learned_on.queries))
    costs = [softmax(row, learned_on.labels, learned_on.offsets)[0] for row in found]
    scores[:, ordered[held_out.query_of_row]] = found  # no score changes the measures of the other queries
    for step, (l2, cost, row) in enumerate(zip(strengths, costs, scores, strict=True), start=1):
        _report(callback, step, held_out, l2, cost, row)
    return _path(learned_on, strengths[: np.argmin(costs) + 1])[-1]


def cross_validated_scores(held_out: Collection, strengths: Sequence[float], parts: int) -> np.ndarray:
    """Return the (l, n) cross-validated scores, one row per value of l2.

    The queries of each part are scored with the weights that were learned on the other parts.

    strengths: the values of l2 in descending order.
    """
    scores = np.empty((len(strengths), held_out.rows))
    for part in range(parts):
        inside = np.arange(held_out.queries) % parts == part
        rows = inside[held_out.query_of_row]
        features = held_out.features[rows]
        weights = _path(held_out.select_queries(~inside), strengths)
        scores[:, rows] = [times(features, solution) for solution in weights]
    return scores


def _path(learned_on: Collection, strengths: Sequence[float]) -> list[np.ndarray]:
    """Return the (m,) weights for each value of l2."""
    path = l2_path(learned_on.features, learned_on.labels, learned_on.offsets, softmax, strengths)
    return [weights for weights, _ in path]


def _report(callback: Callback, step: int, held_out: Collection, l2: float, cost: float, scores: np.ndarray) -> None:
    part = held_out.labels, held_out.offsets, held_out.convention
    values = {name: measure(name, scores, *part) for name in ("map", "ndcg@10")}
    callback(step, l2=l2, vali_loss=cost, **{f"vali_{name}": value for name, value in values.items()})


NotNegative = Literal["min_max", "reciprocal_rank", "inverse_square_rank", "borda"]
Points = Literal["z_score", NotNegative]
DEPTH = Choice((None, 5, 10, 20), "all ranks, and the usual cutoffs of LETOR's measures")


def own_points(name: str, source: str) -> Any:
    """Return the field `points` of a fusion method with the default `name`. source: the publication of the default."""
    return param(name, f"{source}; z_score and min_max depend on score differences, the others only on ranks")


class FusionParams(ModelParams):
    """The parameters of every fusion method."""

    # This field is not called `members`, because in other models `members` is a number of averaged models.
    models: tuple[str, ...] = param(
        ("xendcg", "ranknet_kernel", "listnet_neural", "rankboost"),
        "trees, kernel, net, stumps: the best mean validation MAP on MQ2007 of all subsets of seven models",
        min_length=2,
    )
    points: Any  # one of Points; each method declares its default and the values that it allows
    k: Annotated[float, Field(ge=0)] = param(60.0, "for reciprocal_rank: Cormack et al. 2009, section 2")


P = TypeVar("P", bound=FusionParams)


class FusionContent(Content):
    params: dict[str, Any]
    weights: Weights


class Fusion(Model[P]):
    """A ranker with score = sum_m w_m points_m over the members m. `weigh` returns the weights, by default 1."""

    Params = FusionParams
    reads_labels = "order"
    uses_weights = "documents"  # the training part is not used: the members were trained with its weights

    def __init__(self, params: P, weights: np.ndarray) -> None:
        """Create a fusion with (m,) weights, one per column of the features."""
        self.params, self.weights = params, weights

    @classmethod
    def members(cls, params: P) -> tuple[str, ...]:
        return params.models

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        """Return False, because only the members use random numbers."""
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
        points = cls.points(vali.features, vali.offsets, params)
        return cls(params, cls.weigh(replace(vali, features=points), params, callback))

    @classmethod
    def points(cls, features: np.ndarray, offsets: np.ndarray, params: P) -> np.ndarray:
        """Return the (n, m) float64 points of the documents. features: (n, m) scores of m members."""
        from gradrank.models.fusion import comparable_scores

        settings = {"k": params.k} if params.points == "reciprocal_rank" else {}
        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        to_points = getattr(comparable_scores, params.points)
        return np.stack([to_points(column, offsets, **settings) for column in columns], axis=1)

    @classmethod
    def weigh(cls, vali: Collection, params: P, callback: Callback) -> np.ndarray:
        """Return the (m,) weights of the members, and report the validation measures of the fusion to `callback`.

        vali: the validation part, with the (n, m) points of the members as its features.
        """
        return cls.reported(np.ones(vali.features.shape[1]), vali, callback)

    @classmethod
    def reported(cls, weights: np.ndarray, vali: Collection, callback: Callback) -> np.ndarray:
        """Report the validation measures of the fusion with `weights` to `callback`, and return `weights`."""
        scores = cls.added(vali.features, weights)
        part = vali.labels, vali.offsets, vali.convention
        callback(1, **{f"vali_{name}": measure(name, scores, *part) for name in ("map", "ndcg@10")})
        return weights

    @staticmethod
    def added(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the (n,) weighted sums of the points. points: (n, m). weights: (m,)."""
        return np.asarray(sum(weight * column for weight, column in zip(weights, points.T, strict=True)))

    @property
    def scores_whole_queries(self) -> bool:
        return True  # the points of a member depend on the ranks or on the range of its scores in the query

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.added(self.points(features, offsets, self.params), self.weights)

    def scoring_form(self, features: int) -> ScoringForm:
        raise NoScoringForm("its features are the scores of other models, which are compared within each query")

    def save(self, folder: Path) -> None:
        stored = {"params": self.params.model_dump(mode="json"), "weights": self.weights.tolist()}
        write_json(folder / "fusion.json", stored)

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / "fusion.json"
        stored, faults = read_content(path, FusionContent), []
        params = cast("P | None", validate(cls.Params, stored.params, "params.", faults))
        if params is None:
            raise damaged(path, "; ".join(faults))
        return cls(params, np.array(stored.weights, np.float64))

    def check_width(self, features: int) -> None:
        check_width("fusion.json", len(self.weights), features)


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
    space: ClassVar = {"k": LogUniform(1.0, 1000.0, "around the 60 of Cormack et al. 2009")}


class BordaParams(FusionParams):
    points: Points = own_points("borda", "Aslam & Montague 2001")


@register("borda")
class Borda(Fusion[BordaParams]):
    Params = BordaParams
    summary = "Borda count: in how many places documents are above others, summed (Aslam & Montague 2001)"


class CombMNZParams(FusionParams):
    points: NotNegative = own_points("min_max", "Lee 1997")
    depth: PositiveInt | None = param(
        None, "a member lists the documents down to this rank; the others get no points. None: all documents"
    )


@register("combmnz")
class CombMNZ(Fusion[CombMNZParams]):
    """A fusion that multiplies the sum of points by the number of members that give points to the document."""

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
        4.0, "Wu et al. 2009: powers of the measure are better weights than the measure; not tuned; 0: equal weights"
    )
    select_by: str = param("map", "validation measure for the weights, as in LETOR's protocol", pattern=CRITERION)


@register("weighted_combsum")
class WeightedCombSUM(Fusion[WeightedCombSUMParams]):
    Params = WeightedCombSUMParams
    summary = "CombSUM in which a model weighs a power of its own validation measure (Wu et al. 2009)"
    space: ClassVar = {"power": LogUniform(1.0, 100.0, "from the measure itself to nearly only the best member")}

    @classmethod
    def weigh(cls, vali: Collection, params: WeightedCombSUMParams, callback: Callback) -> np.ndarray:
        part = vali.labels, vali.offsets, vali.convention
        values = np.array([measure(params.select_by, column, *part) for column in vali.features.T])
        best = values.max()
        weights = (values / best) ** params.power if best > 0.0 else np.ones(len(values))
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
        "models of every kind: linear, kernel and stumps, nets, trees; the weights select among them",
        min_length=2,
    )
    l2: Grid[PositiveFloat] = param(
        (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003),
        "half decades, from weights proportional to each member's fit to overfitting of 28 members on 330 queries",
        min_length=1,
    )
    parts: int = param(
        10, "parts of the cross-validation on the validation queries, which selects l2 (Kohavi 1995: ten)", ge=2
    )


@register("fusion")
class LearnedFusion(Fusion[LearnedFusionParams]):
    Params = LearnedFusionParams
    summary = "Sum of other models' z-scores, weights learned on the validation part (stacking, Wolpert 1992)"
    learns_on_validation = True

    @classmethod
    def weigh(cls, vali: Collection, params: LearnedFusionParams, callback: Callback) -> np.ndarray:
        """Return learned weights.

        Return equal weights if fewer than two queries contain documents with different grades.
        """
        from gradrank.training.training_queries import have_two_grades

        if have_two_grades(vali).sum() < 2:
            return super().weigh(vali, params, callback)
        return learned_weights(vali, params.l2, params.parts, callback)
