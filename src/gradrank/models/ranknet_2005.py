"""RankNet with the training of its paper (Burges et al. 2005): plain gradient descent, a rate that halves.

A step is taken a query at a time, along the mean gradient of the query's pairs, which is passed backward once
a document (Burges, Ragno & Le 2006): the factored form, equal to adding up the pairs' gradients. The 2005
paper's step a pair is `updates: pair`, ten times as slow. The rate means the same in both (a query
of one pair is one pair), and a mean keeps queries of thousands of pairs, as OHSUMED's, from overshooting. Whether equal
grades are pairs of target 1/2, as section 5 tries, is said of the stage that makes the pairs (`pairs.ties`).
"""

from typing import Literal, Self

from gradrank.data.collection import Collection
from gradrank.learning.model import Callback, ModelParams, param, register
from gradrank.learning.net_ranker import NetRanker
from gradrank.learning.selection import CRITERION
from gradrank.learning.training_part import with_pairs_to_order


class RankNet2005Params(ModelParams):
    learning_rate: float = param(
        1e-3, "Burges et al. 2005, section 6; halved after an epoch whose mean error rose", gt=0
    )
    epochs: int = param(100, "Burges et al. 2005, section 6; the best on validation is kept", ge=1)
    updates: Literal["query", "pair"] = param(
        "query", "Burges, Ragno & Le 2006: a step a query; the 2005 paper: pair"
    )
    sigma: float = param(1.0, "scale of a score difference (Burges 2010, section 2); the 2005 paper: 1", gt=0)
    select_by: str = param(
        "map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION
    )


class RankNet2005TwoLayerParams(RankNet2005Params):
    hidden: int = param(10, "Burges et al. 2005, section 5: 10 tanh units", ge=1, le=1000)


@register("ranknet_2005_linear")
class RankNet2005Linear(NetRanker):
    Params = RankNet2005Params
    summary = "Linear RankNet, trained as in its paper (Burges et al. 2005)"
    needs_pairs = True

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNet2005Params, seed: int, callback: Callback
    ) -> Self:
        """A step of the callback is an epoch; `learning_rate` is the one the epoch was trained with."""
        from gradrank.learning.stochastic import train_stochastic

        settings = {"hidden": 0} | dict(params)
        by_pair = settings.pop("updates") == "pair"
        train = with_pairs_to_order(train, cls.name)
        settings |= {"by_pair": by_pair, "ties": train.ties}
        net = train_stochastic(train, vali, seed=seed, callback=callback, **settings)
        return cls(net)


@register("ranknet_2005_two_layer")
class RankNet2005TwoLayer(RankNet2005Linear):
    Params = RankNet2005TwoLayerParams
    summary = "Two-layer RankNet of 10 tanh units, trained as in its paper (Burges et al. 2005)"
