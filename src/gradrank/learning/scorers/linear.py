"""A linear scorer: a net without hidden layers."""

from gradrank.learning.net_params import ScorerParams
from gradrank.learning.scorer import Inputs, Scorer
from gradrank.learning.scorers.net import NetScorer


def linear(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    return NetScorer(inputs, (), params, outputs, seed)
