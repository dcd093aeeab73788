"""Neural rankers trained on smooth approximations of NDCG: approximate ranks, soft sorting, and noise on the scores.

The losses, their sources and their equations are in gradrank.training.losses. Each ranker is a net trained by AdamW
with the settings that all neural rankers share (gradrank.training.nets.net_params). The papers use other models and
other training methods.
"""

from gradrank.training.loss import CUTOFF
from gradrank.training.model import param, register
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.neural import NET, NeuralRanker, own_loss
from gradrank.training.search_space import Choice, LogUniform

CUTOFFS = Choice((5, 10, CUTOFF.default), "the usual cutoffs of NDCG, and all ranks")


class ApproxNDCGParams(NeuralParams):
    loss: str = own_loss("approx_ndcg")
    temperature: float = param(
        0.1, "TF-Ranking's default, and 1 / alpha of Bruch et al. 2019; rax and allRank: 1", gt=0
    )


@register("approx_ndcg")
class ApproxNDCG(NeuralRanker[ApproxNDCGParams]):
    Params = ApproxNDCGParams
    summary = "ApproxNDCG: NDCG of ranks made smooth by sigmoids, on a net (Qin, Liu & Li 2009)"
    space = NET | {
        "temperature": LogUniform(0.03, 3.0, "the defaults of toolkits, and a factor of three on either side")
    }


class GumbelApproxNDCGParams(ApproxNDCGParams):
    loss: str = own_loss("gumbel_approx_ndcg")
    draws: int = param(8, "TF-Ranking's default; Bruch et al. 2020", ge=1)


@register("gumbel_approx_ndcg")
class GumbelApproxNDCG(NeuralRanker[GumbelApproxNDCGParams]):
    Params = GumbelApproxNDCGParams
    summary = "ApproxNDCG in the mean over Gumbel noise on the scores, on a net (Bruch et al. 2020)"
    space = ApproxNDCG.space


class PiRankParams(NeuralParams):
    loss: str = own_loss("pirank")
    temperature: float = param(5.0, "Swezey et al. 2021 on MSLR-WEB30K (from memory)", gt=0)
    cutoff: int = CUTOFF


@register("pirank")
class PiRank(NeuralRanker[PiRankParams]):
    Params = PiRankParams
    summary = "PiRank: NDCG of a soft sort of the scores, on a net (Swezey et al. 2021)"
    space = NET | {"temperature": LogUniform(0.1, 10.0, "Swezey et al. 2021: .1 to 10"), "cutoff": CUTOFFS}


class NeuralNDCGParams(NeuralParams):
    loss: str = own_loss("neural_ndcg")
    temperature: float = param(1.0, "allRank's default; Pobrotyn & Białobrzeski 2021", gt=0)
    cutoff: int = CUTOFF


@register("neural_ndcg")
class NeuralNDCG(NeuralRanker[NeuralNDCGParams]):
    Params = NeuralNDCGParams
    summary = "NeuralNDCG: NDCG of a doubly stochastic soft sort, on a net (Pobrotyn & Białobrzeski 2021)"
    space = PiRank.space


class SoftRankParams(NeuralParams):
    loss: str = own_loss("softrank")
    delta: float = param(
        1.0, "standard deviation of the noise, in units of the score; Taylor et al. 2008 vary it", gt=0
    )
    cutoff: int = CUTOFF


@register("softrank")
class SoftRank(NeuralRanker[SoftRankParams]):
    Params = SoftRankParams
    summary = "SoftRank: NDCG in expectation over normal noise on the scores, on a net (Taylor et al. 2008)"
    space = NET | {"delta": LogUniform(0.1, 3.0, "half a decade to a decade around 1"), "cutoff": CUTOFFS}
