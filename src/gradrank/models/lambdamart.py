"""LambdaMART (Burges 2010), boosted trees on XE-NDCG (Bruch 2021) and DART, trained by LightGBM.

`lambdamart` has the settings that are usual in practice: LightGBM truncates the list of pairs, normalises the lambdas
and samples the documents for each tree. `lambdamart_faithful` follows Burges 2010, section 7: it uses all pairs,
without normalisation and without sampling. `xendcg` averages several boosters, whereas Bruch 2021 trains a single one.

`dart` (Vinayak & Gilad-Bachrach 2015) is LambdaMART with dropout of trees. Each round fits a tree to the residuals of a
random subset of the existing trees. It then scales the new tree and the dropped trees so that their sum is unchanged.
Later rounds therefore change earlier trees, so the model of an earlier round cannot be recovered by removing the last
trees. For this reason, a copy of the best model, as text, is kept during training.
"""

from typing import Any, TypeVar

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import param, register
from gradrank.training.ndcg_gains import gains_of
from gradrank.training.scoring_form import TreesForm
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.solvers.boosting import (
    LIGHTGBM,
    TREES,
    BestModelBooster,
    BoostedTrees,
    BoostingParams,
    WrappedBoostedTrees,
)


class LambdaMARTParams(BoostingParams):
    bagging_fraction: float = param(
        0.7, "validation NDCG@10 on MQ2007 .4561, two seeds; .4525 without sampling", gt=0, le=1
    )
    sigma: float = param(1.0, "LightGBM's default; Burges 2010, section 4, leaves it open", gt=0)
    truncation: int = param(30, "LightGBM's default: pairs without a document at or above this rank are left out", ge=1)
    normalize: bool = param(
        True, "LightGBM's default: lambdas are divided by score differences and by their sum per query"
    )


class FaithfulParams(LambdaMARTParams):
    bagging_fraction: float = param(1.0, "Burges 2010, section 7: each tree is fitted to all documents", gt=0, le=1)
    truncation: int = param(10_000, "Burges 2010, section 7: all pairs of different grades", ge=1)
    normalize: bool = param(False, "Burges 2010, section 7: lambdas are not scaled")


P = TypeVar("P", bound=LambdaMARTParams)


@register("lambdamart")
class LambdaMART(BoostedTrees[P]):
    Params = LambdaMARTParams
    reads_labels = "gains"
    summary = "Boosted trees on LambdaRank's gradients (Burges 2010), practical settings, LightGBM"
    ranks_queries = True
    space = TREES | {
        "truncation": Choice((10, 30, 100), "the cutoff of NDCG@10, LightGBM's default, and nearly all ranks"),
        "normalize": Choice((True, False), "LightGBM's form, and that of Burges 2010"),
    }

    @classmethod
    def objectives(cls, train: Collection, params: P) -> list[tuple[np.ndarray, dict[str, Any]]]:
        gains = gains_of(np.arange(int(train.labels.max()) + 1), train.gains).tolist()
        return [
            (
                train.labels,
                {
                    "objective": "lambdarank",
                    "label_gain": gains,
                    "sigmoid": params.sigma,
                    "lambdarank_truncation_level": params.truncation,
                    "lambdarank_norm": params.normalize,
                },
            )
        ]


@register("lambdamart_faithful")
class LambdaMARTFaithful(LambdaMART[FaithfulParams]):
    Params = FaithfulParams
    summary = "LambdaMART with the lambdas of Burges 2010: all pairs, no normalisation, LightGBM"
    space = TREES


class XENDCGParams(BoostingParams):
    members: int = param(
        3,
        "boosters whose scores are averaged, because the objective draws random gammas: validation NDCG@10 on "
        "MQ2007 .4576 over four seeds; .4555 over five seeds with one booster",
        ge=1,
    )


@register("xendcg")
class XENDCG(BoostedTrees[XENDCGParams]):
    Params = XENDCGParams
    summary = "Boosted trees on a cross entropy that bounds NDCG (Bruch 2021, XE_NDCG_MART), LightGBM"
    space = TREES | {"members": Choice((1, 3), "one, as in the paper, and the default")}
    published = LIGHTGBM | {"members": 1}
    ranks_queries = True

    @classmethod
    def uses_seed(cls, params: XENDCGParams) -> bool:
        """Return True, because the objective draws a random gamma per document and round."""
        return True

    @classmethod
    def objectives(cls, train: Collection, params: XENDCGParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(train.labels, {"objective": "rank_xendcg"})] * params.members

    @classmethod
    def combine(cls, outputs: list[np.ndarray]) -> np.ndarray:
        return np.mean(outputs, axis=0)

    @classmethod
    def combine_forms(cls, forms: list[list[TreesForm]]) -> TreesForm:
        from gradrank.training.solvers.boosting import mean_form

        return mean_form([form for (form,) in forms])


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
    def objectives(cls, train: Collection, params: DARTParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        ((target, settings),) = super().objectives(train, params)
        dropping = params.model_dump(include={"drop_rate", "max_drop", "skip_drop"})
        return [(target, settings | dropping | {"boosting": "dart"})]

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: DARTParams, seed: int) -> BestModelBooster:
        return BestModelBooster(booster, params.select_by)
