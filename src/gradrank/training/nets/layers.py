"""Fully connected layers in torch, with what may stand between them, and as arrays: the net scorer, DASALC's tower."""

from itertools import pairwise

import numpy as np
import torch

from gradrank.training.nets.net import Net
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Chance, Inputs

ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def glorot_layer(inputs: int, outputs: int, generator: torch.Generator) -> torch.nn.Linear:
    """Glorot & Bengio 2010 weights, zero biases."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs)
    torch.nn.init.xavier_uniform_(layer.weight, generator=generator)
    torch.nn.init.zeros_(layer.bias)
    return layer


class FullyConnected(torch.nn.Module):
    """Layers of the given widths, input first: linear, norm, activation, dropout; the last one linear alone."""

    def __init__(self, widths: list[int], params: ScorerParams, generator: torch.Generator, chance: Chance) -> None:
        super().__init__()
        self.linear = torch.nn.ModuleList(
            glorot_layer(inputs, outputs, generator) for inputs, outputs in pairwise(widths)
        )
        kind = {"none": None, "batch": torch.nn.BatchNorm1d, "layer": torch.nn.LayerNorm}[params.norm]
        self.norms = torch.nn.ModuleList(kind(width) for width in widths[1:-1]) if kind else []
        self.activation = ACTIVATIONS[params.activation]()
        self.name, self.chance = params.activation, chance

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.linear[:-1]):
            x = layer(x)
            if self.norms:
                x = self.norms[i](x)
            x = self.chance.drop(self.activation(x))
        return self.linear[-1](x)

    def export(self, inputs: Inputs) -> Net:
        """A copy of the present weights; batch norm, which is linear once it is trained, within them."""
        weights = [array(layer.weight).T.copy() for layer in self.linear]
        biases = [array(layer.bias) for layer in self.linear]
        gains, shifts = [], []
        for i, norm in enumerate(self.norms):
            if isinstance(norm, torch.nn.LayerNorm):
                gains.append(array(norm.weight))
                shifts.append(array(norm.bias))
            else:
                unit = array(norm.weight) / (array(norm.running_var) + norm.eps) ** 0.5
                weights[i] *= unit
                biases[i] = (biases[i] - array(norm.running_mean)) * unit + array(norm.bias)
        return Net(weights, biases, inputs.mean, inputs.scale, self.name, inputs.log_limit, gains, shifts)


def array(tensor: torch.Tensor) -> np.ndarray:
    """A copy on the host."""
    return tensor.detach().cpu().numpy().copy()
