"""The steps of a net (gradrank.training.nets.steps) as ONNX nodes on (n, tokens, width) float32 values."""

import numpy as np

from gradrank.export.onnx_graph.graph import Graph
from gradrank.training.nets.steps import (
    Activation,
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

EPSILON = 1e-5  # of layer norms


def rows_after_steps(graph: Graph, x: str, steps: Steps) -> str:
    """Return the (n, outputs) float32 rows after the steps for (n, d) float32 features, with the values of all tokens.

    Without steps, return the features.
    """
    if not steps:
        return x
    x = run(graph, graph.node("Unsqueeze", x, graph.constant([2], np.int64)), steps)
    return graph.node("Flatten", x, axis=1)


def run(graph: Graph, x: str, steps: Steps) -> str:
    """Return the (n, tokens, width) float32 result of the steps, one after another."""
    for step in steps:
        x = _step(graph, x, step)
    return x


def _step(graph: Graph, x: str, step: Step) -> str:
    match step:
        case Linear():
            return _linear(graph, x, step.weights)
        case Scale():
            return graph.node("Mul", x, graph.constant(step.weights))
        case Shift():
            return graph.node("Add", x, graph.constant(step.biases))
        case Clip():
            return graph.node("Min", graph.node("Max", x, graph.constant(step.low)), graph.constant(step.high))
        case SmoothClip():
            return _smooth_clip(graph, x, step.limit)
        case Cosine():
            turn = graph.node("Sub", x, graph.node("Round", x))
            return graph.node("Cos", graph.node("Mul", turn, graph.constant(2.0 * np.pi, np.float32)))
        case Activation(name="relu"):
            return graph.node("Relu", x)
        case Activation(name="selu"):
            return graph.node("Selu", x)
        case Activation():
            left, right = graph.halves(x)
            return graph.node("Mul", left, graph.node("Relu", right))
        case LayerNorm():
            return layer_norm(graph, x, step.gains, step.shifts)
        case Prepend():
            return _prepend(graph, x, step.token)
        case Flatten():
            return graph.node("Reshape", x, graph.constant([0, 1, -1], np.int64))
        case First():
            return graph.node("Slice", x, *(graph.constant([at], np.int64) for at in (0, 1, 1)))
        case Attention():
            return _attend(graph, x, step)
        case Sum():
            return graph.node("Add", run(graph, x, step.first), run(graph, x, step.second))
        case Concat():
            return graph.node("Concat", run(graph, x, step.first), run(graph, x, step.second), axis=2)


def _linear(graph: Graph, x: str, weights: np.ndarray) -> str:
    if weights.ndim == 2:
        return graph.node("MatMul", x, graph.constant(weights))
    products = graph.node("MatMul", graph.node("Transpose", x, perm=[1, 0, 2]), graph.constant(weights))
    return graph.node("Transpose", products, perm=[1, 0, 2])


def _smooth_clip(graph: Graph, x: str, limit: float) -> str:
    x = graph.cast(x, np.float64)
    ratio = graph.node("Div", x, graph.constant(limit, np.float64))
    root = graph.node("Sqrt", graph.node("Add", graph.node("Mul", ratio, ratio), graph.constant(1.0)))
    return graph.cast(graph.node("Div", x, root), np.float32)


def _prepend(graph: Graph, x: str, token: np.ndarray) -> str:
    shape = graph.node("Concat", graph.node("Shape", x, end=1), graph.constant([1, len(token)], np.int64), axis=0)
    return graph.node("Concat", graph.node("Expand", graph.constant(token), shape), x, axis=1)


def _attend(graph: Graph, x: str, step: Attention) -> str:
    shape = graph.constant([0, 0, step.heads, -1], np.int64)  # 0 keeps a size
    query, key, value = (
        graph.node("Reshape", run(graph, x, part), shape) for part in (step.query, step.key, step.value)
    )
    query, value = (graph.node("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
    products = graph.node("MatMul", query, graph.node("Transpose", key, perm=[0, 2, 3, 1]))
    root = graph.node("Sqrt", graph.cast(graph.node("Shape", query, start=3), np.float32))
    weights = graph.node("Softmax", graph.node("Div", products, root), axis=3)
    joined = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return graph.node("Reshape", joined, graph.constant([0, 0, -1], np.int64))


def layer_norm(graph: Graph, x: str, gains: np.ndarray, shifts: np.ndarray) -> str:
    """Return the layer norm over the last axis, computed in float64 and in the type of the gains."""
    x = graph.cast(x, np.float64)
    axis = graph.constant([-1], np.int64)
    centred = graph.node("Sub", x, graph.node("ReduceMean", x, axis))
    variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), axis)
    deviation = graph.node("Sqrt", graph.node("Add", variance, graph.constant(EPSILON)))
    scaled = graph.node("Mul", graph.node("Div", centred, deviation), graph.constant(gains, np.float64))
    return graph.cast(graph.node("Add", scaled, graph.constant(shifts, np.float64)), gains.dtype)
