"""TabM: an ensemble of nets that share most of their weights and are trained together.

Layer i of member m computes ((x * r) W + b of the member) with vectors r and s of the member around the shared W:
((x * r) W) * s + b. Each member has its own output layer. Each member is trained on its own loss, and the score is the
mean of the members' scores.

The defaults of the model `tabm` are those of the authors' package `tabm`. It differs from the paper in the inputs: the
paper transforms each feature to a normal distribution by its quantiles, and here features are standardised.

Source: Gorishniy et al. 2025, TabM: Advancing tabular deep learning with parameter-efficient ensembling.
"""

import numpy as np
import torch

from gradrank.training.nets.embeddings import create_embedding
from gradrank.training.nets.layers import array, product, rows_product, uniform
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise
from gradrank.training.nets.step_net import StepNet
from gradrank.training.nets.steps import Activation, Flatten, Linear, Scale, Shift, Steps


class EnsembleLayer(torch.nn.Module):
    """A layer with shared weights W and vectors r, s and b per member (BatchEnsemble, Wen et al. 2020).

    first: (members, inputs) initial values of r.
    """

    def __init__(self, first: torch.Tensor, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        members, inputs = first.shape
        self.weight = uniform((outputs, inputs), inputs**-0.5, generator)
        self.first = torch.nn.Parameter(first)
        self.second = torch.nn.Parameter(torch.ones(members, outputs))
        bias = uniform((1, outputs), inputs**-0.5, generator).detach()
        self.bias = torch.nn.Parameter(bias.repeat(members, 1))  # the members start with equal biases

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rows_product(x * self.first, self.weight.T) * self.second + self.bias

    def steps(self) -> Steps:
        weights = array(self.weight).T.copy()
        return Scale(array(self.first)), Linear(weights), Scale(array(self.second)), Shift(array(self.bias))


class TabMScorer(Scorer):
    """Hidden layers that are `EnsembleLayer`s with relu and dropout, and one linear output layer per member."""

    def __init__(self, inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> None:
        self.inputs, self.noise = inputs, TrainingNoise(params.dropout, params.noise, seed)
        generator, members = torch.Generator().manual_seed(seed), params.submodels
        self.embedding = create_embedding(inputs, params, generator, is_version_b=True)
        first = self._first_scales(inputs.features.shape[1], members, generator)
        self.hidden = []
        for width in params.hidden:
            self.hidden.append(EnsembleLayer(first, width, generator))
            first = torch.ones(members, width)
        inner = params.hidden[-1]
        self.weight = uniform((members, inner, outputs), inner**-0.5, generator)
        self.bias = uniform((members, outputs), inner**-0.5, generator)
        self.layers = torch.nn.ModuleList([*self.hidden, self.noise])
        if self.embedding is not None:
            self.layers.append(self.embedding)
        self.layers.output = torch.nn.ParameterList([self.weight, self.bias])
        self.layers.to(inputs.device)

    def _first_scales(self, features: int, members: int, generator: torch.Generator) -> torch.Tensor:
        """Return the (members, inputs) initial scales of the inputs, by which the members differ.

        They are random signs. With an embedding, they are normal numbers, and those of a feature are equal.
        """
        if self.embedding is None:
            return 2.0 * torch.randint(0, 2, (members, features), generator=generator) - 1.0
        return torch.randn((members, features), generator=generator).repeat_interleave(self.embedding.width, dim=1)

    def outputs(self, rows: np.ndarray, offsets: np.ndarray | None = None) -> torch.Tensor:
        x = self.noise.add_noise(self.inputs.of_rows(rows))
        if self.embedding is not None:
            x = self.embedding(x).flatten(1)
        x = x[:, None, :]
        for layer in self.hidden:
            x = self.noise.drop(torch.relu(layer(x)))
        return product(x.transpose(0, 1), self.weight).transpose(0, 1) + self.bias

    def export(self) -> StepNet:
        inputs = self.inputs
        steps: list = [*inputs.steps, *(self.embedding.steps() if self.embedding else ()), Flatten()]
        for layer in self.hidden:
            steps += [*layer.steps(), Activation("relu")]
        steps += [Linear(array(self.weight)), Shift(array(self.bias))]
        return StepNet(tuple(steps), inputs.mean, inputs.scale, inputs.log_limit, len(self.bias))


def tabm(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a TabM scorer with `params.submodels` members and the hidden layers `params.hidden`.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    return TabMScorer(inputs, params, outputs, seed)
