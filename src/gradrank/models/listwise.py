"""Neural rankers with losses on whole lists: ListMLE, softmax cross-entropies, RankCosine and MDPRank.

The losses, their sources and their equations are in gradrank.training.losses. Each ranker is a net trained by AdamW
with the settings that all neural rankers share (gradrank.training.nets.net_params). The papers use other models and
other training methods.
"""

from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.neural import NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice


class ListMLEParams(NeuralParams):
    loss: str = own_loss("listmle")
    positions: bool = param(
        False,
        "Xia et al. 2008: equal weights of all ranks; true: rank r has weight 2^(n-r) - 1 (position-aware ListMLE)",
    )


@register("listmle")
class ListMLE(NeuralRanker[ListMLEParams]):
    Params = ListMLEParams
    summary = "ListMLE: the likelihood of the order by grade, on a net (Xia et al. 2008)"
    space = NET | {"positions": Choice((False, True), "both published forms")}


class SoftmaxParams(NeuralParams):
    loss: str = own_loss("softmax")


@register("softmax")
class Softmax(NeuralRanker[SoftmaxParams]):
    Params = SoftmaxParams
    summary = "Softmax cross-entropy on grades, on a net (Bruch et al. 2019)"
    space = NET


class UniqueSoftmaxParams(NeuralParams):
    loss: str = own_loss("unique_softmax")


@register("unique_softmax")
class UniqueSoftmax(NeuralRanker[UniqueSoftmaxParams]):
    Params = UniqueSoftmaxParams
    summary = "Softmax of each document against those of lower grade, on a net (Zhu & Klabjan 2020)"
    space = NET


class RankCosineParams(NeuralParams):
    loss: str = own_loss("rankcosine")
    centred: bool = param(
        False, "Qin et al. 2008: grades and scores are not centred; true: their means are subtracted first"
    )


@register("rankcosine")
class RankCosine(NeuralRanker[RankCosineParams]):
    Params = RankCosineParams
    summary = "RankCosine: the angle between scores and grades, on a net (Qin et al. 2008)"
    space = NET | {"centred": Choice((False, True), "both forms in use")}


class MDPRankParams(NeuralParams):
    loss: str = own_loss("mdprank")


@register("mdprank")
class MDPRank(NeuralRanker[MDPRankParams]):
    Params = MDPRankParams
    summary = "MDPRank: REINFORCE on drawn rankings, DCG as the reward, on a net (Wei et al. 2017)"
    space = NET
