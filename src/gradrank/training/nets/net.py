"""A trained feed-forward scorer as plain arrays: scoring, saving and loading without torch.

Importing torch costs a second, and a row of a BLAS product can differ in the last bit with its place in the
batch. Here a document's output depends on nothing but its own features: equal documents tie exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.files import atomic

ROWS = 1 << 14  # taken at a time, so that what lies between two layers stays small

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}


@dataclass(frozen=True)
class Net:
    """Layers x -> activation(x W + b), the last one without activation, on standardised features.

    weights: one (inputs, outputs) array a layer; biases: one (outputs,) a layer.
    mean, scale: (d,) of the training part's features; inputs are (x - mean) / scale.
    log_limit: where given, x is sign(x) ln(1 + |x|), cut at plus and minus the limit, before it is standardised.
    gains, shifts: of layer norm before each activation, (outputs,) a hidden layer; none: no norm.
    """

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    mean: np.ndarray
    scale: np.ndarray
    activation: str = "relu"
    log_limit: float | None = None
    gains: list[np.ndarray] = field(default_factory=list)
    shifts: list[np.ndarray] = field(default_factory=list)

    def outputs(self, features: np.ndarray) -> np.ndarray:
        """(n, outputs) of (n, d) features, in the weights' precision."""
        out = np.empty((len(features), len(self.biases[-1])), self.weights[-1].dtype)
        for rows in _blocks(len(features)):
            x = standardised(log1p(features[rows], self.log_limit), self.mean, self.scale)
            for i, (weights, biases) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
                x = affine(x, weights, biases)
                if self.gains:
                    x = layer_norm(x, self.gains[i], self.shifts[i])
                x = ACTIVATIONS[self.activation](x)
            out[rows] = affine(x, self.weights[-1], self.biases[-1])
        return out

    def scores(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """(n,) float64 `one_score` of the outputs; a document's depends on no other, `offsets` or not."""
        return one_score(self.outputs(features))

    def tensors(self) -> dict[str, np.ndarray]:
        """All numbers by name."""
        named = {"weights": self.weights, "biases": self.biases, "gains": self.gains, "shifts": self.shifts}
        found = {"mean": self.mean, "scale": self.scale}
        if self.log_limit is not None:
            found["log_limit"] = np.array([self.log_limit])
        return found | {f"{name}.{i}": each for name, arrays in named.items() for i, each in enumerate(arrays)}

    @classmethod
    def of(cls, tensors: Mapping[str, np.ndarray], activation: str) -> "Net":
        """What `tensors` gave."""

        def arrays(name: str) -> list[np.ndarray]:
            count = sum(key.startswith(f"{name}.") for key in tensors)
            return [tensors[f"{name}.{i}"] for i in range(count)]

        limit = float(tensors["log_limit"][0]) if "log_limit" in tensors else None
        ends = tensors["mean"], tensors["scale"]
        return cls(arrays("weights"), arrays("biases"), *ends, activation, limit, arrays("gains"), arrays("shifts"))

    def save(self, path: Path) -> None:
        from safetensors.numpy import save

        with atomic(path) as partial:
            partial.write_bytes(save(self.tensors(), metadata={"activation": self.activation}))

    @classmethod
    def load(cls, path: Path) -> "Net":
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as stored:
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
            return cls.of(tensors, stored.metadata()["activation"])


def one_score(outputs: np.ndarray) -> np.ndarray:
    """(n,) float64 from (n, K): the single output; of several, each a question about the grade, sum_k sig(o_k)."""
    outputs = outputs.astype(np.float64)
    if outputs.shape[1] == 1:
        return outputs[:, 0]
    return (0.5 + 0.5 * np.tanh(0.5 * outputs)).sum(axis=1)


def log1p(features: np.ndarray, limit: float | None) -> np.ndarray:
    """(n, d) sign(x) ln(1 + |x|) within plus and minus `limit` (Qin et al. 2021); as they are without one."""
    if limit is None:
        return features
    return np.clip(np.sign(features) * np.log1p(np.abs(features)), -limit, limit)


def standardisation(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) float64 mean and standard deviation of the features; a constant feature gets scale 1."""
    mean = features.mean(axis=0, dtype=np.float64)
    scale = np.sqrt(squared_deviations(features, mean) / len(features))
    return mean, np.where(scale > 0.0, scale, 1.0)


@compiled("f4[:,:], f8[:]")
def squared_deviations(features, mean):
    """(d,) float64 sums over the rows, in their order, as NumPy's std has them, but without its copy in float64."""
    out = np.zeros(features.shape[1])
    for i in range(len(features)):
        for j in range(len(out)):
            out[j] += (features[i, j] - mean[j]) ** 2
    return out


def standardised(features: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(n, d) float32 (x - mean) / scale."""
    out = np.empty(features.shape, np.float32)
    for rows in _blocks(len(features)):
        out[rows] = (features[rows] - mean) / scale
    return out


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, ROWS):
        yield slice(start, start + ROWS)


def affine(x: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """(n, outputs) x W + b in the precision of the weights, float32 or float64; see `_affine`."""
    return (_affine_single if weights.dtype == np.float32 else _affine_double)(x, weights, biases)


@compiled("f4[:,:], f4[:,:], f4[:]")
def _affine_single(x, weights, biases):
    return _affine(x, weights, biases)


@compiled("f8[:,:], f8[:,:], f8[:]")
def _affine_double(x, weights, biases):
    return _affine(x, weights, biases)


@compiled()
def _affine(x, weights, biases):
    """(n, outputs) x W + b, each row summed in the order of its inputs: as fast as BLAS at these widths.

    Four inputs at a time: a row of outputs is read and written once for all of them.
    """
    out = np.empty((x.shape[0], weights.shape[1]), weights.dtype)
    whole = x.shape[1] // 4 * 4
    for i in range(x.shape[0]):
        row = out[i]
        for k in range(len(row)):
            row[k] = biases[k]
        for j in range(0, whole, 4):
            x0, x1, x2, x3 = x[i, j], x[i, j + 1], x[i, j + 2], x[i, j + 3]
            w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for k in range(len(row)):
                row[k] = row[k] + x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
        for j in range(whole, x.shape[1]):
            for k in range(len(row)):
                row[k] += x[i, j] * weights[j, k]
    return out


@compiled("f4[:,:], f4[:], f4[:]")
def layer_norm(x, gain, shift):
    """(n, width) rows of mean 0 and variance 1 (Ba et al. 2016), times gain, plus shift; sums in double precision."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        total, squares = 0.0, 0.0
        for k in range(x.shape[1]):
            total += x[i, k]
        mean = total / x.shape[1]
        for k in range(x.shape[1]):
            squares += (x[i, k] - mean) ** 2
        unit = 1.0 / np.sqrt(squares / x.shape[1] + 1e-5)  # torch's epsilon
        for k in range(x.shape[1]):
            out[i, k] = (x[i, k] - mean) * unit * gain[k] + shift[k]
    return out
