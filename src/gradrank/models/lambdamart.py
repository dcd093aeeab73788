"""LambdaMART (Burges 2010) and boosted trees on the XE_NDCG objective (Bruch 2021), by LightGBM."""

from typing import Any, TypeVar

import numpy as np

from gradrank.training.model import param, register
from gradrank.training.search_space import Choice
from gradrank.training.solvers.boosting import LIGHTGBM, TREES, BoostedTrees, BoostingParams


class LambdaMARTParams(BoostingParams):
    bagging_fraction: float = param(
        0.7, "validation NDCG@10 on MQ2007 .4561, two seeds; .4525 without sampling", gt=0, le=1
    )
    sigma: float = param(1.0, "LightGBM's default; Burges 2010, section 4, leaves it open", gt=0)
    truncation: int = param(30, "LightGBM's default: a pair needs a document above this rank", ge=1)
    normalize: bool = param(True, "LightGBM's default: lambdas scaled by score distance and by query")


class FaithfulParams(LambdaMARTParams):
    bagging_fraction: float = param(1.0, "Burges 2010, section 7: every tree sees every document", gt=0, le=1)
    truncation: int = param(10_000, "Burges 2010, section 7: every pair of different grades counts", ge=1)
    normalize: bool = param(False, "Burges 2010, section 7: no scaling of the lambdas")


P = TypeVar("P", bound=LambdaMARTParams)


@register("lambdamart")
class LambdaMART(BoostedTrees[P]):
    Params = LambdaMARTParams
    summary = "Boosted trees on LambdaRank's gradients (Burges 2010), practical settings, LightGBM"
    ranks_queries = True
    space = TREES | {
        "truncation": Choice((10, 30, 100), "NDCG@10's, LightGBM's, and about all of a list"),
        "normalize": Choice((True, False), "as LightGBM does, as Burges 2010 does"),
    }

    @classmethod
    def objectives(cls, labels: np.ndarray, params: P) -> list[tuple[np.ndarray, dict[str, Any]]]:
        gains = [2.0**grade - 1.0 for grade in range(int(labels.max()) + 1)]
        return [
            (
                labels,
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
        "averages out the objective's random gammas: validation NDCG@10 on MQ2007 .4576 over four seeds, "
        "and .4555 over five with one member",
        ge=1,
    )


@register("xendcg")
class XENDCG(BoostedTrees[XENDCGParams]):
    Params = XENDCGParams
    summary = "Boosted trees on a cross entropy that bounds NDCG (Bruch 2021, XE_NDCG_MART), LightGBM"
    space = TREES | {"members": Choice((1, 3), "the paper's one, and an average")}
    published = LIGHTGBM | {"members": 1}
    ranks_queries = True

    @classmethod
    def uses_seed(cls, params: XENDCGParams) -> bool:
        """The objective draws a gamma a document and round."""
        return True

    @classmethod
    def objectives(cls, labels: np.ndarray, params: XENDCGParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(labels, {"objective": "rank_xendcg"})] * params.members

    @classmethod
    def combine(cls, outputs: list[np.ndarray]) -> np.ndarray:
        return np.mean(outputs, axis=0)
