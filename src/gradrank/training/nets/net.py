"""A trained feed-forward net, stored as NumPy arrays. Scoring, saving and loading do not need torch.

There are two reasons not to score with torch. Importing torch takes about one second. And the last bit of a BLAS
product can depend on the position of the row in the batch. Here, the output for a document depends only on its
features, so equal documents have exactly equal scores.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.files import atomic
from gradrank.training.nets.layer_functions import affine, layer_norm
from gradrank.training.nets.steps import Steps, run_on_features, stored

ROWS = 1 << 14  # rows per block, which limits the memory of the hidden layers
INPUTS = "inputs."  # in files, the array names of the input steps have this prefix

ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}


@dataclass(frozen=True)
class Net:
    """Layers x -> activation(x W + b) on standardised features. The last layer has no activation.

    weights: one (inputs, outputs) array W per layer. biases: one (outputs,) array b per layer.
    mean: (d,) means of the features in the training part. scale: (d,) divisors. The inputs are (x - mean) / scale.
    activation: "relu" or "tanh". log_limit: if not None, x is replaced by sign(x) ln(1 + |x|), clipped to +-log_limit,
    before the standardisation.
    gains, shifts: scale factors and offsets of a layer norm before each activation. Each is a list of one (outputs,)
    array per hidden layer, or empty if there is no layer norm.
    input_steps: steps between the standardisation and the first layer, such as an embedding of the features.
    """

    scores_whole_queries: ClassVar[bool] = False
    weights: list[np.ndarray]
    biases: list[np.ndarray]
    mean: np.ndarray
    scale: np.ndarray
    activation: str = "relu"
    log_limit: float | None = None
    gains: list[np.ndarray] = field(default_factory=list)
    shifts: list[np.ndarray] = field(default_factory=list)
    input_steps: Steps = ()

    def outputs(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, outputs) outputs for (n, d) features, in the type of the weights. `offsets` has no effect."""
        out = np.empty((len(features), len(self.biases[-1])), self.weights[-1].dtype)
        for rows in _blocks(len(features)):
            x = standardised(log1p(features[rows], self.log_limit), self.mean, self.scale)
            x = run_on_features(self.input_steps, x)
            for i, (weights, biases) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
                x = affine(x, weights, biases)
                if self.gains:
                    x = layer_norm(x, self.gains[i], self.shifts[i])
                x = ACTIVATIONS[self.activation](x)
            out[rows] = affine(x, self.weights[-1], self.biases[-1])
        return out

    def scores(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n,) float64 scores for (n, d) features; see `combine_outputs`. `offsets` has no effect."""
        return combine_outputs(self.outputs(features))

    def tensors(self) -> dict[str, np.ndarray]:
        """Return all arrays. The keys are the names of the arrays in the file."""
        lists = {"weights": self.weights, "biases": self.biases, "gains": self.gains, "shifts": self.shifts}
        named = {"mean": self.mean, "scale": self.scale}
        if self.log_limit is not None:
            named["log_limit"] = np.array([self.log_limit])
        named |= {f"{name}.{i}": array for name, arrays in lists.items() for i, array in enumerate(arrays)}
        return named | stored(self.input_steps, INPUTS)[0]

    def save(self, path: Path) -> None:
        """Write the net to a safetensors file."""
        from safetensors.numpy import save

        metadata = {"activation": self.activation}
        if self.input_steps:
            shape = {"activation": self.activation, "input_steps": stored(self.input_steps)[1]}
            metadata = {"net": json.dumps(shape)}  # one key, because safetensors writes several in a random order
        with atomic(path) as partial:
            partial.write_bytes(save(self.tensors(), metadata=metadata))


def combine_outputs(outputs: np.ndarray) -> np.ndarray:
    """Return the (n,) float64 scores for (n, K) outputs o.

    If K = 1, the score is the output. Otherwise it is sum_k sig(o_k), the score of the loss `ordinal`, where sig is the
    logistic function.
    """
    outputs = outputs.astype(np.float64)
    if outputs.shape[1] == 1:
        return outputs[:, 0]
    return (0.5 + 0.5 * np.tanh(0.5 * outputs)).sum(axis=1)


def log1p(features: np.ndarray, limit: float | None) -> np.ndarray:
    """Return sign(x) ln(1 + |x|), clipped to +-limit, for (n, d) features x. Without a `limit`, return x.

    Source: Qin et al. 2021.
    """
    if limit is None:
        return features
    return np.clip(np.sign(features) * np.log1p(np.abs(features)), -limit, limit)


def standardisation(features: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (d,) float64 means and the (d,) float64 standard deviations of (n, d) features.

    For a constant feature, 1 is returned instead of the standard deviation 0. weights: (n,) weights of the rows. If
    None, all rows have the same weight.
    """
    if weights is not None:
        return _weighted_standardisation(features, weights)
    mean = features.mean(axis=0, dtype=np.float64)
    scale = np.sqrt(squared_deviations(features, mean) / len(features))
    return mean, np.where(scale > 0.0, scale, 1.0)


def _weighted_standardisation(features: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    varies = features.max(axis=0) > features.min(axis=0)  # the weighted mean of a constant has a rounding error
    mean = np.where(varies, np.einsum("n,nd->d", weights, features) / weights.sum(), features[0])
    squares = np.zeros(len(mean))
    for rows in _blocks(len(features)):
        squares += np.einsum("n,nd->d", weights[rows], np.square(features[rows] - mean))
    return mean, np.where(varies, np.sqrt(squares / weights.sum()), 1.0)


@compiled("f4[:,:], f8[:]")
def squared_deviations(features, mean):
    """Return the (d,) float64 sums of squared deviations from the (d,) mean.

    The order of the summation is that of NumPy's std, but there is no float64 copy of the features.
    """
    out = np.zeros(features.shape[1])
    for i in range(len(features)):
        for j in range(len(out)):
            out[j] += (features[i, j] - mean[j]) ** 2
    return out


@compiled("f4[:,:], f8[:], f8[:]")
def standardised(features, mean, scale):
    """Return (x - mean) / scale for (n, d) float32 features x, as (n, d) float32.

    The difference and the quotient are computed in float64. mean, scale: (d,).
    """
    out = np.empty(features.shape, np.float32)
    for i in range(len(features)):
        for j in range(len(mean)):
            out[i, j] = (features[i, j] - mean[j]) / scale[j]
    return out


def _blocks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, ROWS):
        yield slice(start, start + ROWS)
