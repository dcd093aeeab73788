"""The steps of a trained net as NumPy arrays and formulas. A scorer that consists of these steps needs no other export.

A step maps a (n, tokens, width) array of n documents to another one. The features of a document are tokens of width 1.
Except for DocumentAttention, the result for a document depends only on its own values. Arrays of steps are float32, or
all of them are float64.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from gradrank.training.nets.layer_functions import affine, attend, attend_within, layer_norm, linear_per_token, selu

SINE = tuple(float((-1) ** k * (2 * np.pi) ** (2 * k + 1) / np.prod(np.arange(1.0, 2 * k + 2))) for k in range(7))
ActivationName = Literal["relu", "tanh", "selu", "reglu"]
Shape = tuple[int, int]


@dataclass(frozen=True)
class Step(ABC):
    """A step, whose fields are arrays, numbers, names and inner steps."""

    kinds: ClassVar[dict[str, type["Step"]]] = {}
    attends_to_documents: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        Step.kinds[cls.__name__] = cls

    @abstractmethod
    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the result for (n, tokens, width) values x of queries with the (q+1,) offsets."""

    def shape_after(self, shape: Shape) -> Shape:
        """Return the numbers of tokens and columns of the result for an input with `shape`.

        Raises ValueError if the step cannot process its input. Compiled functions do not check their arguments.
        """
        return shape

    def inner(self) -> list["Steps"]:
        """Return the sequences of steps within this step."""
        return [value for field in fields(self) if isinstance(value := getattr(self, field.name), tuple)]

    def expect(self, is_valid: bool) -> None:
        """Raise ValueError if a condition on the input is not met."""
        if not is_valid:
            raise ValueError(f"a step {type(self).__name__} does not fit its input")

    def broadcast(self, one: Shape, two: tuple[int, ...]) -> Shape:
        """Return the shape of an operation per element, where lengths of 1 are repeated."""
        self.expect(len(two) == 2)
        pairs = list(zip(one, two, strict=True))
        self.expect(all(a == b or 1 in (a, b) for a, b in pairs))
        return max(pairs[0]), max(pairs[1])


Steps = tuple[Step, ...]


def run(steps: Steps, x: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
    """Return the result of the steps, one after another.

    offsets: (q+1,) offsets of the queries. If None, all documents belong to one query.
    """
    offsets = np.array([0, len(x)]) if offsets is None else offsets
    for step in steps:
        x = step(x, offsets)
    return x


def shape_after(steps: Steps, shape: Shape) -> Shape:
    """Return the numbers of tokens and columns of the result of steps, for an input with `shape`.

    Raises ValueError if a step cannot process its input.
    """
    for step in steps:
        shape = step.shape_after(shape)
    return shape


def attends_to_documents(steps: Steps) -> bool:
    """Return True if the result for a document depends on the other documents of its query."""
    return any(step.attends_to_documents or any(map(attends_to_documents, step.inner())) for step in steps)


@dataclass(frozen=True)
class Affine(Step):
    """The sums b + x W, each of which begins with the bias. weights: (width, outputs). biases: (outputs,)."""

    weights: np.ndarray
    biases: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return affine(x.reshape(-1, x.shape[2]), self.weights, self.biases).reshape(*x.shape[:2], len(self.biases))

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(self.biases.ndim == 1 and self.weights.shape == (shape[1], len(self.biases)))
        return shape[0], len(self.biases)


@dataclass(frozen=True)
class Linear(Step):
    """The products x W. weights: (width, outputs) for all tokens, or (tokens, width, outputs), one map per token."""

    weights: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        if self.weights.ndim == 3:
            return linear_per_token(x, self.weights)
        return Affine(self.weights, np.zeros(self.weights.shape[1], self.weights.dtype))(x, offsets)

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(self.weights.ndim in (2, 3) and self.weights.shape[:-1] in (shape[1:], shape))
        return shape[0], self.weights.shape[-1]


@dataclass(frozen=True)
class Scale(Step):
    """The products of x and `weights` per element. Arrays with one token or of width 1 are repeated.

    weights: (tokens, width).
    """

    weights: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return x * self.weights

    def shape_after(self, shape: Shape) -> Shape:
        return self.broadcast(shape, self.weights.shape)


@dataclass(frozen=True)
class Shift(Step):
    """The sums of x and `biases` per element. Arrays with one token or of width 1 are repeated.

    biases: (tokens, width).
    """

    biases: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return x + self.biases

    def shape_after(self, shape: Shape) -> Shape:
        return self.broadcast(shape, self.biases.shape)


@dataclass(frozen=True)
class Clip(Step):
    """The values of x, clipped to [low, high]. low, high: (tokens, width)."""

    low: np.ndarray
    high: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(x, self.low), self.high)

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(self.low.shape == self.high.shape)
        return self.broadcast(shape, self.low.shape)


@dataclass(frozen=True)
class SmoothClip(Step):
    """x / sqrt(1 + (x / limit)^2), whose values are between -limit and limit (Holzmüller et al. 2024)."""

    limit: float

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        exact = x.astype(np.float64)
        return (exact / np.sqrt(1.0 + np.square(exact / self.limit))).astype(np.float32)

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(isinstance(self.limit, float) and math.isfinite(self.limit) and self.limit > 0)
        return shape


@dataclass(frozen=True)
class Cosine(Step):
    """cos(2 pi x), computed by `cosine_of_turns`."""

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return cosine_of_turns(x)


@dataclass(frozen=True)
class Activation(Step):
    """An activation per element. `reglu` is a relu(b) for the first half a and the second half b of each token."""

    name: ActivationName

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        match self.name:
            case "relu":
                return np.maximum(x, np.float32(0.0))
            case "tanh":
                return np.tanh(x)
            case "selu":
                return selu(x.reshape(-1)).reshape(x.shape)
            case "reglu":
                half = x.shape[2] // 2
                return x[..., :half] * np.maximum(x[..., half:], np.float32(0.0))

    def shape_after(self, shape: Shape) -> Shape:
        tokens, width = shape
        self.expect(self.name in get_args(ActivationName) and (self.name != "reglu" or width % 2 == 0))
        return (tokens, width // 2) if self.name == "reglu" else shape


@dataclass(frozen=True)
class LayerNorm(Step):
    """Each token, normalised to mean 0 and variance 1, times `gains`, plus `shifts`. gains, shifts: (width,)."""

    gains: np.ndarray
    shifts: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return layer_norm(x.reshape(-1, x.shape[2]), self.gains, self.shifts).reshape(x.shape)

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(self.gains.shape == self.shifts.shape == shape[1:])
        return shape


@dataclass(frozen=True)
class Prepend(Step):
    """The tokens of x after one constant token. token: (width,)."""

    token: np.ndarray

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.concatenate([np.broadcast_to(self.token, (len(x), 1, x.shape[2])), x], axis=1)

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(self.token.shape == shape[1:])
        return shape[0] + 1, shape[1]


@dataclass(frozen=True)
class Flatten(Step):
    """One token with the values of all tokens, in their order."""

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return x.reshape(len(x), 1, x.shape[1] * x.shape[2])

    def shape_after(self, shape: Shape) -> Shape:
        return 1, shape[0] * shape[1]


@dataclass(frozen=True)
class First(Step):
    """The first token."""

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return x[:, :1]

    def shape_after(self, shape: Shape) -> Shape:
        return 1, shape[1]


@dataclass(frozen=True)
class Attention(Step):
    """Softmax attention within each document, from the tokens of `query` to the tokens of `key` and `value`.

    query, key, value: the steps that compute the (n, tokens, width) arguments from x. heads: number of heads; each uses
    its own width / heads columns.
    """

    query: Steps
    key: Steps
    value: Steps
    heads: int

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        query, key, value = (run(steps, x, offsets) for steps in (self.query, self.key, self.value))
        return attend_within(query, key, value, self.heads)

    def shape_after(self, shape: Shape) -> Shape:
        query, key, value = (shape_after(steps, shape) for steps in (self.query, self.key, self.value))
        is_whole = type(self.heads) is int and self.heads > 0 and query[1] % self.heads == 0
        self.expect(is_whole and key == value and query[1] == key[1])
        return query


@dataclass(frozen=True)
class DocumentAttention(Attention):
    """Softmax attention from each document to all documents of its query, computed in float64.

    A document is one token. The fields are those of Attention.
    """

    attends_to_documents: ClassVar[bool] = True

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        arguments = (run(steps, x, offsets)[:, 0] for steps in (self.query, self.key, self.value))
        return attend(*arguments, offsets, self.heads)[:, None]

    def shape_after(self, shape: Shape) -> Shape:
        self.expect(shape[0] == 1)
        return super().shape_after(shape)


@dataclass(frozen=True)
class Sum(Step):
    """The sum of the results of two sequences of steps for the same x. An empty sequence is x."""

    first: Steps
    second: Steps

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return run(self.first, x, offsets) + run(self.second, x, offsets)

    def shape_after(self, shape: Shape) -> Shape:
        return self.broadcast(shape_after(self.first, shape), shape_after(self.second, shape))


@dataclass(frozen=True)
class Gate(Step):
    """h a + h, where h and a are the results of the steps `values` and `gates` for the same x."""

    values: Steps
    gates: Steps

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        values = run(self.values, x, offsets)
        return values * run(self.gates, x, offsets) + values

    def shape_after(self, shape: Shape) -> Shape:
        return self.broadcast(shape_after(self.values, shape), shape_after(self.gates, shape))


@dataclass(frozen=True)
class Concat(Step):
    """The results of two sequences of steps for the same x, side by side in each token. An empty sequence is x."""

    first: Steps
    second: Steps

    def __call__(self, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.concatenate([run(self.first, x, offsets), run(self.second, x, offsets)], axis=2)

    def shape_after(self, shape: Shape) -> Shape:
        one, two = shape_after(self.first, shape), shape_after(self.second, shape)
        self.expect(one[0] == two[0])
        return one[0], one[1] + two[1]


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
