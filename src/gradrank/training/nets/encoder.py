"""Transformer encoder blocks over the documents of each query (Vaswani et al. 2017), with pre-norm as in allRank.

There is no position encoding, so a permutation of the documents permutes their outputs. Attention is computed on
queries that are padded to the length of the longest query of the batch. All other layers process each document
separately, without padding.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from gradrank.training.nets.layers import array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.products import affine, product
from gradrank.training.nets.scorer import Scorer, TrainingNoise

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
