"""The steps of a trained net as NumPy arrays and formulas. A scorer that consists of these steps needs no other export.

A step maps a (n, tokens, width) float32 array to another one. The n documents are processed separately: the result for
a document depends only on its own values. The features of a document are tokens of width 1.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from gradrank.training.nets.layer_functions import affine, attend_within, layer_norm, linear_per_token, selu

SINE = tuple(float((-1) ** k * (2 * np.pi) ** (2 * k + 1) / np.prod(np.arange(1.0, 2 * k + 2))) for k in range(7))
ActivationName = Literal["relu", "selu", "reglu"]


@dataclass(frozen=True)
class Linear:
    """The products x W. weights: (width, outputs) for all tokens, or (tokens, width, outputs), one map per token."""

    weights: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if self.weights.ndim == 3:
            return linear_per_token(x, self.weights)
        none = np.zeros(self.weights.shape[1], np.float32)
        return affine(x.reshape(-1, x.shape[2]), self.weights, none).reshape(*x.shape[:2], self.weights.shape[1])


@dataclass(frozen=True)
class Scale:
    """The products of x and `weights` per element. Arrays with one token or of width 1 are repeated.

    weights: (tokens, width).
    """

    weights: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x * self.weights


@dataclass(frozen=True)
class Shift:
    """The sums of x and `biases` per element. Arrays with one token or of width 1 are repeated.

    biases: (tokens, width).
    """

    biases: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x + self.biases


@dataclass(frozen=True)
class Clip:
    """The values of x, clipped to [low, high]. low, high: (tokens, width)."""

    low: np.ndarray
    high: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(x, self.low), self.high)


@dataclass(frozen=True)
class SmoothClip:
    """x / sqrt(1 + (x / limit)^2), whose values are between -limit and limit (Holzmüller et al. 2024)."""

    limit: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        exact = x.astype(np.float64)
        return (exact / np.sqrt(1.0 + np.square(exact / self.limit))).astype(np.float32)


@dataclass(frozen=True)
class Cosine:
    """cos(2 pi x), computed by `cosine_of_turns`."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return cosine_of_turns(x)


@dataclass(frozen=True)
class Activation:
    """An activation per element. `reglu` is a relu(b) for the first half a and the second half b of each token."""

    name: ActivationName

    def __call__(self, x: np.ndarray) -> np.ndarray:
        match self.name:
            case "relu":
                return np.maximum(x, np.float32(0.0))
            case "selu":
                return selu(x.reshape(-1)).reshape(x.shape)
            case "reglu":
                half = x.shape[2] // 2
                return x[..., :half] * np.maximum(x[..., half:], np.float32(0.0))


@dataclass(frozen=True)
class LayerNorm:
    """Each token, normalised to mean 0 and variance 1, times `gains`, plus `shifts`. gains, shifts: (width,)."""

    gains: np.ndarray
    shifts: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return layer_norm(x.reshape(-1, x.shape[2]), self.gains, self.shifts).reshape(x.shape)


@dataclass(frozen=True)
class Prepend:
    """The tokens of x after one constant token. token: (width,)."""

    token: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.broadcast_to(self.token, (len(x), 1, x.shape[2])), x], axis=1)


@dataclass(frozen=True)
class Flatten:
    """One token with the values of all tokens, in their order."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(len(x), 1, x.shape[1] * x.shape[2])


@dataclass(frozen=True)
class First:
    """The first token."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x[:, :1]


@dataclass(frozen=True)
class Attention:
    """Softmax attention within each document, from the tokens of `query` to the tokens of `key` and `value`.

    query, key, value: the steps that compute the (n, tokens, width) arguments from x. heads: number of heads; each uses
    its own width / heads columns.
    """

    query: "Steps"
    key: "Steps"
    value: "Steps"
    heads: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return attend_within(run(self.query, x), run(self.key, x), run(self.value, x), self.heads)


@dataclass(frozen=True)
class Sum:
    """The sum of the results of two sequences of steps for the same x. An empty sequence is x."""

    first: "Steps"
    second: "Steps"

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return run(self.first, x) + run(self.second, x)


@dataclass(frozen=True)
class Concat:
    """The results of two sequences of steps for the same x, side by side in each token. An empty sequence is x."""

    first: "Steps"
    second: "Steps"

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([run(self.first, x), run(self.second, x)], axis=2)


Step = (
    Linear
    | Scale
    | Shift
    | Clip
    | SmoothClip
    | Cosine
    | Activation
    | LayerNorm
    | Prepend
    | Flatten
    | First
    | Attention
    | Sum
    | Concat
)
Steps = tuple[Step, ...]
KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Linear, Scale, Shift, Clip, SmoothClip, Cosine, Activation),
        *(LayerNorm, Prepend, Flatten, First, Attention, Sum, Concat),
    )
}


def run(steps: Steps, x: np.ndarray) -> np.ndarray:
    """Return the result of the steps, one after another."""
    for step in steps:
        x = step(x)
    return x


def run_on_features(steps: Steps, features: np.ndarray) -> np.ndarray:
    """Return the result of the steps for (n, d) features as (n, outputs) rows, with the values of all tokens."""
    if not steps:
        return features
    x = run(steps, features[:, :, None])
    return x.reshape(len(x), x.shape[1] * x.shape[2])


def cosine_of_turns(x: Any) -> Any:
    """Return cos(2 pi x) for a float32 array of NumPy or torch.

    It consists of additions and multiplications, so that all processors and both libraries give equal bytes. The error
    is about 1e-7. After the reduction to one turn, the cosine is sin(2 pi y) for a y in [-1/4, 1/4], computed by its
    Taylor polynomial of degree 13.
    """
    y = 0.25 - abs(x - x.round())
    square = y * y
    total = square * SINE[-1] + SINE[-2]
    for coefficient in SINE[-3::-1]:
        total = total * square + coefficient
    return total * y


def stored(steps: Steps, prefix: str = "") -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Return the arrays of the steps, with `prefix` before their names, and a description for JSON.

    The description of a step has its `kind`, its numbers and strings, and the descriptions of inner steps. The arrays
    of step i are named "i.name", and those of an inner step j "i.name.j.name".
    """
    arrays, description = {}, []
    for number, step in enumerate(steps):
        entry: dict[str, Any] = {"kind": type(step).__name__}
        for field in fields(step):
            value, name = getattr(step, field.name), f"{prefix}{number}.{field.name}"
            if isinstance(value, np.ndarray):
                arrays[name] = np.ascontiguousarray(value)
            elif isinstance(value, tuple):
                inner, entry[field.name] = stored(value, f"{name}.")
                arrays |= inner
            else:
                entry[field.name] = value
        description.append(entry)
    return arrays, description
