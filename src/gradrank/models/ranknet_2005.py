"""RankNet trained as in its paper (Burges et al. 2005): plain gradient descent with a decreasing learning rate.

By default, the training takes one step per pair, as in the paper. With `updates: query`, it takes one step per query,
along the sum of the gradients of the pairs of the query. This needs only one backward pass per document (Burges, Ragno
& Le 2006). To first order, both settings give the same result at the same learning rate, and steps per query are five
to ten times as fast. However, a step per query overshoots if a query has thousands of pairs, as in OHSUMED. The setting
`pairs.ties` of params.yaml adds pairs of equal grade with target 1/2 (section 5 of the paper).
"""

from typing import ClassVar, Literal, Self

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.search_space import Choice, Dimension, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_pairs_to_order

RATE: dict[str, Dimension] = {"learning_rate": LogUniform(1e-5, 0.1, "two decades on either side of the paper's value")}


class RankNet2005Params(ModelParams):
    learning_rate: float = param(
        1e-3, "Burges et al. 2005, section 6; halved after an epoch whose mean error rose", gt=0
    )
    epochs: int = param(100, "Burges et al. 2005, section 6; the best epoch on validation is kept", ge=1)
    updates: Literal["query", "pair"] = param(
        "pair", "Burges et al. 2005: one step per pair; query: one step per query (Burges, Ragno & Le 2006)"
    )
    sigma: float = param(1.0, "scale of score differences (Burges 2010, section 2); the 2005 paper: 1", gt=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


class RankNet2005TwoLayerParams(RankNet2005Params):
    hidden: int = param(10, "Burges et al. 2005, section 5: 10 tanh units", ge=1, le=1000)


@register("ranknet_2005_linear")
class RankNet2005Linear(NetRanker[RankNet2005Params]):
    Params = RankNet2005Params
    summary = "Linear RankNet, trained as in its paper (Burges et al. 2005)"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar = RATE

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: RankNet2005Params, seed: int, callback: Callback) -> Self:
        """Train the net and return the model of the best epoch.

        The callback is called once per epoch, with the learning rate of that epoch. Raises GradrankError if no query
        has a pair or if the training diverges.
        """
        from gradrank.training.solvers.stochastic import train_stochastic

        train = with_pairs_to_order(train, cls.name)
        net = train_stochastic(
            train,
            vali,
            hidden=params.hidden if isinstance(params, RankNet2005TwoLayerParams) else 0,
            learning_rate=params.learning_rate,
            epochs=params.epochs,
            seed=seed,
            callback=callback,
            select_by=params.select_by,
            sigma=params.sigma,
            ties=train.ties,
            by_pair=params.updates == "pair",
        )
        return cls(net)


@register("ranknet_2005_two_layer")
class RankNet2005TwoLayer(RankNet2005Linear):
    Params = RankNet2005TwoLayerParams
    summary = "Two-layer RankNet of 10 tanh units, trained as in its paper (Burges et al. 2005)"
    space: ClassVar = RATE | {"hidden": Choice((5, 10, 20, 40), "half to four times the units of the paper")}
