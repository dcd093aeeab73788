"""Layers: each has its parameters, its computation in torch and the steps of the trained layer in one class.

`steps.py` and this module are the only ones that compute nets. A scorer combines layers, and so it has no other
computation of its own. Chain, Add and Gate have the combinations in both forms, such as a residual connection.

Large scorers spend most of their time on matrix products, which NumPy computes on the CPU. torch computes products with
MKL, whose reproducible kernels use registers of 128 bits. NumPy's OpenBLAS has kernels for x86-64-v3, which
`gradrank.pin` selects on every processor. They are 2.5 times as fast for a batch of MQ2007. Layers with fewer than
WIDE inputs or outputs keep torch's products: other products would change the last digits of results for a small gain.

The blocks of encoders are those of Vaswani et al. 2017, with pre-norm as in allRank. There is no position encoding, so
a permutation of the documents permutes their outputs. Attention is computed on queries that are padded to the length of
the longest query of the batch. All other layers process each document separately, without padding.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from gradrank.training.nets import steps
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.steps import Activation, ActivationName, Affine, DocumentAttention, LayerNorm, Steps

WIDE = 128  # inputs and outputs of a dense layer for which NumPy's products save much time


def affine(x: torch.Tensor, *layers: "Dense") -> torch.Tensor:
    """Return the outputs of linear layers for (..., d) inputs, concatenated along the last axis."""
    weights, biases = torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])
    return rows_product(x, weights.mT) + biases


def rows_product(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the (..., n) products of (..., d) inputs and (d, n) weights."""
    return product(x.reshape(-1, x.shape[-1]), weights).view(*x.shape[:-1], -1)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the (..., m, n) products of (..., m, k) and (..., k, n) matrices with equal leading axes."""
    return NumpyProduct.apply(a, b) if a.device.type == "cpu" else a @ b


class NumpyProduct(torch.autograd.Function):
    """The products of `product` on the CPU, and their gradients."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return _product(a, b)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        (slope,), (a, b) = grad_outputs, ctx.saved_tensors
        of_a, of_b = ctx.needs_input_grad
        return _product(slope, b.mT) if of_a else None, _product(a.mT, slope) if of_b else None


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy())


def uniform(shape: tuple[int, ...], limit: float, generator: torch.Generator) -> torch.nn.Parameter:
    """Return a parameter with random numbers that are uniform in [-limit, limit]."""
    return torch.nn.Parameter((2.0 * torch.rand(shape, generator=generator) - 1.0) * limit)


def array(tensor: torch.Tensor) -> np.ndarray:
    """Copy the tensor to main memory, and return the copy as a NumPy array."""
    return tensor.detach().cpu().numpy().copy()


class ListPadding(NamedTuple):
    """The layout of a batch of documents in a padded array of (queries, longest) cells.

    `longest` is the number of documents of the longest query. cell: (n,) number of the cell of each document. absent:
    (queries, 1, 1, longest) float32, 0 for the cells of documents, and -inf for the other cells. Queries of equal
    length need no padding; `cell` and `absent` are then both None.
    """

    queries: int
    longest: int
    cell: torch.Tensor | None
    absent: torch.Tensor | None

    @classmethod
    def of(cls, offsets: np.ndarray, device: torch.device) -> "ListPadding":
        """Create the layout of the queries with the (q+1,) `offsets`, with tensors on `device`."""
        sizes = np.diff(offsets)
        queries, longest = len(sizes), int(sizes.max())
        if (sizes == longest).all():
            return cls(queries, longest, None, None)
        cell = np.arange(offsets[-1]) + np.repeat(np.arange(queries) * longest - offsets[:-1], sizes)
        absent = np.where(np.arange(longest) < sizes[:, None], np.float32(0.0), np.float32(-np.inf))
        absent = torch.from_numpy(absent[:, None, None, :]).to(device)
        return cls(queries, longest, torch.from_numpy(cell).to(device), absent)

    def pad(self, rows: torch.Tensor, parts: int, heads: int) -> tuple[torch.Tensor, ...]:
        """Return (n, parts * width) rows as one (queries, heads, longest, width / heads) array per part.

        Cells without a document are 0.
        """
        if self.cell is not None:
            cells = rows.new_zeros((self.queries * self.longest, rows.shape[1]))
            rows = cells.index_copy(0, self.cell, rows)
        return rows.view(self.queries, self.longest, parts, heads, -1).permute(2, 0, 3, 1, 4).unbind()

    def unpad(self, padded: torch.Tensor) -> torch.Tensor:
        """Return the (n, width) rows of a padded array. This is the inverse of `pad` for one part."""
        rows = padded.transpose(1, 2).reshape(self.queries * self.longest, -1)
        return rows if self.cell is None else rows[self.cell]


class TrainingNoise(torch.nn.Module):
    """Dropout and Gaussian noise during training. The random numbers come from a NumPy generator."""

    def __init__(self, dropout: float, noise: float, seed: int) -> None:
        super().__init__()
        self.dropout, self.noise = dropout, noise
        self.generator = np.random.default_rng([seed, 2])  # torch_training uses `seed` and [seed, 1]

    @classmethod
    def of(cls, params: ScorerParams, seed: int) -> "TrainingNoise":
        """Create the dropout and the noise that the parameters of a scorer state."""
        return cls(params.dropout, params.noise, seed)

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` after dropout.

        Each number becomes 0 with probability `dropout`, and is otherwise divided by 1 - dropout. Outside training, `x`
        is returned unchanged.
        """
        if not (self.training and self.dropout):
            return x
        kept = self.generator.random(x.shape, np.float32) >= self.dropout  # 5 times as fast as torch's bernoulli_
        return x * torch.from_numpy(kept * np.float32(1.0 / (1.0 - self.dropout))).to(x.device)

    def add_noise(self, x: torch.Tensor) -> torch.Tensor:
        """Return `x` plus normal noise with standard deviation `noise`. Outside training, no noise is added."""
        if not (self.training and self.noise):
            return x
        draws = self.generator.standard_normal(x.shape, np.float32)
        return x + self.noise * torch.from_numpy(draws).to(x.device)


class Layer(torch.nn.Module):
    """A layer of a scorer: its parameters, its computation in training, and the steps that compute the same.

    Values of one token per document are (n, width) tensors in torch, and (n, 1, width) arrays in steps.
    """

    @abstractmethod
    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        """Return the result for the values x. lists: the layout of the queries, for attention over documents."""

    @abstractmethod
    def steps(self) -> Steps:
        """Return steps with copies of the current weights, which have the result of `forward` after the training."""


class Chain(Layer):
    """Layers, one after another. An empty chain returns its input."""

    def __init__(self, *layers: Layer) -> None:
        super().__init__()
        self.layers = list(layers)
        self.parts = torch.nn.ModuleList(layers)  # registers the parameters

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, lists)
        return x

    def steps(self) -> Steps:
        return tuple(step for layer in self.layers for step in layer.steps())


class Add(Layer):
    """The sum of the results of two layers for the same values. With an empty chain, it is a residual connection."""

    def __init__(self, first: Layer, second: Layer) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return self.first(x, lists) + self.second(x, lists)

    def steps(self) -> Steps:
        return (steps.Sum(self.first.steps(), self.second.steps()),)


class Gate(Layer):
    """h a + h, where h and a are the results of the layers `values` and `gates` for the same values."""

    def __init__(self, values: Layer, gates: Layer) -> None:
        super().__init__()
        self.values, self.gates = values, gates

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        gates, values = self.gates(x, lists), self.values(x, lists)
        return values * gates + values

    def steps(self) -> Steps:
        return (steps.Gate(self.values.steps(), self.gates.steps()),)


class Noise(Layer):
    """The noise on the inputs, which is left out after the training."""

    def __init__(self, noise: TrainingNoise) -> None:
        super().__init__()
        self.noise = noise

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return self.noise.add_noise(x)

    def steps(self) -> Steps:
        return ()


class Dropout(Noise):
    """Dropout, which is left out after the training."""

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return self.noise.drop(x)


class Flatten(Layer):
    """The values of all tokens of a document as one row."""

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return x.flatten(1)

    def steps(self) -> Steps:
        return (steps.Flatten(),)


class Activated(Layer):
    """An activation per element."""

    def __init__(self, name: ActivationName) -> None:
        super().__init__()
        self.name: ActivationName = name

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        match self.name:
            case "relu":
                return torch.relu(x)
            case "tanh":
                return torch.tanh(x)
            case "selu":
                return torch.nn.functional.selu(x)
            case "reglu":
                left, right = x.chunk(2, dim=-1)
                return left * torch.relu(right)

    def steps(self) -> Steps:
        return (Activation(self.name),)


class Dense(Layer):
    """x W' + b. weight: (outputs, inputs). bias: (outputs,); zeros if None.

    Layers with at least WIDE inputs and outputs use NumPy's products, others torch's.
    """

    def __init__(self, weight: torch.nn.Parameter, bias: torch.nn.Parameter | None = None) -> None:
        super().__init__()
        self.weight = weight
        self.bias = torch.nn.Parameter(torch.zeros(len(weight))) if bias is None else bias

    @classmethod
    def glorot(cls, inputs: int, outputs: int, generator: torch.Generator) -> Self:
        """Create a layer with the random weights of Glorot & Bengio 2010 and zero biases."""
        weight = torch.nn.init.xavier_uniform_(torch.empty(outputs, inputs), generator=generator)
        return cls(torch.nn.Parameter(weight))

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        if min(self.weight.shape) >= WIDE:
            return affine(x, self)
        return torch.nn.functional.linear(x, self.weight, self.bias)

    def steps(self) -> Steps:
        return (Affine(array(self.weight).T.copy(), array(self.bias)),)


class NumpyDense(Dense):
    """A dense layer with NumPy's products at any width."""

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return affine(x, self)


class Norm(Layer):
    """A layer norm (Ba et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return self.norm(x)

    def steps(self) -> Steps:
        return (LayerNorm(array(self.norm.weight), array(self.norm.bias)),)


class BatchNormDense(Dense):
    """A dense layer and a batch norm (Ioffe & Szegedy 2015). In steps, the norm is a part of the weights."""

    def __init__(self, weight: torch.nn.Parameter, bias: torch.nn.Parameter | None = None) -> None:
        super().__init__(weight, bias)
        self.norm = torch.nn.BatchNorm1d(len(weight))

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        return self.norm(super().forward(x, lists))

    def steps(self) -> Steps:
        norm = self.norm
        assert norm.running_mean is not None and norm.running_var is not None
        unit = array(norm.weight) / (array(norm.running_var) + norm.eps) ** 0.5
        biases = (array(self.bias) - array(norm.running_mean)) * unit + array(norm.bias)
        return (Affine(array(self.weight).T.copy() * unit, biases),)


def fully_connected(widths: list[int], params: ScorerParams, generator: torch.Generator, noise: TrainingNoise) -> Chain:
    """Return hidden layers and a linear output layer.

    Each hidden layer consists of a linear map, a norm, an activation and dropout. widths: number of inputs, then the
    widths of the hidden layers, then the number of outputs.
    """
    *hidden, last = pairwise(widths)
    dense, layers = BatchNormDense if params.norm == "batch" else Dense, []
    for inputs, outputs in hidden:
        norms = [Norm(outputs)] if params.norm == "layer" else []
        parts = dense.glorot(inputs, outputs, generator), *norms, Activated(params.activation), Dropout(noise)
        layers.append(Chain(*parts))
    return Chain(*layers, Dense.glorot(*last, generator))


class ListAttention(Layer):
    """Attention from each document to all documents of its query."""

    def __init__(self, params: ScorerParams, generator: torch.Generator, noise: TrainingNoise) -> None:
        super().__init__()
        self.query, self.key, self.value = (NumpyDense.glorot(params.width, params.width, generator) for _ in range(3))
        self.heads, self.noise = params.heads, noise

    def forward(self, x: torch.Tensor, lists: ListPadding | None = None) -> torch.Tensor:
        assert lists is not None
        query, key, value = lists.pad(affine(x, self.query, self.key, self.value), 3, self.heads)
        similarity = product(query / query.shape[-1] ** 0.5, key.mT)
        if lists.absent is not None:
            similarity = similarity + lists.absent
        attention = torch.softmax(similarity, dim=-1)
        return lists.unpad(product(self.noise.drop(attention), value))

    def steps(self) -> Steps:
        return (DocumentAttention(self.query.steps(), self.key.steps(), self.value.steps(), self.heads),)


def encoder(inputs: int, params: ScorerParams, generator: torch.Generator, noise: TrainingNoise) -> Chain:
    """Return a linear map to the width of the blocks, then the blocks, then a norm.

    A block is x + attention(norm(x)), then x + feed_forward(norm(x)).
    """
    width, layers = params.width, [NumpyDense.glorot(inputs, params.width, generator)]
    for _ in range(params.blocks):
        attention = ListAttention(params, generator, noise), NumpyDense.glorot(width, width, generator)
        inner, outer = (
            NumpyDense.glorot(*sizes, generator)
            for sizes in ((width, params.feed_forward), (params.feed_forward, width))
        )
        feed_forward = inner, Activated("relu"), Dropout(noise), outer
        layers += [Add(Chain(), Chain(Norm(width), *part, Dropout(noise))) for part in (attention, feed_forward)]
    return Chain(*layers, Norm(width))
