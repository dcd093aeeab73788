"""LambdaLoss (Wang et al. 2018): a weighted logistic loss on pairs that is an upper bound of an NDCG cost.

The loss and its equations are in gradrank.training.losses.swap_weighted. In this file, the loss trains a net or a
self-attention model. Wang et al. train trees, as `lambdaloss_trees` does. `attention_lambdaloss` follows the
self-attention model of Pobrotyn et al. 2020 (allRank), with smaller layers because the collections of this project are
smaller.
"""

from typing import Literal

from gradrank.training.loss import CUTOFF
from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams, ScorerName
from gradrank.training.nets.neural import ATTENTION, NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice, LogUniform


class LambdaLossParams(NeuralParams):
    loss: str = own_loss("lambdaloss")
    weighting: Literal["loss1", "loss2", "loss2++", "arp1", "arp2"] = param(
        "loss2++", "NDCG-Loss2++, the best of Wang et al. 2018; arp1, arp2: bounds of the average relevance position"
    )
    sigma: float = param(1.0, "scale of score differences; allRank's default", gt=0)
    mu: float = param(10.0, "loss2++: weight of loss2 relative to LambdaRank's; allRank's default", ge=0)
    cutoff: int = CUTOFF


LOSS = {
    "weighting": Choice(("loss1", "loss2", "loss2++"), "the weightings for NDCG"),
    "mu": LogUniform(1.0, 30.0, "from a tenth to three times the default"),
    "cutoff": Choice((10, 30, CUTOFF.default), "allRank's tables: 5 to the whole list"),
}


@register("lambdaloss")
class LambdaLoss(NeuralRanker[LambdaLossParams]):
    Params = LambdaLossParams
    summary = "LambdaLoss: pairs weighted so that the cost bounds NDCG's, on a net (Wang et al. 2018)"
    space = NET | LOSS


class AttentionLambdaLossParams(LambdaLossParams):
    scorer: ScorerName = param("attention", "Pobrotyn et al. 2020")
    dropout: float = param(0.3, "allRank on MSLR-WEB30K: .3 with this loss", ge=0, le=0.9)
    weight_decay: float = param(0.0, "allRank: Adam without weight decay", ge=0)
    epochs: int = param(40, "allRank: at most 100; the best epoch on validation is kept", ge=1)


@register("attention_lambdaloss")
class AttentionLambdaLoss(NeuralRanker[AttentionLambdaLossParams]):
    Params = AttentionLambdaLossParams
    summary = "LambdaLoss on self-attention over the list, smaller than allRank's (Pobrotyn et al. 2020)"
    space = ATTENTION | LOSS
