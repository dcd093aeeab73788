"""Fully connected layers in torch with optional norms and dropout, for the scorers `net` and `dasalc`."""

from itertools import pairwise

import numpy as np
import torch

from gradrank.training.nets.net import Net
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, TrainingNoise
from gradrank.training.nets.steps import Steps

ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def glorot_layer(inputs: int, outputs: int, generator: torch.Generator) -> torch.nn.Linear:
    """Return a linear layer with the random weights of Glorot & Bengio 2010 and zero biases."""
    layer = torch.nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")  # draws no initial weights
    torch.nn.init.xavier_uniform_(layer.weight, generator=generator)
    torch.nn.init.zeros_(layer.bias)
    return layer


def uniform(shape: tuple[int, ...], limit: float, generator: torch.Generator) -> torch.nn.Parameter:
    """Return a parameter with random numbers that are uniform in [-limit, limit]."""
    return torch.nn.Parameter((2.0 * torch.rand(shape, generator=generator) - 1.0) * limit)


class FullyConnected(torch.nn.Module):
    """Hidden layers and a linear output layer.

    Each hidden layer consists of a linear map, a norm, an activation and dropout. widths: number of inputs, then the
    widths of the hidden layers, then the number of outputs.
    """

    def __init__(
        self, widths: list[int], params: ScorerParams, generator: torch.Generator, noise: TrainingNoise
    ) -> None:
        super().__init__()
        self.maps = [glorot_layer(inputs, outputs, generator) for inputs, outputs in pairwise(widths)]
        self.norms: list[torch.nn.BatchNorm1d] | list[torch.nn.LayerNorm] = []
        if params.norm == "batch":
            self.norms = [torch.nn.BatchNorm1d(width) for width in widths[1:-1]]
        elif params.norm == "layer":
            self.norms = [torch.nn.LayerNorm(width) for width in widths[1:-1]]
        self.parts = torch.nn.ModuleList([*self.maps, *self.norms])  # registers the parameters
        self.activation = ACTIVATIONS[params.activation]()
        self.activation_name, self.noise = params.activation, noise

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.maps[:-1]):
            x = layer(x)
            if self.norms:
                x = self.norms[i](x)
            x = self.noise.drop(self.activation(x))
        return self.maps[-1](x)

    def export(self, inputs: Inputs, steps: Steps = ()) -> Net:
        """Return a Net with copies of the current weights. Batch norms are merged into the linear maps of the Net.

        steps: the input steps of the Net.
        """
        weights = [array(layer.weight).T.copy() for layer in self.maps]
        biases = [array(layer.bias) for layer in self.maps]
        gains, shifts = [], []
        for i, norm in enumerate(self.norms):
            if isinstance(norm, torch.nn.LayerNorm):
                gains.append(array(norm.weight))
                shifts.append(array(norm.bias))
            elif norm.running_mean is not None and norm.running_var is not None:
                unit = array(norm.weight) / (array(norm.running_var) + norm.eps) ** 0.5
                weights[i] *= unit
                biases[i] = (biases[i] - array(norm.running_mean)) * unit + array(norm.bias)
        norm = gains, shifts
        return Net(weights, biases, inputs.mean, inputs.scale, self.activation_name, inputs.log_limit, *norm, steps)


def array(tensor: torch.Tensor) -> np.ndarray:
    """Copy the tensor to main memory, and return the copy as a NumPy array."""
    return tensor.detach().cpu().numpy().copy()
