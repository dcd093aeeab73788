"""Reading of nets from safetensors files. Compiled functions check no bounds, so all shapes are checked before.

Steps from a file are checked with the shapes of their results before they compute anything.
"""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from pydantic import Field

from gradrank.training.model_files import (
    Content,
    check_arrays,
    check_types,
    checked,
    damaged,
    parse_content,
    read_arrays,
)
from gradrank.training.nets.attention_net import NET_PREFIX, AttentionNet
from gradrank.training.nets.net import INPUTS, Net
from gradrank.training.nets.step_net import StepNet
from gradrank.training.nets.steps import (
    KINDS,
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


Shapes = dict[str, tuple[int | str, ...]]
Arrays = dict[str, np.ndarray]
Descriptions = list[dict[str, Any]]
BLOCK: Shapes = {
    **{f"norm_{place}.{part}": ("width",) for place in ("before", "between") for part in ("weights", "biases")},
    **{f"{layer}.weights": ("width", "width") for layer in ("query", "key", "value", "joined")},
    **{f"{layer}.biases": ("width",) for layer in ("query", "key", "value", "joined")},
}
DEEPEST = 20  # levels of steps within steps


class NetContent(Content):
    activation: Literal["relu", "tanh"]
    input_steps: Descriptions = Field(default_factory=list)


class AttentionContent(Content):
    heads: int = Field(ge=1)
    input_steps: Descriptions = Field(default_factory=list)
    activation: Literal["relu", "tanh"] | None = None
    net_input_steps: Descriptions = Field(default_factory=list)


class StepsContent(Content):
    members: int = Field(ge=1)
    steps: Descriptions = Field(min_length=1)


def load_net(path: Path) -> Net | AttentionNet | StepNet:
    """Return the net that was saved to `path`. Raises GradrankError if the file is not a complete net."""
    arrays, metadata = read_arrays(path)
    try:
        if "steps" in metadata:
            return _step_net(path, arrays, parse_content(path, metadata["steps"], StepsContent, "steps."))
        if "shape" in metadata:
            return _attention_net(path, arrays, parse_content(path, metadata["shape"], AttentionContent, "shape."))
        if "net" in metadata:
            return _net(path, arrays, parse_content(path, metadata["net"], NetContent, "net."))
        return _net(path, arrays, checked(path, metadata, NetContent))
    except ValueError as error:
        raise damaged(path, str(error)) from None


def load_plain_net(path: Path) -> Net:
    """Return the feed-forward net that was saved to `path`. Raises GradrankError for any other file."""
    net = load_net(path)
    if not isinstance(net, Net):
        raise damaged(path, f"expected a feed-forward net, found {type(net).__name__}")
    return net


def _net(path: Path, arrays: Arrays, content: NetContent) -> Net:
    layers = sum(name.startswith("weights.") for name in arrays)
    steps = _steps(arrays, content.input_steps, INPUTS)
    shapes: Shapes = {"mean": ("features",), "scale": ("features",)}
    shapes |= {f"weights.{i}": (f"width {i}", f"width {i + 1}") for i in range(layers)}
    shapes |= {f"biases.{i}": (f"width {i + 1}",) for i in range(layers)}
    has_norms = "gains.0" in arrays
    norms = [f"{name}.{i}" for name in ("gains", "shifts") for i in range(layers - 1) if has_norms]
    shapes |= {name: (f"width {int(name.rpartition('.')[2]) + 1}",) for name in norms}
    lengths = check_arrays(path, arrays, shapes | _limit(arrays))
    if not layers:
        raise ValueError("a net without layers")
    _check_inputs(steps, lengths["features"], lengths["width 0"])
    kind = arrays["weights.0"].dtype
    singles = [name for name in arrays if name.startswith(("weights", "biases", "gains", "shifts"))]
    check_types(path, arrays, {name: np.float32 if name in norms else kind for name in singles})
    lists = [[arrays[f"{name}.{i}"] for i in range(layers)] for name in ("weights", "biases")]
    lists += [[arrays[f"{name}.{i}"] for i in range(layers - 1)] if has_norms else [] for name in ("gains", "shifts")]
    weights, biases, gains, shifts = lists
    inputs = arrays["mean"], arrays["scale"], content.activation, _limit_of(arrays)
    return Net(weights, biases, *inputs, gains, shifts, steps)


def _attention_net(path: Path, arrays: Arrays, content: AttentionContent) -> AttentionNet:
    own = {name.removeprefix(NET_PREFIX): arrays.pop(name) for name in [*arrays] if name.startswith(NET_PREFIX)}
    if bool(own) != (content.activation is not None):
        raise ValueError(f"arrays and activation of the part {NET_PREFIX} do not agree")
    net = None
    if content.activation is not None:
        description = NetContent(activation=content.activation, input_steps=content.net_input_steps)
        net = _net(path, own, description)
    steps = _steps(arrays, content.input_steps, INPUTS)
    shapes: Shapes = {"mean": ("features",), "scale": ("features",)}
    shapes |= {"embed.weights": ("inputs", "width"), "embed.biases": ("width",)}
    for i in range(sum(name.endswith("joined.biases") for name in arrays)):
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in BLOCK.items()}
        shapes |= {f"blocks.{i}.inner.weights": ("width", f"inner {i}"), f"blocks.{i}.inner.biases": (f"inner {i}",)}
        shapes |= {f"blocks.{i}.outer.weights": (f"inner {i}", "width"), f"blocks.{i}.outer.biases": ("width",)}
    shapes |= {"norm.weights": ("width",), "norm.biases": ("width",)}
    last = "width"
    if net is not None:
        last = "last"
        shapes |= {"context.weights": ("width", last), "context.biases": (last,)}
    shapes |= {"output.weights": (last, "outputs"), "output.biases": ("outputs",)}
    lengths = check_arrays(path, arrays, shapes | _limit(arrays))
    _check_inputs(steps, lengths["features"], lengths["inputs"])
    limit, inputs = _limit_of(arrays), {name: arrays[name] for name in ("mean", "scale")}
    layers = {name: array for name, array in arrays.items() if name not in ("mean", "scale", "log_limit")}
    check_types(path, arrays, dict.fromkeys(layers, np.float32))
    if lengths["width"] % content.heads:
        raise ValueError(f"{content.heads} heads do not divide the width {lengths['width']}")
    if net is not None and (len(net.mean), len(net.biases[-1]), net.log_limit) != (
        lengths["features"],
        lengths["last"],
        limit,
    ):
        raise ValueError(f"the part {NET_PREFIX} does not fit the other layers")
    return AttentionNet(layers, inputs["mean"], inputs["scale"], limit, content.heads, net, steps)


def _step_net(path: Path, arrays: Arrays, content: StepsContent) -> StepNet:
    steps = _steps(arrays, content.steps, "")
    lengths = check_arrays(path, arrays, {"mean": ("features",), "scale": ("features",)} | _limit(arrays))
    check_types(path, arrays, {})
    tokens, _ = shape_after(steps, (lengths["features"], 1))
    if tokens != content.members:
        raise ValueError(f"the steps have {tokens} members, but the description has {content.members}")
    return StepNet(steps, arrays["mean"], arrays["scale"], _limit_of(arrays), content.members)


def _check_inputs(steps: Steps, features: int, inputs: int) -> None:
    tokens, width = shape_after(steps, (features, 1))
    if tokens * width != inputs:
        raise ValueError(f"{features} features are {tokens * width} inputs of the first layer, which has {inputs}")


def _limit(arrays: Arrays) -> Shapes:
    return {"log_limit": (1,)} if "log_limit" in arrays else {}


def _limit_of(arrays: Arrays) -> float | None:
    return float(arrays["log_limit"][0]) if "log_limit" in arrays else None


def _steps(arrays: Arrays, description: Descriptions, prefix: str, level: int = 0) -> Steps:
    """Return the described steps, and remove their arrays from `arrays`. This is the inverse of `steps.stored`.

    Raises ValueError if the description or an array is invalid.
    """
    if level > DEEPEST:
        raise ValueError("the steps are nested too deeply")
    steps = []
    for number, entry in enumerate(description):
        kind = KINDS.get(entry.get("kind", "")) if isinstance(entry.get("kind"), str) else None
        if kind is None:
            raise ValueError(f"step {prefix}{number} has no known kind")
        values, names = {}, [field.name for field in fields(kind)]
        for field in names:
            name = f"{prefix}{number}.{field}"
            if field not in entry:
                values[field] = _array(arrays, name, may_be_infinite=field in ("low", "high"))
            elif isinstance(entry[field], list) and all(isinstance(inner, dict) for inner in entry[field]):
                values[field] = _steps(arrays, entry[field], f"{name}.", level + 1)
            else:
                values[field] = entry[field]
        if unknown := entry.keys() - {"kind", *names}:
            raise ValueError(f"step {prefix}{number} has the unknown keys {', '.join(sorted(unknown))}")
        steps.append(kind(**values))
    return tuple(steps)


def _array(arrays: Arrays, name: str, may_be_infinite: bool) -> np.ndarray:
    if name not in arrays:
        raise ValueError(f"the array {name} is missing")
    array = arrays.pop(name)
    is_valid = ~np.isnan(array) if may_be_infinite else np.isfinite(array)
    if array.dtype != np.float32 or not array.size or not is_valid.all():
        raise ValueError(f"the array {name} must have numbers of float32")
    return array
