"""A trained feed-forward scorer as plain arrays: scoring, saving and loading without torch.

Importing torch costs a second, and a row of a BLAS product can differ in the last bit with its place in the
batch. Here a document's output depends on nothing but its own features: equal documents tie exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradrank.compiled import compiled
from gradrank.files import atomic

ROWS = 1 << 14  # taken at a time, so that what lies between two layers stays small

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
}


@dataclass(frozen=True)
class Net:
    """Layers x -> activation(x W + b), the last one without activation, on standardised features.

    weights: one (inputs, outputs) array a layer; biases: one (outputs,) a layer.
    mean, scale: (d,) of the training part's features; inputs are (x - mean) / scale.
    """

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    mean: np.ndarray
    scale: np.ndarray
    activation: str = "relu"

    def outputs(self, features: np.ndarray) -> np.ndarray:
        """(n, outputs) of (n, d) features, in the weights' precision."""
        out = np.empty((len(features), len(self.biases[-1])), self.weights[-1].dtype)
        for rows in _blocks(len(features)):
            x = standardised(features[rows], self.mean, self.scale)
            for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
                x = ACTIVATIONS[self.activation](affine(x, weights, biases))
            out[rows] = affine(x, self.weights[-1], self.biases[-1])
        return out

    def scores(self, features: np.ndarray) -> np.ndarray:
        """(n,) float64: the single output."""
        return self.outputs(features)[:, 0].astype(np.float64)

    def save(self, path: Path) -> None:
        from safetensors.numpy import save

        tensors = {"mean": self.mean, "scale": self.scale}
        for i, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            tensors |= {f"weights.{i}": weights, f"biases.{i}": biases}
        with atomic(path) as partial:
            partial.write_bytes(save(tensors, metadata={"activation": self.activation}))

    @classmethod
    def load(cls, path: Path) -> "Net":
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as stored:
            layers = range(len(stored.keys()) // 2 - 1)
            return cls(
                weights=[stored.get_tensor(f"weights.{i}") for i in layers],
                biases=[stored.get_tensor(f"biases.{i}") for i in layers],
                mean=stored.get_tensor("mean"),
                scale=stored.get_tensor("scale"),
                activation=stored.metadata()["activation"],
            )


def standardisation(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) float64 mean and standard deviation of the features; a constant feature gets scale 1."""
    mean = features.mean(axis=0, dtype=np.float64)
    scale = features.std(axis=0, dtype=np.float64)
    return mean, np.where(scale > 0.0, scale, 1.0)


def standardised(features: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(n, d) float32 (x - mean) / scale."""
    out = np.empty(features.shape, np.float32)
    for rows in _blocks(len(features)):
        out[rows] = (features[rows] - mean) / scale
    return out


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, ROWS):
        yield slice(start, start + ROWS)


@compiled
def affine(x, weights, biases):
    """(n, outputs) x W + b, each row summed in the order of its inputs: as fast as BLAS at these widths.

    Four inputs at a time: a row of outputs is read and written once for all of them.
    """
    out = np.empty((x.shape[0], weights.shape[1]), weights.dtype)
    whole = x.shape[1] // 4 * 4
    for i in range(x.shape[0]):
        row = out[i]
        row[:] = biases
        for j in range(0, whole, 4):
            x0, x1, x2, x3 = x[i, j], x[i, j + 1], x[i, j + 2], x[i, j + 3]
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for k in range(len(row)):
                row[k] = row[k] + x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
        for j in range(whole, x.shape[1]):
            for k in range(len(row)):
                row[k] += x[i, j] * weights[j, k]
    return out
