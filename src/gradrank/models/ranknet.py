"""RankNet (Burges et al. 2005) with a linear scorer or a net, trained by current methods or as in its paper.

The cost is that of the paper. The training deviates from the paper in three ways: pair gradients are summed per
document (Burges, Ragno & Le 2006), the convex linear problem is solved by L-BFGS with an L2 penalty, and the net is
trained by AdamW on mini-batches of queries. `ranknet_2005_linear` and `ranknet_2005_two_layer` are trained as in the
paper. If a user's file contains pairs with target probabilities, the cost is summed pair by pair.

The training of the paper is plain gradient descent with a decreasing learning rate. By default, the training takes one
step per pair, as in the paper. With `updates: query`, it takes one step per query, along the sum of the gradients of
the pairs of the query. This needs only one backward pass per document (Burges, Ragno & Le 2006). To first order, both
settings give the same result at the same learning rate, and steps per query are five to ten times as fast. However, a
step per query overshoots if a query has thousands of pairs, as in OHSUMED. The setting `pairs.ties` of params.yaml adds
pairs of equal grade with target 1/2 (section 5 of the paper).
"""

from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net_params import NetParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.neural import LIBRARY, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice, Dimension, Grid, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_pairs_to_order


class RankNetLinearParams(ModelParams):
    l2: Grid[Annotated[float, Field(ge=0)]] = param(
        (0.3, 0.1, 0.03, 0.01),
        "penalty on standardised features, relative to the cost of equal scores; half decades around 0.03, "
        "the best mean validation MAP on MQ2007",
        min_length=1,
    )
    sigma: float = param(1.0, "scale of score differences (Burges 2010, section 2); the 2005 paper: 1", gt=0)
    select_by: str = param("map", "LETOR's protocol: l2 by the validation part's MAP", pattern=CRITERION)


@register("ranknet_linear")
class RankNetLinear(NetRanker[RankNetLinearParams]):
    reads_labels = "order"
    Params = RankNetLinearParams
    uses_weights = "queries"
    summary = "Linear RankNet on all pairs, L-BFGS, L2 from a grid (Burges et al. 2005)"
    needs_pairs = True
    space: ClassVar = {"l2": LogUniform(1e-4, 3.0, "from nearly no penalty to weights near zero")}
    published: ClassVar = {"l2": 1e-4}  # almost no penalty, because the paper has none

    @classmethod
    def uses_seed(cls, params: RankNetLinearParams) -> bool:
        return False

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetLinearParams, seed: int, callback: Callback
    ) -> Self:
        """Fit one model per value of l2 and return the model that is best on validation.

        The callback is called once per value of l2, from the largest to the smallest. Raises GradrankError if no query
        has a pair.
        """
        from gradrank.training.losses.pairwise import ranknet
        from gradrank.training.solvers.linear import best_linear

        train = with_pairs_to_order(train, cls.name)
        loss = partial(ranknet, sigma=params.sigma, ties=train.ties)
        return cls(best_linear(train, vali, loss, params.l2, params.select_by, callback))


class RankNetTwoLayerParams(NetParams):
    loss: str = own_loss("ranknet")


@register("ranknet_two_layer")
class RankNetTwoLayer(NeuralRanker[RankNetTwoLayerParams]):
    Params = RankNetTwoLayerParams
    summary = "Two-layer RankNet on all pairs, Adam on mini-batches of queries (Burges et al. 2005)"
    needs_pairs = True
    space = NET
    published = LIBRARY | {"hidden": (10,), "activation": "tanh"}  # Burges et al. 2005, section 6


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
    reads_labels = "order"
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
