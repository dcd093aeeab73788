"""Neural rankers with losses on single documents: ordinal regression, and the squared error between score and grade.

The losses, their sources and their equations are in gradrank.training.losses. Each ranker is a net trained by AdamW
with the settings that all neural rankers share (gradrank.training.nets.net_params). The papers use other models and
other training methods.
"""

from gradrank.training.model import register
from gradrank.training.nets.net_params import NeuralParams
from gradrank.training.nets.neural import NET, NeuralRanker, own_loss


class OrdinalParams(NeuralParams):
    loss: str = own_loss("ordinal")


@register("ordinal")
class Ordinal(NeuralRanker[OrdinalParams]):
    Params = OrdinalParams
    summary = "Ordinal regression: is the grade at least k, for each k, on a net (Pobrotyn et al. 2020)"
    space = NET


class PointwiseRMSEParams(NeuralParams):
    loss: str = own_loss("pointwise_rmse")


@register("pointwise_rmse")
class PointwiseRMSE(NeuralRanker[PointwiseRMSEParams]):
    Params = PointwiseRMSEParams
    summary = "Root mean squared error of each query, on a net (Pobrotyn et al. 2020)"
    space = NET


class QueryRMSEParams(NeuralParams):
    loss: str = own_loss("query_rmse")


@register("query_rmse")
class QueryRMSE(NeuralRanker[QueryRMSEParams]):
    Params = QueryRMSEParams
    summary = "Squared error up to each query's constant, CatBoost's QueryRMSE, on a net"
    space = NET
