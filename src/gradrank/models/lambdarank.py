"""LambdaRank (Burges, Ragno & Le 2006; Burges 2010): RankNet's pair gradients weighted by |dNDCG|."""

from functools import partial
from typing import Self

from gradrank.additive import with_grades_to_order
from gradrank.collection import Collection
from gradrank.model import Callback, register
from gradrank.training import NetParams, NetRanker, train_net


@register("lambdarank")
class LambdaRank(NetRanker):
    Params = NetParams
    summary = "LambdaRank: a two-layer net, pairs weighted by |dNDCG| (Burges, Ragno & Le 2006)"

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: NetParams, seed: int, callback: Callback
    ) -> Self:
        from gradrank.losses import lambdarank

        train = with_grades_to_order(train, cls.name)
        return cls(train_net(train, vali, partial(lambdarank, sigma=params.sigma), params, seed, callback))
