"""Neural rankers with losses on pairs of documents: hinge, squared error of score differences, and YetiLoss.

The losses, their sources and their equations are in gradrank.training.losses. The rankers with the other pair losses,
RankNet, LambdaRank and LambdaLoss, are in separate files. Each ranker is a net trained by AdamW with the settings that
all neural rankers share (gradrank.training.nets.net_params). The papers use other models and other training methods.
"""

from typing import Literal

from gradrank.training.loss import CUTOFF
from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.neural import NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice


class PairwiseHingeParams(NeuralParams):
    loss: str = own_loss("pairwise_hinge")


@register("pairwise_hinge")
class PairwiseHinge(NeuralRanker[PairwiseHingeParams]):
    Params = PairwiseHingeParams
    summary = "Hinge loss on pairs, as RankSVM's, on a net (Joachims 2002)"
    space = NET


class PairwiseMSEParams(NeuralParams):
    loss: str = own_loss("pairwise_mse")


@register("pairwise_mse")
class PairwiseMSE(NeuralRanker[PairwiseMSEParams]):
    Params = PairwiseMSEParams
    summary = "Squared error on all pairs' differences, on a net (rax; Jagerman et al. 2022)"
    space = NET


class YetiParams(NeuralParams):
    loss: str = own_loss("yeti")
    measure: Literal["ndcg", "mrr"] = param("ndcg", "Lyzhin et al. 2023: the measure of the evaluation")
    draws: int = param(10, "CatBoost's default number of permutations", ge=1)
    cutoff: int = CUTOFF


@register("yeti")
class Yeti(NeuralRanker[YetiParams]):
    Params = YetiParams
    summary = "YetiLoss: neighbours of noisy orders, weighted by the measure, on a net (Lyzhin et al. 2023)"
    space = NET | {"cutoff": Choice((5, 10, CUTOFF.default), "the usual cutoffs of NDCG, and all ranks")}
