"""A feed-forward net. Its outputs for a document depend only on the features of this document."""

import torch

from gradrank.training.nets.embeddings import embedded
from gradrank.training.nets.layers import Chain, TrainingNoise, fully_connected
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer


def net(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a net with the hidden layers `params.hidden`.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    noise, generator = TrainingNoise.of(params, seed), torch.Generator().manual_seed(seed)
    first, width = embedded(inputs, params, generator)
    return Scorer(
        inputs, Chain(first, fully_connected([width, *params.hidden, outputs], params, generator, noise)), noise
    )
