"""LambdaRank (Burges, Ragno & Le 2006; Burges 2010): RankNet's pair gradients weighted by |dNDCG|."""

from functools import partial
from typing import Self

from gradrank.data.collection import Collection
from gradrank.learning.model import Callback, param, register
from gradrank.learning.net_ranker import NetRanker
from gradrank.learning.torch_net import NetParams, train_net
from gradrank.learning.training_part import with_grades_to_order


class LambdaRankParams(NetParams):
    weight_decay: float = param(
        1.0, "Loshchilov & Hutter 2019; best mean validation MAP on MQ2007 of 0.3 to 10", ge=0
    )
    normalize: bool = param(
        True,
        "each query's lambdas scaled to the same total, as LightGBM does; the papers do not. Mean "
        "validation NDCG@10 and MAP on MQ2007 rise by .001 (two seeds)",
    )


@register("lambdarank")
class LambdaRank(NetRanker):
    Params = LambdaRankParams
    summary = "LambdaRank: a two-layer net, pairs weighted by |dNDCG| (Burges, Ragno & Le 2006)"

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: LambdaRankParams, seed: int, callback: Callback
    ) -> Self:
        from gradrank.learning.losses.lambdarank import lambdarank

        loss = partial(lambdarank, sigma=params.sigma, normalize=params.normalize)
        train = with_grades_to_order(train, cls.name)
        return cls(train_net(train, vali, loss, params, seed, callback))
