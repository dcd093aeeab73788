"""A transformer's encoder blocks over the documents of each query (Vaswani et al. 2017; pre-norm, as allRank's).

Documents have no positions: permuted documents get permuted outputs. Only the weights of attention are padded to the
batch's longest query; all else is a row a document.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from gradrank.training.nets.layers import array, glorot_layer
from gradrank.training.nets.net_params import ScorerParams
from gradrank.training.nets.scorer import Chance, Scorer

CELLS = 1 << 20  # of a batch's queries x longest x longest: what a step's memory is bounded by


class Lists(NamedTuple):
    """Where the rows of a batch stand in its padded form of (queries, longest) cells.

    cell: (n,) number of each row's cell. absent: (queries, 1, 1, longest) True where no document is.
    """

    cell: torch.Tensor
    absent: torch.Tensor

    @classmethod
    def of(cls, offsets: np.ndarray, device: torch.device) -> "Lists":
        sizes = np.diff(offsets)
        longest = int(sizes.max())
        cell = np.arange(offsets[-1]) + np.repeat(np.arange(len(sizes)) * longest - offsets[:-1], sizes)
        absent = torch.from_numpy(np.arange(longest) >= sizes[:, None])
        return cls(torch.from_numpy(cell).to(device), absent[:, None, None, :].to(device))

    def padded(self, rows: torch.Tensor, heads: int) -> torch.Tensor:
        """(queries, heads, longest, width / heads) of (n, width), 0 where no document is."""
        queries, _, _, longest = self.absent.shape
        cells = rows.new_zeros((queries * longest, rows.shape[1])).index_copy(0, self.cell, rows)
        return cells.view(queries, longest, heads, -1).transpose(1, 2)

    def rows(self, padded: torch.Tensor) -> torch.Tensor:
        """(n, width) again."""
        queries, heads, longest, width = padded.shape
        return padded.transpose(1, 2).reshape(queries * longest, heads * width)[self.cell]


class Block(torch.nn.Module):
    """x + attention(norm(x)), then x + feed forward(norm(x))."""

    def __init__(self, params: ScorerParams, generator: torch.Generator, chance: Chance) -> None:
        super().__init__()
        width, inner = params.width, params.feed_forward
        self.norm_before, self.norm_between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.query, self.key, self.value, self.joined = (glorot_layer(width, width, generator) for _ in range(4))
        self.inner, self.outer = glorot_layer(width, inner, generator), glorot_layer(inner, width, generator)
        self.heads, self.chance = params.heads, chance

    def forward(self, x: torch.Tensor, lists: Lists) -> torch.Tensor:
        drop = self.chance.drop
        x = x + drop(self.joined(self._attended(self.norm_before(x), lists)))
        return x + drop(self.outer(drop(torch.relu(self.inner(self.norm_between(x))))))

    def _attended(self, x: torch.Tensor, lists: Lists) -> torch.Tensor:
        query, key, value = (lists.padded(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        likeness = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
        shares = torch.softmax(likeness.masked_fill(lists.absent, float("-inf")), dim=-1)
        return lists.rows(self.chance.drop(shares) @ value)

    def export(self) -> dict[str, np.ndarray]:
        """Weights as (inputs, outputs), by name."""
        found = {}
        for name, layer in self.named_children():
            if layer is self.chance:
                continue
            found[f"{name}.weights"] = array(layer.weight).T.copy()  # of a norm its gains
            found[f"{name}.biases"] = array(layer.bias)
        return found


class ListScorer(Scorer):
    """A scorer that sees lists whole: its batches hold queries of similar length."""

    def batches(self, shuffle: np.random.Generator, offsets: np.ndarray, batch_queries: int) -> list[np.ndarray]:
        """Neighbours by length, in random order where that is equal; the batches themselves in random order.

        A batch's longest query may have at most CELLS / queries / longest documents; a longer one is alone.
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
