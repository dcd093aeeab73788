"""TabM: an ensemble of nets that share most of their weights and are trained together.

Layer i of member m computes ((x * r) W + b of the member) with vectors r and s of the member around the shared W:
((x * r) W) * s + b. Each member has its own output layer. Each member is trained on its own loss, and the score is the
mean of the members' scores.

The defaults of the model `tabm` are those of the authors' package `tabm`. It differs from the paper in the inputs: the
paper transforms each feature to a normal distribution by its quantiles, and here features are standardised.

Source: Gorishniy et al. 2025, TabM: Advancing tabular deep learning with parameter-efficient ensembling.
"""

import torch

from gradrank.training.nets.embeddings import embedded
from gradrank.training.nets.layers import (
    Activated,
    Chain,
    Dropout,
    Layer,
    ListPadding,
    TrainingNoise,
    array,
    product,
    rows_product,
    uniform,
)
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer
from gradrank.training.nets.steps import Linear, Scale, Shift, Steps


class EnsembleLayer(Layer):
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

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        x = x[:, None, :] if x.ndim == 2 else x  # all members begin with the same row
        return rows_product(x * self.first, self.weight.T) * self.second + self.bias

    def steps(self) -> Steps:
        weights = array(self.weight).T.copy()
        return Scale(array(self.first)), Linear(weights), Scale(array(self.second)), Shift(array(self.bias))


class MemberOutputs(Layer):
    """One linear output layer per member."""

    def __init__(self, members: int, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = uniform((members, inputs, outputs), inputs**-0.5, generator)
        self.bias = uniform((members, outputs), inputs**-0.5, generator)

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return product(x.transpose(0, 1), self.weight).transpose(0, 1) + self.bias

    def steps(self) -> Steps:
        return Linear(array(self.weight)), Shift(array(self.bias))


def first_scales(features: int, width: int, members: int, generator: torch.Generator) -> torch.Tensor:
    """Return the (members, width) initial scales of the inputs, by which the members differ.

    They are random signs. With an embedding, the inputs are more than the features. The scales are then normal numbers,
    and those of a feature are equal.
    """
    if width == features:
        return 2.0 * torch.randint(0, 2, (members, features), generator=generator) - 1.0
    return torch.randn((members, features), generator=generator).repeat_interleave(width // features, dim=1)


def tabm(inputs: Inputs, params: ScorerParams, outputs: int, seed: int) -> Scorer:
    """Create a TabM scorer with `params.submodels` members and the hidden layers `params.hidden`.

    Hidden layers are `EnsembleLayer`s with relu and dropout.

    outputs: number of outputs per document. seed: seed of the weights, dropout and noise.
    """
    noise, generator = TrainingNoise.of(params, seed), torch.Generator().manual_seed(seed)
    row, inner = embedded(inputs, params, generator, is_version_b=True)
    layers, first = [row], first_scales(inputs.features.shape[1], inner, params.submodels, generator)
    for inner in params.hidden:
        layers += [EnsembleLayer(first, inner, generator), Activated("relu"), Dropout(noise)]
        first = torch.ones(params.submodels, inner)
    return Scorer(inputs, Chain(*layers, MemberOutputs(params.submodels, inner, outputs, generator)), noise)
