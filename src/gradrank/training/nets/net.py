"""A trained net: steps on standardised features, stored as NumPy arrays. Scores, files and exports do not need torch.

There are two reasons not to score with torch. Importing torch takes about one second. And the last bit of a BLAS
product can depend on the position of the row in the batch. Here, equal documents have exactly equal scores.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.files import atomic
from gradrank.training.nets.steps import (
    Activation,
    ActivationName,
    Affine,
    Flatten,
    Shape,
    Steps,
    attends_to_documents,
    run,
    shape_after,
    stored,
)

ROWS = 256  # rows per block, so that the arrays of a block stay in the cache of the processor
SUMMED = 1 << 14  # rows per block of a weighted sum, which limits the memory


class Layer(NamedTuple):
    """The layer x -> activation(x W + b). activation: None for the last layer."""

    weights: np.ndarray
    biases: np.ndarray
    activation: str | None


@dataclass(frozen=True)
class Net:
    """Steps on standardised features. The tokens of the last step are the members of an ensemble.

    steps: the first one gets the (n, d, 1) standardised features. The last one returns (n, members, K) outputs.
    mean: (d,) means of the features in the training part. scale: (d,) divisors. The inputs are (x - mean) / scale.
    log_limit: if not None, x is replaced by sign(x) ln(1 + |x|), clipped to +-log_limit, before the standardisation.
    """

    steps: Steps
    mean: np.ndarray
    scale: np.ndarray
    log_limit: float | None = None

    @classmethod
    def of_layers(
        cls,
        weights: Sequence[np.ndarray],
        biases: Sequence[np.ndarray],
        mean: np.ndarray,
        scale: np.ndarray,
        activation: ActivationName = "relu",
    ) -> "Net":
        """Create a net of layers x W + b with activations between them.

        weights: one (inputs, outputs) array W per layer. biases: one (outputs,) array b per layer.
        """
        first, *further = (Affine(*arrays) for arrays in zip(weights, biases, strict=True))
        layers = [step for layer in further for step in (Activation(activation), layer)]
        return cls((Flatten(), first, *layers), mean, scale)

    @property
    def layers(self) -> list[Layer] | None:
        """The layers of a net whose steps are only those of `of_layers`, with relu or tanh; None for another net."""
        first, *steps = self.steps
        maps, activations = steps[::2], steps[1::2]
        names = [step.name for step in activations if isinstance(step, Activation) and step.name in ("relu", "tanh")]
        affine = [step for step in maps if isinstance(step, Affine)]
        if not isinstance(first, Flatten) or len(affine) != len(names) + 1 or len(affine) + len(names) != len(steps):
            return None
        return [Layer(step.weights, step.biases, name) for step, name in zip(affine, [*names, None], strict=True)]

    @cached_property
    def scores_whole_queries(self) -> bool:
        """True if the output for a document depends on the other documents of its query."""
        return attends_to_documents(self.steps)

    @cached_property
    def shape(self) -> Shape:
        """The number of members, and the number K of outputs per member."""
        return shape_after(self.steps, (len(self.mean), 1))

    def outputs(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n, members K) outputs for (n, d) features, in the type of the arrays of the steps.

        offsets: (q+1,) offsets of the queries. If None, all rows belong to one query.
        """
        parts = []
        for rows, inner in self._blocks(len(features), offsets):
            x = standardised(log1p(features[rows], self.log_limit), self.mean, self.scale)
            with np.errstate(over="ignore", invalid="ignore"):  # the training reports scores that are not finite
                parts.append(run(self.steps, x[:, :, None], inner).reshape(len(x), -1))
        return np.concatenate(parts) if parts else np.empty((0, self.shape[0] * self.shape[1]), np.float32)

    def _blocks(self, rows: int, offsets: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray | None]]:
        """Yield blocks of rows with the offsets of their queries. Queries are kept whole if the net needs that."""
        if not self.scores_whole_queries:
            yield from ((block, None) for block in _slices(rows, ROWS))
            return
        offsets, first = np.array([0, rows]) if offsets is None else offsets, 0
        while first < len(offsets) - 1:
            last = max(int(np.searchsorted(offsets, offsets[first] + ROWS, side="right")) - 1, first + 1)
            yield slice(offsets[first], offsets[last]), offsets[first : last + 1] - offsets[first]
            first = last

    def scores(self, features: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the (n,) float64 scores for (n, d) features: the means of the members' scores.

        The score of a member is its output if K = 1. Otherwise it is sum_k sig(o_k), the score of the loss `ordinal`,
        where sig is the logistic function. offsets: as in `outputs`.
        """
        outputs, (members, count) = self.outputs(features, offsets).astype(np.float64), self.shape
        if members == count == 1:
            return outputs[:, 0]
        if count > 1:
            outputs = 0.5 + 0.5 * np.tanh(0.5 * outputs)
        return (outputs / members).sum(axis=1)

    def tensors(self) -> tuple[dict[str, np.ndarray], list]:
        """Return all arrays by their names in files, and the description of the steps for JSON."""
        arrays, description = stored(self.steps)
        limit = {} if self.log_limit is None else {"log_limit": np.array([self.log_limit])}
        return arrays | {"mean": self.mean, "scale": self.scale} | limit, description

    def save(self, path: Path) -> None:
        """Write the net to a safetensors file."""
        from safetensors.numpy import save

        tensors, steps = self.tensors()
        # All metadata are under one key, because safetensors writes several keys in a random order.
        metadata = {"steps": json.dumps({"members": self.shape[0], "steps": steps})}
        with atomic(path) as partial:
            partial.write_bytes(save(tensors, metadata=metadata))


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
    for rows in _slices(len(features), SUMMED):
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


def _slices(rows: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, rows, size))
