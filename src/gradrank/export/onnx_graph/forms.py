"""Scoring forms as ONNX nodes."""

import numpy as np

from gradrank.export.onnx_graph.graph import Graph
from gradrank.export.onnx_graph.nets import attention_outputs, net_outputs, standardised, steps_outputs
from gradrank.export.onnx_graph.trees import trees
from gradrank.training.scoring_form import (
    AttentionForm,
    Combined,
    KernelForm,
    LinearForm,
    NetForm,
    QuadraticForm,
    ScoringForm,
    StepsForm,
    TreesForm,
)


def outputs(graph: Graph, x: str, form: ScoringForm) -> str:
    """Return the (n, K) float64 outputs of a form for (n, d) float32 features. All forms but nets have K = 1."""
    match form:
        case LinearForm():
            weights = graph.constant(np.reshape(form.weights, (-1, 1)), np.float64)
            products = graph.node("MatMul", graph.cast(x, np.float64), weights)
            return graph.node("Add", products, graph.constant(form.intercept, np.float64))
        case QuadraticForm():
            return _quadratic(graph, x, form)
        case TreesForm():
            return trees(graph, x, form)
        case NetForm():
            return graph.cast(net_outputs(graph, x, form), np.float64)
        case AttentionForm():
            return graph.cast(attention_outputs(graph, x, form), np.float64)
        case StepsForm():
            return graph.cast(steps_outputs(graph, x, form), np.float64)
        case KernelForm():
            return _kernel(graph, x, form)
        case Combined():
            return _combined(graph, [outputs(graph, x, part) for part in form.forms], form)


def scores_whole_queries(form: ScoringForm) -> bool:
    """Return True if the score of a document depends on the other documents of the query."""
    if isinstance(form, Combined):
        return any(map(scores_whole_queries, form.forms))
    return isinstance(form, AttentionForm)


def _quadratic(graph: Graph, x: str, form: QuadraticForm) -> str:
    x = graph.node("Mul", graph.cast(x, np.float64), graph.constant(form.unit, np.float64))
    pads = graph.constant([0, 1, 0, 0], np.int64)
    z = graph.node("Pad", x, pads, graph.constant(1.0))  # a 1 before each row
    weights = graph.constant(form.weights.T, np.float64)
    products = graph.node("MatMul", z, weights)
    if len(form.weights) == 1:
        return products
    return graph.node("ReduceSum", graph.node("Mul", products, z), graph.constant([1], np.int64), keepdims=1)


def _kernel(graph: Graph, x: str, form: KernelForm) -> str:
    x = graph.cast(standardised(graph, x, form.mean, form.scale), np.float64)
    landmarks = np.asarray(form.landmarks, np.float64)
    gamma = form.kernel.gamma
    if form.kernel.name == "rbf":
        products = graph.node("MatMul", x, graph.constant(2.0 * gamma * landmarks.T))
        squares = graph.node("ReduceSum", graph.node("Mul", x, x), graph.constant([1], np.int64), keepdims=1)
        norms = graph.node("Mul", squares, graph.constant(-gamma, np.float64))
        norms = graph.node("Add", norms, graph.constant(-gamma * np.square(landmarks).sum(axis=1)))
        values = graph.node("Exp", graph.node("Add", products, norms))
    else:
        products = graph.node("MatMul", x, graph.constant(gamma * landmarks.T))
        argument = graph.node("Add", products, graph.constant(1.0))
        values = graph.node("Pow", argument, graph.constant(form.kernel.degree, np.float64))
    return graph.node("MatMul", values, graph.constant(np.reshape(form.coefficients, (-1, 1)), np.float64))


def _combined(graph: Graph, parts: list[str], form: Combined) -> str:
    values = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    weights = np.asarray(form.weights, np.float64)
    if form.rule == "argmax":
        largest = graph.node("ArgMax", values, axis=1, keepdims=1)  # the first one if several are largest
        return graph.node("Gather", graph.constant(weights), largest)
    if form.rule == "logistic":
        values = graph.node("Sigmoid", values)
    elif form.rule == "softmax":
        values = graph.node("Softmax", values, axis=1)
    return graph.node("MatMul", values, graph.constant(weights.reshape(-1, 1)))
