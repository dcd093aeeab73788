"""A trained attention scorer, stored as NumPy arrays. Scoring, saving and loading do not need torch.

Layers that process each document separately are computed as in Net: in float32, and in an order that depends only on
the document. Sums over the documents of a query are computed in float64. So equal documents of a query have exactly
equal scores, and a permutation of the documents permutes their scores.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.files import atomic
from gradrank.training.nets.layer_functions import affine, layer_norm
from gradrank.training.nets.net import INPUTS, Net, combine_outputs, log1p, standardised
from gradrank.training.nets.steps import Steps, run_on_features, stored

ROWS = 1 << 14  # maximum rows per block of whole queries, unless a single query is longer
NET_PREFIX = "tower."  # in files, the array names of `AttentionNet.net` have this prefix


@dataclass(frozen=True)
class AttentionNet:
    """Encoder blocks on standardised features, optionally combined with a feed-forward net (DASALC).

    arrays: float32 weights. The keys are the names that the scorers in gradrank.training.scorers export.
    mean, scale, log_limit: standardisation of the features, as in Net. heads: number of attention heads per block.
    net: the feed-forward net of DASALC, or None. Its outputs h are combined with the context a of the encoder as
    relu(h a + h). input_steps: as in Net.
    """

    scores_whole_queries: ClassVar[bool] = True  # by attention to the other documents of the query
    arrays: dict[str, np.ndarray]
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None
    heads: int
    net: Net | None = None
    input_steps: Steps = ()

    def outputs(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, outputs) float32 outputs for (n, d) features.

        offsets: (q+1,) offsets of the queries. If None, all rows belong to one query.
        """
        offsets = np.array([0, len(features)]) if offsets is None else offsets
        out = np.empty((len(features), len(self.arrays["output.biases"])), np.float32)
        first = 0
        while first < len(offsets) - 1:
            last = int(np.searchsorted(offsets, offsets[first] + ROWS, side="right")) - 1
            last = max(last, first + 1)
            rows = slice(offsets[first], offsets[last])
            out[rows] = self._outputs(features[rows], offsets[first : last + 1] - offsets[first])
            first = last
        return out

    def _outputs(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        x = standardised(log1p(features, self.log_limit), self.mean, self.scale)
        x = self._layer("embed", run_on_features(self.input_steps, x))
        blocks = sum(name.endswith("joined.biases") for name in self.arrays)
        for name in (f"blocks.{i}" for i in range(blocks)):
            inner = self._norm(f"{name}.norm_before", x)
            query, key, value = (self._layer(f"{name}.{part}", inner) for part in ("query", "key", "value"))
            x = x + self._layer(f"{name}.joined", attend(query, key, value, offsets, self.heads))
            inner = self._layer(f"{name}.inner", self._norm(f"{name}.norm_between", x))
            x = x + self._layer(f"{name}.outer", np.maximum(inner, 0.0))
        x = self._norm("norm", x)
        if self.net is not None:
            hidden = self.net.outputs(features)
            x = np.maximum(hidden * self._layer("context", x) + hidden, 0.0)
        return self._layer("output", x)

    def _layer(self, name: str, x: np.ndarray) -> np.ndarray:
        return affine(x, self.arrays[f"{name}.weights"], self.arrays[f"{name}.biases"])

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return layer_norm(x, self.arrays[f"{name}.weights"], self.arrays[f"{name}.biases"])

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 scores for (n, d) features; see `combine_outputs`."""
        return combine_outputs(self.outputs(features, offsets))

    def save(self, path: Path) -> None:
        """Write the net to a safetensors file."""
        from safetensors.numpy import save

        tensors = self.arrays | {"mean": self.mean, "scale": self.scale}
        if self.log_limit is not None:
            tensors["log_limit"] = np.array([self.log_limit])
        shape: dict[str, Any] = {"heads": self.heads}
        if self.input_steps:
            arrays, shape["input_steps"] = stored(self.input_steps, INPUTS)
            tensors |= arrays
        if self.net is not None:
            tensors |= {f"{NET_PREFIX}{name}": tensor for name, tensor in self.net.tensors().items()}
            shape["activation"] = self.net.activation
            if self.net.input_steps:
                shape["net_input_steps"] = stored(self.net.input_steps)[1]
        with atomic(path) as partial:
            # All metadata are under one key, because safetensors writes several keys in a random order.
            partial.write_bytes(save(tensors, metadata={"shape": json.dumps(shape)}))


@compiled("f4[:,:], f4[:,:], f4[:,:], i8[:], i8")
def attend(query, key, value, offsets, heads):
    """Return the (n, width) float32 outputs of attention from each document to all documents of its query.

    Each head uses its own width / heads columns. The output of a head for document i is the mean of the values of the
    documents j, with the weights softmax_j(query_i . key_j / sqrt(width / heads)).

    query, key, value: (n, width) float32 each. offsets: (q+1,) int64. heads: number of heads.
    """
    n, width = query.shape
    head_width = width // heads
    out = np.empty((n, width), query.dtype)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        # The inner loop runs over the documents j, because sums over k in a fixed order cannot use wide registers.
        columns, logits = np.ascontiguousarray(key[a:b].T), np.empty(b - a)
        for i in range(a, b):
            for start in range(0, width, head_width):
                logits[:] = 0.0
                for k in range(start, start + head_width):
                    for j in range(b - a):
                        logits[j] += query[i, k] * columns[k, j]
                highest = -np.inf
                for j in range(b - a):
                    logits[j] /= np.sqrt(head_width)
                    highest = max(highest, logits[j])
                total, sums = 0.0, np.zeros(head_width)
                for j in range(a, b):
                    weight = np.exp(logits[j - a] - highest)
                    total += weight
                    for k in range(head_width):
                        sums[k] += weight * value[j, start + k]
                for k in range(head_width):
                    out[i, start + k] = sums[k] / total
    return out
