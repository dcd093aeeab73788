"""Neural nets as ONNX nodes, in the type of their weights. Norms are computed in float64.

Attention is computed in float32, because ONNX Runtime before 1.25 fuses transpositions with products, which it can
compute only in float32.
"""

from collections.abc import Mapping

import numpy as np

from gradrank.export.onnx_graph.graph import Graph
from gradrank.export.onnx_graph.steps import layer_norm, rows_after_steps
from gradrank.training.scoring_form import AttentionForm, NetForm, StepsForm

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh"}  # key: name in Net. value: operator


def standardised(graph: Graph, x: str, mean: np.ndarray, scale: np.ndarray, log_limit: float | None = None) -> str:
    """Return the (n, d) float32 inputs of a net or a kernel for (n, d) float32 features; see `Net`."""
    x = graph.cast(x, np.float64)
    if log_limit is not None:
        magnitude = graph.node("Log", graph.node("Add", graph.node("Abs", x), graph.constant(1.0)))
        signed = graph.node("Mul", graph.node("Sign", x), magnitude)
        clipped = graph.node("Clip", signed, graph.constant(-log_limit, float), graph.constant(log_limit, float))
        x = graph.cast(graph.cast(clipped, np.float32), np.float64)
    centred = graph.node("Sub", x, graph.constant(mean, np.float64))
    return graph.cast(graph.node("Div", centred, graph.constant(scale, np.float64)), np.float32)


def net_outputs(graph: Graph, x: str, form: NetForm) -> str:
    """Return the (n, K) outputs for (n, d) float32 features, in the type of the weights."""
    net = form.net
    x = standardised(graph, x, net.mean, net.scale, net.log_limit)
    x = graph.cast(rows_after_steps(graph, x, net.input_steps), net.weights[0].dtype)
    for layer, (weights, biases) in enumerate(zip(net.weights, net.biases, strict=True)):
        if layer:
            if net.gains:
                x = layer_norm(graph, x, net.gains[layer - 1], net.shifts[layer - 1])
            x = graph.node(ACTIVATIONS[net.activation], x)
        x = _affine(graph, x, weights, biases)
    return x


def attention_outputs(graph: Graph, features: str, form: AttentionForm) -> str:
    """Return the (n, K) float32 outputs for the (n, d) float32 features of all documents of one query."""
    net, arrays = form.net, form.net.arrays
    x = standardised(graph, features, net.mean, net.scale, net.log_limit)
    x = _layer(graph, rows_after_steps(graph, x, net.input_steps), arrays, "embed")
    for name in (f"blocks.{i}" for i in range(sum(key.endswith("joined.biases") for key in arrays))):
        inner = _norm(graph, x, arrays, f"{name}.norm_before")
        parts = [_layer(graph, inner, arrays, f"{name}.{part}") for part in ("query", "key", "value")]
        x = graph.node("Add", x, _layer(graph, _attend(graph, parts, net.heads), arrays, f"{name}.joined"))
        inner = _layer(graph, _norm(graph, x, arrays, f"{name}.norm_between"), arrays, f"{name}.inner")
        x = graph.node("Add", x, _layer(graph, graph.node("Relu", inner), arrays, f"{name}.outer"))
    x = _norm(graph, x, arrays, "norm")
    if net.net is not None:
        hidden = net_outputs(graph, features, NetForm(net.net))
        gated = graph.node("Mul", hidden, _layer(graph, x, arrays, "context"))
        x = graph.node("Relu", graph.node("Add", gated, hidden))
    return _layer(graph, x, arrays, "output")


def steps_outputs(graph: Graph, x: str, form: StepsForm) -> str:
    """Return the (n, K) float32 outputs of all members for (n, d) float32 features."""
    net = form.net
    return rows_after_steps(graph, standardised(graph, x, net.mean, net.scale, net.log_limit), net.steps)


def _attend(graph: Graph, parts: list[str], heads: int) -> str:
    """Return the (n, width) outputs of attention; see gradrank.training.nets.attention_net.attend.

    parts: the (n, width) query, key and value.
    """
    shape = graph.constant([0, heads, -1], np.int64)  # 0 keeps the number of documents
    query, key, value = (graph.node("Reshape", part, shape) for part in parts)
    query, value = (graph.node("Transpose", part, perm=[1, 0, 2]) for part in (query, value))
    products = graph.node("MatMul", query, graph.node("Transpose", key, perm=[1, 2, 0]))
    head_width = graph.node("Shape", query, start=2)
    root = graph.node("Sqrt", graph.cast(head_width, np.float32))
    weights = graph.node("Softmax", graph.node("Div", products, root), axis=2)
    joined = graph.node("Transpose", graph.node("MatMul", weights, value), perm=[1, 0, 2])
    return graph.node("Reshape", joined, graph.constant([0, -1], np.int64))


def _layer(graph: Graph, x: str, arrays: Mapping[str, np.ndarray], name: str) -> str:
    return _affine(graph, x, arrays[f"{name}.weights"], arrays[f"{name}.biases"])


def _norm(graph: Graph, x: str, arrays: Mapping[str, np.ndarray], name: str) -> str:
    return layer_norm(graph, x, arrays[f"{name}.weights"], arrays[f"{name}.biases"])


def _affine(graph: Graph, x: str, weights: np.ndarray, biases: np.ndarray) -> str:
    return graph.node("Gemm", x, graph.constant(weights), graph.constant(biases, weights.dtype))
