"""A scorer with self-attention over the documents of each query. A score depends on all documents of the query.

Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (allRank).
"""

import numpy as np
import torch

from gradrank.training.nets.attention_net import AttentionNet
from gradrank.training.nets.embeddings import EmbeddedInputs
from gradrank.training.nets.layers import Block, ListPadding, ListScorer, affine, array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise


class Encoder(torch.nn.Module):
    """Maps (n, d) features to (n, width): a linear map to the width of the blocks, then the blocks, then a norm."""

    def __init__(self, features: int, params: ScorerParams, generator: torch.Generator, noise: TrainingNoise) -> None:
        super().__init__()
        self.embed = glorot_layer(features, params.width, generator)
        self.block_list = [Block(params, generator, noise) for _ in range(params.blocks)]
        self.blocks = torch.nn.ModuleList(self.block_list)  # registers the parameters
        self.norm = torch.nn.LayerNorm(params.width)

    def forward(self, x: torch.Tensor, padding: ListPadding) -> torch.Tensor:
        x = affine(x, self.embed)
        for block in self.block_list:
            x = block(x, padding)
        return self.norm(x)

    def export(self) -> dict[str, np.ndarray]:
        """Return copies of all weights. The keys are the names that AttentionNet requires."""
        arrays = {"embed.weights": array(self.embed.weight).T.copy(), "embed.biases": array(self.embed.bias)}
        for i, block in enumerate(self.block_list):
            arrays |= {f"blocks.{i}.{name}": weights for name, weights in block.export().items()}
        return arrays | {"norm.weights": array(self.norm.weight), "norm.biases": array(self.norm.bias)}


class AttentionScorer(ListScorer):
    """An encoder and a linear output layer."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.heads = inputs, params.heads
        self.noise = TrainingNoise(params.dropout, params.noise, seed)
        generator = torch.Generator().manual_seed(seed)
        self.embedded = EmbeddedInputs(inputs, params, generator)
        self.encoder = Encoder(self.embedded.width, params, generator, self.noise)
        self.output = glorot_layer(params.width, outputs, generator)
        parts = {"embedded": self.embedded, "encoder": self.encoder, "output": self.output}
        self.layers = torch.nn.ModuleDict(parts).to(inputs.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        x = self.embedded(self.noise.add_noise(self.inputs.of_rows(rows)))
        return self.output(self.encoder(x, self.padding(rows, offsets)))

    def export(self) -> AttentionNet:
        arrays = self.encoder.export()
        arrays |= {"output.weights": array(self.output.weight).T.copy(), "output.biases": array(self.output.bias)}
        inputs = self.inputs
        return AttentionNet(
            arrays, inputs.mean, inputs.scale, inputs.log_limit, self.heads, input_steps=self.embedded.steps()
        )


def attention(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create an attention scorer with `params.blocks` blocks.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return AttentionScorer(inputs, params, outputs, seed)
