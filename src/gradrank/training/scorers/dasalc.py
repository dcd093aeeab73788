"""DASALC's scorer (Qin et al. 2021): a net whose last layer is crossed with what attention sees of the list."""

import numpy as np
import torch

from gradrank.training.nets.attention_net import AttentionNet
from gradrank.training.nets.encoder import Lists, ListScorer
from gradrank.training.nets.layers import FullyConnected, array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Chance, Inputs, Scorer
from gradrank.training.scorers.attention import Encoder


class DasalcScorer(ListScorer):
    """relu(h * a + h), h the tower's last layer and a the encoder's context in its width; a linear output."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.heads = inputs, params.heads
        self.chance = Chance(params.dropout, params.noise, seed)
        generator = torch.Generator().manual_seed(seed)
        features, last = inputs.features.shape[1], (params.hidden or (params.width,))[-1]
        parts = {
            "tower": FullyConnected([features, *(params.hidden or (last,))], params, generator, self.chance),
            "encoder": Encoder(features, params, generator, self.chance),
            "context": glorot_layer(params.width, last, generator),
            "output": glorot_layer(last, outputs, generator),
        }
        self.layers = torch.nn.ModuleDict(parts).to(inputs.features.device)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray) -> torch.Tensor:
        features = self.inputs.features
        x = self.chance.disturb(features[torch.from_numpy(rows).to(features.device)])
        context = self.layers["context"](self.layers["encoder"](x, Lists.of(offsets, features.device)))
        own = self.layers["tower"](x)
        return self.layers["output"](self.chance.drop(torch.relu(own * context + own)))

    def export(self) -> AttentionNet:
        arrays = self.layers["encoder"].export()
        for name in ("context", "output"):
            layer = self.layers[name]
            arrays |= {f"{name}.weights": array(layer.weight).T.copy(), f"{name}.biases": array(layer.bias)}
        return AttentionNet(arrays, *self.inputs[1:], self.heads, self.layers["tower"].export(self.inputs))


def dasalc(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    return DasalcScorer(inputs, params, outputs, seed)
