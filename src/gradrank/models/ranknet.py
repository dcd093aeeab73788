"""RankNet (Burges et al. 2005) with a linear or a two-layer scorer, in its practical form.

The cost is the paper's; the training is not: lambdas factored a document (Burges, Ragno & Le 2006), L-BFGS to
convergence where the problem is convex, Adam on mini-batches of queries for the net. Pairs with targets of a user's own
are summed as they are listed.
"""

from functools import partial
from typing import Annotated, ClassVar, Self

from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net_params import NetParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.neural import LIBRARY, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Grid, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_pairs_to_order


class RankNetLinearParams(ModelParams):
    l2: Grid[Annotated[float, Field(ge=0)]] = param(
        (0.3, 0.1, 0.03, 0.01),
        "on standardised features, relative to the cost of no ranking at all; half decades around 0.03, the "
        "best mean validation MAP on MQ2007",
        min_length=1,
    )
    sigma: float = param(1.0, "scale of a score difference (Burges 2010, section 2); the 2005 paper: 1", gt=0)
    select_by: str = param("map", "LETOR's protocol: l2 by the validation part's MAP", pattern=CRITERION)


@register("ranknet_linear")
class RankNetLinear(NetRanker[RankNetLinearParams]):
    Params = RankNetLinearParams
    summary = "Linear RankNet on all pairs, L-BFGS, L2 from a grid (Burges et al. 2005)"
    needs_pairs = True
    space: ClassVar = {"l2": LogUniform(1e-4, 3.0, "from next to none to weights near zero")}
    published: ClassVar = {"l2": 1e-4}  # the paper has none

    @classmethod
    def uses_seed(cls, params: RankNetLinearParams) -> bool:
        return False

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetLinearParams, seed: int, callback: Callback
    ) -> Self:
        """A step of the callback is one value of l2, strongest first."""
        from gradrank.training.losses.ranknet import ranknet
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
