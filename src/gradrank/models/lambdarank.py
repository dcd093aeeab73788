"""LambdaRank (Burges, Ragno & Le 2006; Burges 2010): the pair gradients of RankNet, weighted by |dNDCG|.

The loss and its equations are in gradrank.training.losses.lambdarank. The training deviates from the paper: it uses
AdamW on mini-batches of queries and normalises the lambdas. `lambdarank_faithful` is trained as in the paper.
"""

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NetParams
from gradrank.training.nets.neural import LIBRARY, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice


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
