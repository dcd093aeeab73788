"""LambdaRank (Burges, Ragno & Le 2006; Burges 2010): the pair gradients of RankNet, weighted by |dNDCG|.

The loss and its equations are in gradrank.training.losses.swap_weighted. The training deviates from the paper: it uses
AdamW on mini-batches of queries and normalises the lambdas. `lambdarank_faithful` is trained as in the paper.

The net has one hidden layer of tanh units, or no hidden layer. The learning rate is halved after each epoch in which
the mean weighted cost rose. The paper states neither the learning rate nor the number of epochs, so the defaults are
the values for RankNet (Burges et al. 2005).
"""

from typing import ClassVar, Self

from gradrank.data.collection import Collection
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net_params import NetParams
from gradrank.training.nets.net_ranker import NetRanker
from gradrank.training.nets.neural import LIBRARY, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.training_queries import with_grades_to_order


class LambdaRankParams(NetParams):
    loss: str = own_loss("lambdarank")
    weight_decay: float = param(1.0, "Loshchilov & Hutter 2019; best mean validation MAP on MQ2007 of 0.3 to 10", ge=0)
    normalize: bool = param(
        True,
        "lambdas of each query scaled to the same total, as in LightGBM but not in the papers. Mean "
        "validation NDCG@10 and MAP on MQ2007 rise by .001 (two seeds)",
    )


@register("lambdarank")
class LambdaRank(NeuralRanker[LambdaRankParams]):
    Params = LambdaRankParams
    summary = "LambdaRank: a two-layer net, pairs weighted by |dNDCG| (Burges, Ragno & Le 2006)"
    published = LIBRARY
    space = NET | {"normalize": Choice((True, False), "LightGBM's form, and that of the papers")}


class LambdaRankFaithfulParams(ModelParams):
    hidden: int = param(
        10,
        "tanh units, as in the RankNet of 2005; 0: one layer, the other net of Burges, Ragno & Le 2006",
        ge=0,
        le=1000,
    )
    learning_rate: float = param(
        1e-3,
        "that of the RankNet of 2005, and the best validation MAP on MQ2007 fold 1 of 1e-4 to .1; halved after "
        "an epoch whose mean weighted cost rose",
        gt=0,
    )
    epochs: int = param(100, "Burges et al. 2005, section 6; the best epoch on validation is kept", ge=1)
    sigma: float = param(1.0, "scale of score differences (Burges 2010, section 2)", gt=0)
    select_by: str = param("map", "LETOR's protocol: the epoch by the validation part's MAP", pattern=CRITERION)


@register("lambdarank_faithful")
class LambdaRankFaithful(NetRanker[LambdaRankFaithfulParams]):
    Params = LambdaRankFaithfulParams
    uses_weights = "queries"
    reads_labels = "gains"
    summary = "LambdaRank by plain gradient descent, one step per query (Burges, Ragno & Le 2006)"
    space: ClassVar = {
        "hidden": Choice((0, 10, 30), "the two nets of the paper, and a wider one"),
        "learning_rate": LogUniform(1e-5, 0.1, "two decades on either side of the default"),
    }

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: LambdaRankFaithfulParams, seed: int, callback: Callback
    ) -> Self:
        """Train the net and return the model of the best epoch. The callback is called once per epoch.

        Raises GradrankError if no query has two different grades or if the training diverges.
        """
        from gradrank.training.solvers.stochastic import train_stochastic

        net = train_stochastic(
            with_grades_to_order(train, cls.name), vali, seed=seed, callback=callback, by_ndcg=True, **dict(params)
        )
        return cls(net)
