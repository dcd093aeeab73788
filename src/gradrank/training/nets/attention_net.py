"""A trained attention scorer as plain arrays: scoring, saving and loading without torch.

What is a row a document is computed as of a Net, in single precision and in an order that depends on nothing but the
row; sums over a query's documents are in double precision. So equal documents of a query tie exactly, and scores
follow permuted documents.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.files import atomic
from gradrank.training.nets.net import Net, affine, layer_norm, log1p, one_score, standardised

ROWS = 1 << 14  # taken at a time, in whole queries


@dataclass(frozen=True)
class AttentionNet:
    """Encoder blocks on standardised features; with a tower, its outputs are crossed with theirs.

    arrays: float32, by the names that the scorers of gradrank.training.scorers export.
    mean, scale, log_limit: of the inputs, as of Net. heads: of every block. tower: Net, outputs of the context's width.
    """

    arrays: dict[str, np.ndarray]
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None
    heads: int
    tower: Net | None = None

    def outputs(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n, outputs) float32 of (n, d) features; offsets: (q+1,)."""
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
        x = self._layer("embed", x)
        blocks = sum(name.endswith("joined.biases") for name in self.arrays)
        for name in (f"blocks.{i}" for i in range(blocks)):
            inner = self._norm(f"{name}.norm_before", x)
            query, key, value = (self._layer(f"{name}.{part}", inner) for part in ("query", "key", "value"))
            x = x + self._layer(f"{name}.joined", attended(query, key, value, offsets, self.heads))
            inner = self._layer(f"{name}.inner", self._norm(f"{name}.norm_between", x))
            x = x + self._layer(f"{name}.outer", np.maximum(inner, 0.0))
        x = self._norm("norm", x)
        if self.tower is not None:
            own = self.tower.outputs(features)
            x = np.maximum(own * self._layer("context", x) + own, 0.0)
        return self._layer("output", x)

    def _layer(self, name: str, x: np.ndarray) -> np.ndarray:
        return affine(x, self.arrays[f"{name}.weights"], self.arrays[f"{name}.biases"])

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return layer_norm(x, self.arrays[f"{name}.weights"], self.arrays[f"{name}.biases"])

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n,) float64 `one_score` of the outputs."""
        return one_score(self.outputs(features, offsets))

    def save(self, path: Path) -> None:
        from safetensors.numpy import save

        tensors = self.arrays | {"mean": self.mean, "scale": self.scale}
        if self.log_limit is not None:
            tensors["log_limit"] = np.array([self.log_limit])
        shape = {"heads": self.heads}
        if self.tower is not None:
            tensors |= {f"tower.{name}": each for name, each in self.tower.tensors().items()}
            shape["activation"] = self.tower.activation
        with atomic(path) as partial:
            # One key: safetensors writes several in an order that changes from call to call.
            partial.write_bytes(save(tensors, metadata={"shape": json.dumps(shape)}))

    @classmethod
    def load(cls, path: Path) -> "AttentionNet":
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as stored:
            shape = json.loads(stored.metadata()["shape"])
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        tower = {name.removeprefix("tower."): tensors.pop(name) for name in tuple(tensors) if name.startswith("tower.")}
        own = {name: tensors.pop(name) for name in ("mean", "scale", "log_limit") if name in tensors}
        limit = float(own["log_limit"][0]) if "log_limit" in own else None
        net = Net.of(tower, shape["activation"]) if tower else None
        return cls(tensors, own["mean"], own["scale"], limit, shape["heads"], net)


def load_net(path: Path) -> Net | AttentionNet:
    """Whichever of the two was saved."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as stored:
        kind = AttentionNet if "shape" in stored.metadata() else Net
    return kind.load(path)


@compiled("f4[:,:], f4[:,:], f4[:,:], i8[:], i8")
def attended(query, key, value, offsets, heads):
    """(n, width) float32: each head's values, in shares softmax_j(query_i . key_j / sqrt(its width))."""
    n, width = query.shape
    own = width // heads
    out = np.empty((n, width), query.dtype)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        shares = np.empty(b - a)
        for i in range(a, b):
            for start in range(0, width, own):
                highest = -np.inf
                for j in range(a, b):
                    likeness = 0.0
                    for k in range(start, start + own):
                        likeness += query[i, k] * key[j, k]
                    shares[j - a] = likeness / np.sqrt(own)
                    highest = max(highest, shares[j - a])
                total, sums = 0.0, np.zeros(own)
                for j in range(a, b):
                    share = np.exp(shares[j - a] - highest)
                    total += share
                    for k in range(own):
                        sums[k] += share * value[j, start + k]
                for k in range(own):
                    out[i, start + k] = sums[k] / total
    return out
