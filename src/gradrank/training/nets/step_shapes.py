"""Shapes of the results of steps. Steps from a file are checked with them before they compute anything."""

import math
from typing import Any, get_args

import numpy as np

from gradrank.training.nets.steps import (
    Activation,
    ActivationName,
    Attention,
    Clip,
    Concat,
    Cosine,
    First,
    Flatten,
    LayerNorm,
    Linear,
    Prepend,
    Scale,
    Shift,
    SmoothClip,
    Step,
    Steps,
    Sum,
)

Shape = tuple[int, int]


def shape_after(steps: Steps, shape: Shape) -> Shape:
    """Return the numbers of tokens and columns of the result of steps, for an input with `shape`.

    Raises ValueError if a step cannot process its input.
    """
    for step in steps:
        shape = _after(step, shape)
    return shape


def _after(step: Step, shape: Shape) -> Shape:
    tokens, width = shape
    match step:
        case Linear(weights):
            _expect(step, weights.ndim in (2, 3) and weights.shape[:-1] in ((width,), (tokens, width)))
            return tokens, weights.shape[-1]
        case Scale(array) | Shift(array):
            return _broadcast(step, shape, array)
        case Clip(low, high):
            _expect(step, low.shape == high.shape)
            return _broadcast(step, shape, low)
        case SmoothClip(limit):
            _expect(step, isinstance(limit, float) and math.isfinite(limit) and limit > 0)
            return shape
        case Cosine():
            return shape
        case Activation(name):
            _expect(step, name in get_args(ActivationName) and (name != "reglu" or width % 2 == 0))
            return (tokens, width // 2) if name == "reglu" else shape
        case LayerNorm(gains, shifts):
            _expect(step, gains.shape == shifts.shape == (width,))
            return shape
        case Prepend(token):
            _expect(step, token.shape == (width,))
            return tokens + 1, width
        case Flatten():
            return 1, tokens * width
        case First():
            return 1, width
        case Attention(query, key, value, heads):
            asked, keys, values = (_inner(step, steps, shape) for steps in (query, key, value))
            is_whole = type(heads) is int and heads > 0 and asked[1] % heads == 0
            _expect(step, is_whole and keys == values and asked[1] == keys[1])
            return asked
        case Sum(first, second):
            one, two = (_inner(step, steps, shape) for steps in (first, second))
            return _expect_shape(step, one, two)
        case Concat(first, second):
            one, two = (_inner(step, steps, shape) for steps in (first, second))
            _expect(step, one[0] == two[0])
            return one[0], one[1] + two[1]


def _inner(step: Step, steps: Any, shape: Shape) -> Shape:
    _expect(step, isinstance(steps, tuple))
    return shape_after(steps, shape)


def _broadcast(step: Step, shape: Shape, array: np.ndarray) -> Shape:
    """Return the shape of an operation per element, where lengths of 1 are repeated."""
    _expect(step, array.ndim == 2)
    pairs = list(zip(shape, array.shape, strict=True))
    _expect(step, all(one == two or 1 in (one, two) for one, two in pairs))
    return max(pairs[0]), max(pairs[1])


def _expect_shape(step: Step, one: Shape, two: Shape) -> Shape:
    pairs = list(zip(one, two, strict=True))
    _expect(step, all(a == b or 1 in (a, b) for a, b in pairs))
    return max(pairs[0]), max(pairs[1])


def _expect(step: Step, is_valid: bool) -> None:
    if not is_valid:
        raise ValueError(f"a step {type(step).__name__} does not fit its input")
