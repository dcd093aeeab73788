"""The scorer of DASALC: a net whose last hidden layer is combined with self-attention over the query's documents.

Source: Qin et al. 2021, Are Neural Rankers still Outperformed by Gradient Boosted Decision Trees?
"""

import torch

from gradrank.training.nets.embeddings import embedded
from gradrank.training.nets.layers import (
    Activated,
    Chain,
    Dense,
    Dropout,
    Gate,
    NumpyDense,
    TrainingNoise,
    encoder,
    fully_connected,
)
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, ListScorer, Scorer


def dasalc(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a DASALC scorer with the hidden layers `params.hidden` and `params.blocks` encoder blocks.

    The output layer is linear on relu(h * a + h). h is the last hidden layer of a net. a is the output of an encoder,
    mapped to the width of h by a linear layer.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    noise, generator = TrainingNoise.of(params, seed), torch.Generator().manual_seed(seed)
    first, width = embedded(inputs, params, generator)
    hidden = params.hidden or (params.width,)
    values = fully_connected([width, *hidden], params, generator, noise)
    gates = Chain(encoder(width, params, generator, noise), NumpyDense.glorot(params.width, hidden[-1], generator))
    last = Activated("relu"), Dropout(noise), Dense.glorot(hidden[-1], outputs, generator)
    return ListScorer(inputs, Chain(first, Gate(values, gates), *last), noise)
