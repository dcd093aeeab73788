"""Embeddings of features in torch.

Source: Gorishniy et al. 2022, On Embeddings for Numerical Features in Tabular Deep Learning.

An embedding maps each feature of a document to a vector, with weights of its own per feature. The formulas are:

- piecewise_linear: relu(e W + b), where e is the piecewise linear encoding of the feature with quantiles as bin edges
  (Q-LR). Component t of e rises from 0 to 1 within bin t. The first component has no lower and the last one no upper
  limit.
- piecewise_linear with version B, which TabM uses: x w + b + e W without an activation. W is 0 before the training.
- periodic: relu(p W + b) with p = [cos(2 pi c x), sin(2 pi c x)] for learned frequencies c (PLR).
- pbld: [p W + b, x] with p = cos(2 pi c x + a) for learned c and a (Holzmüller et al. 2024).
"""

import numpy as np
import torch

from gradrank.training.nets.layers import Chain, Flatten, Layer, ListPadding, array, uniform
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs
from gradrank.training.nets.steps import (
    Activation,
    Clip,
    Concat,
    Cosine,
    Linear,
    Scale,
    Shift,
    Step,
    Steps,
    Sum,
    cosine_of_turns,
)


class CosineOfTurns(torch.autograd.Function):
    """cos(2 pi x). The kernels of torch for cosines differ between processors, and `cosine_of_turns` does not."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x)
        return cosine_of_turns(x)

    @staticmethod
    def backward(ctx, slope: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        return slope * (-2.0 * np.pi * cosine_of_turns(x - 0.25))


class LinearPerFeature(Layer):
    """Maps (n, d, inputs) to (n, d, outputs) with weights and biases of its own per feature."""

    def __init__(self, features: int, inputs: int, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = uniform((features, inputs, outputs), inputs**-0.5, generator)
        self.bias = uniform((features, outputs), inputs**-0.5, generator)

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return (x.transpose(0, 1) @ self.weight).transpose(0, 1) + self.bias

    def steps(self) -> Steps:
        return Linear(array(self.weight)), Shift(array(self.bias))


class Embedding(Layer):
    """An embedding of d features: it maps (n, d) features to (n, d, width) vectors."""

    width: int


class PiecewiseLinear(Embedding):
    """A piecewise linear embedding. edges: (d, bins+1) edges of the bins. Equal neighbours are one edge."""

    def __init__(self, edges: np.ndarray, width: int, generator: torch.Generator, is_version_b: bool = False) -> None:
        super().__init__()
        self.width, self.is_version_b = width, is_version_b
        encoding = encoding_arrays(edges)
        self.unit, self.offset, self.low, self.high = (torch.nn.Buffer(torch.from_numpy(x)) for x in encoding)
        features, bins = self.unit.shape
        if is_version_b:
            self.slope = uniform((features, width), width**-0.5, generator)
            self.bias = uniform((features, width), width**-0.5, generator)
            self.weight = torch.nn.Parameter(torch.zeros(features, bins, width))
        else:
            self.linear = LinearPerFeature(features, bins, width, generator)

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        x = x[:, :, None]
        encoded = (x * self.unit + self.offset).clamp(self.low, self.high)
        if self.is_version_b:
            return x * self.slope + self.bias + (encoded.transpose(0, 1) @ self.weight).transpose(0, 1)
        return torch.relu(self.linear(encoded))

    def steps(self) -> Steps:
        encoded = Scale(array(self.unit)), Shift(array(self.offset)), Clip(array(self.low), array(self.high))
        if self.is_version_b:
            line: Steps = (Scale(array(self.slope)), Shift(array(self.bias)))
            return (Sum(line, (*encoded, Linear(array(self.weight)))),)
        return *encoded, *self.linear.steps(), Activation("relu")


class Periodic(Embedding):
    """A periodic embedding: `periodic`, or `pbld` if `has_biases` is True."""

    def __init__(self, features: int, params: ScorerParams, generator: torch.Generator, has_biases: bool) -> None:
        super().__init__()
        self.width, self.has_biases, count = params.embedding_width, has_biases, params.frequencies
        # Values beyond three standard deviations are clipped, since large frequencies are hard to train.
        drawn = torch.randn((features, count), generator=generator).clamp(-3.0, 3.0)
        self.frequencies = torch.nn.Parameter(params.frequency_scale * drawn)
        if has_biases:
            self.phases = uniform((features, count), np.pi, generator)
            self.linear = LinearPerFeature(features, count, self.width - 1, generator)
        else:
            self.linear = LinearPerFeature(features, 2 * count, self.width, generator)

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        turns = x[:, :, None] * self.frequencies
        if self.has_biases:
            waves = _cosine(turns + self.phases / (2.0 * np.pi))
            return torch.cat([self.linear(waves), x[:, :, None]], dim=2)
        waves = torch.cat([_cosine(turns), _cosine(turns - 0.25)], dim=2)
        return torch.relu(self.linear(waves))

    def steps(self) -> Steps:
        turns, linear = Scale(array(self.frequencies)), self.linear.steps()
        if self.has_biases:
            phases = Shift(array(self.phases / (2.0 * np.pi)))
            return (Concat((turns, phases, Cosine(), *linear), ()),)
        quarter = Shift(np.full((1, 1), -0.25, np.float32))
        waves: Step = Concat((Cosine(),), (quarter, Cosine()))
        return turns, waves, *linear, Activation("relu")


def _cosine(turns: torch.Tensor) -> torch.Tensor:
    return CosineOfTurns.apply(turns)


def encoding_arrays(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays w, b, low and high of the piecewise linear encoding clip(x w + b, low, high).

    edges: (d, bins+1) edges of the bins in ascending order. Equal neighbours are one edge. The arrays have the shape
    (d, B), where B is the largest number of bins of a feature. The last bin of a feature is always component B.
    Components between the other bins and the last one are 0, and so are all components of a constant feature.
    """
    distinct = [np.unique(row).astype(np.float64) for row in edges]
    shape = len(edges), max(max(map(len, distinct)) - 1, 1)
    unit, offset, low, high = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape)
    for feature, row in enumerate(distinct):
        bins = len(row) - 1
        if bins:
            at = np.r_[0 : bins - 1, shape[1] - 1]
            unit[feature, at] = 1.0 / np.diff(row)
            offset[feature, at] = -row[:-1] / np.diff(row)
            low[feature, at[0]], high[feature, at[-1]] = -np.inf, np.inf
    return unit.astype(np.float32), offset.astype(np.float32), low.astype(np.float32), high.astype(np.float32)


def create_embedding(
    inputs: Inputs, params: ScorerParams, generator: torch.Generator, is_version_b: bool = False
) -> Embedding | None:
    """Return the embedding that `params.embedding` selects, or None for `none`."""
    features = inputs.features.shape[1]
    match params.embedding:
        case "none":
            return None
        case "piecewise_linear":
            assert inputs.edges is not None
            return PiecewiseLinear(inputs.edges, params.embedding_width, generator, is_version_b)
        case "periodic" | "pbld":
            return Periodic(features, params, generator, has_biases=params.embedding == "pbld")


def embedded(
    inputs: Inputs, params: ScorerParams, generator: torch.Generator, is_version_b: bool = False
) -> tuple[Layer, int]:
    """Return a layer with the embeddings of all features of a document as one row, and the length of the row.

    Without an embedding, the row has the features.
    """
    embedding, features = create_embedding(inputs, params, generator, is_version_b), inputs.features.shape[1]
    if embedding is None:
        return Flatten(), features
    return Chain(embedding, Flatten()), features * embedding.width
