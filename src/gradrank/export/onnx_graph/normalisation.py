"""The normalisation of the features of a data set, as ONNX nodes."""

import numpy as np

from gradrank.data.normalisation import LARGEST, Normaliser
from gradrank.export.onnx_graph.graph import Graph


def normalised(graph: Graph, features: str, normaliser: Normaliser | None) -> str:
    """Return the (n, d) float32 features after the normalisation.

    features: (n, d) float32. For the method `query`, the n rows are all documents of one query.
    """
    if normaliser is None:
        return features
    x = graph.cast(features, np.float64)
    is_missing = graph.node("IsNaN", features)
    if normaliser.method == "global":
        assert normaliser.mean is not None
        mean, deviation = (graph.constant(values, np.float64) for values in (normaliser.mean, normaliser.deviation))
    else:
        lowest, highest = (_extreme(graph, x, is_missing, operator) for operator in ("ReduceMin", "ReduceMax"))
        mean, deviation = lowest, graph.node("Sub", highest, lowest)
    zero, one = graph.constant(0.0), graph.constant(1.0)
    varies = graph.node("Greater", deviation, zero)
    ratio = graph.node("Div", graph.node("Sub", x, mean), graph.node("Where", varies, deviation, one))
    is_kept = graph.node("Or", varies, is_missing)  # a missing value stays missing, and other constants become 0
    limits = graph.constant(-LARGEST), graph.constant(LARGEST)
    return graph.cast(graph.node("Clip", graph.node("Where", is_kept, ratio, zero), *limits), np.float32)


def _extreme(graph: Graph, x: str, is_missing: str, operator: str) -> str:
    """Return the (1, d) lowest or highest values of (n, d) features, without missing values."""
    neutral = graph.constant(np.inf if operator == "ReduceMin" else -np.inf)
    axis = graph.constant([0], np.int64)
    return graph.node(operator, graph.node("Where", is_missing, neutral, x), axis, keepdims=1)
