"""Self-attention over each query's documents (Pobrotyn et al. 2020, allRank): outputs depend on the list."""

import numpy as np
import torch

from gradrank.training.nets.attention_net import AttentionNet
from gradrank.training.nets.encoder import Block, Lists, ListScorer
from gradrank.training.nets.layers import array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Chance, Inputs, Scorer


class Encoder(torch.nn.Module):
    """A linear map to the blocks' width, the blocks, a norm: (n, d) to (n, width)."""

    def __init__(self, features: int, params: ScorerParams, generator: torch.Generator, chance: Chance) -> None:
        super().__init__()
        self.embed = glorot_layer(features, params.width, generator)
        self.blocks = torch.nn.ModuleList(Block(params, generator, chance) for _ in range(params.blocks))
        self.norm = torch.nn.LayerNorm(params.width)

    def forward(self, x: torch.Tensor, lists: Lists) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = block(x, lists)
        return self.norm(x)

    def export(self) -> dict[str, np.ndarray]:
        found = {"embed.weights": array(self.embed.weight).T.copy(), "embed.biases": array(self.embed.bias)}
        for i, block in enumerate(self.blocks):
            found |= {f"blocks.{i}.{name}": each for name, each in block.export().items()}
        return found | {"norm.weights": array(self.norm.weight), "norm.biases": array(self.norm.bias)}


class AttentionScorer(ListScorer):
    """An encoder, and a linear output."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.heads = inputs, params.heads
        self.chance = Chance(params.dropout, params.noise, seed)
        generator = torch.Generator().manual_seed(seed)
        encoder = Encoder(inputs.features.shape[1], params, generator, self.chance)
        output = glorot_layer(params.width, outputs, generator)
        self.layers = torch.nn.ModuleDict({"encoder": encoder, "output": output}).to(inputs.features.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray) -> torch.Tensor:
        features = self.inputs.features
        x = self.chance.disturb(features[torch.from_numpy(rows).to(features.device)])
        return self.layers["output"](self.layers["encoder"](x, Lists.of(offsets, features.device)))

    def export(self) -> AttentionNet:
        output = self.layers["output"]
        arrays = self.layers["encoder"].export()
        arrays |= {"output.weights": array(output.weight).T.copy(), "output.biases": array(output.bias)}
        return AttentionNet(arrays, *self.inputs[1:], self.heads)


def attention(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    return AttentionScorer(inputs, params, outputs, seed)
