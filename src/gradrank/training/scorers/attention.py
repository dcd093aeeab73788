"""A scorer with self-attention over the documents of each query. A score depends on all documents of the query.

Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (allRank).
"""

import torch

from gradrank.training.nets.embeddings import embedded
from gradrank.training.nets.layers import Chain, Dense, TrainingNoise, encoder
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, ListScorer, Scorer


def attention(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create an attention scorer: an encoder with `params.blocks` blocks, and a linear output layer.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    noise, generator = TrainingNoise.of(params, seed), torch.Generator().manual_seed(seed)
    first, width = embedded(inputs, params, generator)
    blocks = encoder(width, params, generator, noise)
    return ListScorer(inputs, Chain(first, blocks, Dense.glorot(params.width, outputs, generator)), noise)
