"""Layers in torch: matrix products, fully connected layers, and transformer blocks over the documents of each query.

Large scorers spend most of their time on matrix products, which NumPy computes on the CPU. torch computes products with
MKL, whose reproducible kernels use registers of 128 bits. NumPy's OpenBLAS has kernels for x86-64-v3, which
`gradrank.pin` selects on every processor. They are 2.5 times as fast for a batch of MQ2007. Plain nets keep torch's
products, because they spend little time on them.

Fully connected layers have optional norms and dropout. The blocks are those of Vaswani et al. 2017, with pre-norm as in
allRank. There is no position encoding, so a permutation of the documents permutes their outputs. Attention is computed
on queries that are padded to the length of the longest query of the batch. All other layers process each document
separately, without padding.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from gradrank.training.nets.net import Net
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Inputs, Scorer, TrainingNoise
from gradrank.training.nets.steps import Steps


def affine(x: torch.Tensor, *layers: torch.nn.Linear) -> torch.Tensor:
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


CELLS = 1 << 20  # maximum of queries x longest x longest per batch, to limit the memory of a step


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


class Block(torch.nn.Module):
    """One encoder block: x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, params: ScorerParams, generator: torch.Generator, noise: TrainingNoise) -> None:
        super().__init__()
        width, inner = params.width, params.feed_forward
        self.norm_before, self.norm_between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.query, self.key, self.value, self.joined = (glorot_layer(width, width, generator) for _ in range(4))
        self.inner, self.outer = glorot_layer(width, inner, generator), glorot_layer(inner, width, generator)
        self.heads, self.noise = params.heads, noise

    def forward(self, x: torch.Tensor, padding: ListPadding) -> torch.Tensor:
        drop = self.noise.drop
        x = x + drop(affine(self._attend(self.norm_before(x), padding), self.joined))
        return x + drop(affine(drop(torch.relu(affine(self.norm_between(x), self.inner))), self.outer))

    def _attend(self, x: torch.Tensor, padding: ListPadding) -> torch.Tensor:
        query, key, value = padding.pad(affine(x, self.query, self.key, self.value), 3, self.heads)
        similarity = product(query / query.shape[-1] ** 0.5, key.mT)
        if padding.absent is not None:
            similarity = similarity + padding.absent
        attention = torch.softmax(similarity, dim=-1)
        return padding.unpad(product(self.noise.drop(attention), value))

    def export(self) -> dict[str, np.ndarray]:
        """Return a dict from name to a copy of the weights or biases. Linear weights have shape (inputs, outputs)."""
        arrays = {}
        for name, layer in self.named_children():
            if isinstance(layer, torch.nn.Linear | torch.nn.LayerNorm):
                arrays[f"{name}.weights"] = array(layer.weight).T.copy()
                arrays[f"{name}.biases"] = array(layer.bias)
        return arrays


class ListScorer(Scorer):
    """A scorer whose outputs depend on all documents of a query. Its batches contain queries of similar length."""

    def padding(self, rows: np.ndarray, offsets: np.ndarray | None) -> ListPadding:
        """Return the layout of the queries with the (q+1,) `offsets` within `rows`. If None, all rows are one query."""
        offsets = np.array([0, len(rows)]) if offsets is None else offsets
        return ListPadding.of(offsets, self.inputs.device)

    def batches(self, shuffle: np.random.Generator, offsets: np.ndarray, batch_queries: int) -> list[np.ndarray]:
        """Return the batches of an epoch in random order. Each batch is an array of query numbers.

        The queries of a batch have similar lengths, and queries of equal length are in random order. A batch has at
        most `batch_queries` queries. Unless a batch is a single query, queries x longest x longest is at most CELLS,
        where `longest` is the length of the longest query of the batch.
        """
        sizes = np.diff(offsets)
        queries = shuffle.permutation(len(sizes))
        queries = queries[np.argsort(sizes[queries], kind="stable")]
        starts = [0]
        for at, query in enumerate(queries):
            count = at - starts[-1] + 1
            if count > batch_queries or (count > 1 and count * int(sizes[query]) ** 2 > CELLS):
                starts.append(at)
        shares = [queries[a:b] for a, b in pairwise([*starts, len(queries)])]
        return [shares[i] for i in shuffle.permutation(len(shares))]
