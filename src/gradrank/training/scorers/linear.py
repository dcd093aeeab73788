"""A linear scorer: a net without hidden layers."""

from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer
from gradrank.training.scorers.net import net


def linear(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a linear scorer. The arguments are those of `scorers.net.net`."""
    return net(inputs, params.model_copy(update={"hidden": ()}), outputs, seed)
