"""Nets on losses of single documents: ordinal regression, squared errors."""

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
