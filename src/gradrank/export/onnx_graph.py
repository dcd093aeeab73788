"""Scoring forms as ONNX graphs: a builder of graphs, normalisation, trees, steps of nets, and nets.

Nodes are added one after another, and values are passed by name. Sums of trees are a node TreeEnsemble in float64, with
the splits and the sums of gradrank. The steps of a net (gradrank.training.nets.steps) are nodes on (n, tokens, width)
float32 values. Neural nets have the type of their weights, and their norms are computed in float64.

Attention is computed in float32, because ONNX Runtime before 1.25 fuses transpositions with products, which it can
compute only in float32.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper  # pyright: ignore[reportMissingImports] - an extra

from gradrank import __version__
from gradrank.data.normalisation import LARGEST, Normaliser
from gradrank.data.preparation import Step as PreparationStep
from gradrank.export.format import NotExpressible
from gradrank.training.nets.net import Net
from gradrank.training.nets.steps import (
    Activation,
    Affine,
    Attention,
    Clip,
    Concat,
    Cosine,
    DocumentAttention,
    First,
    Flatten,
    Gate,
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
from gradrank.training.scoring_form import (
    Combined,
    KernelForm,
    LinearForm,
    NetForm,
    QuadraticForm,
    ScoringForm,
    Tree,
    TreesForm,
)

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10  # TreeEnsemble is in version 5 of ai.onnx.ml
ML = "ai.onnx.ml"
INPUT, OUTPUT = "features", "scores"


class Graph:
    """An ONNX graph under construction. Methods return the names of values."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any, dtype: type | np.dtype | None = None) -> str:
        """Return the name of a constant. dtype: its type; None for the type that NumPy gives to the value."""
        name = f"constant{len(self._constants)}"
        array = np.array(value, dtype, order="C")
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        name = f"{operator}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def halves(self, value: str) -> tuple[str, str]:
        """Return the first and the second half of a value along its last axis."""
        names = f"Split{len(self._nodes)}first", f"Split{len(self._nodes)}second"
        self._nodes.append(helper.make_node("Split", [value], list(names), names[0], axis=-1, num_outputs=2))
        return names

    def cast(self, value: str, dtype: type | np.dtype) -> str:
        """Convert a value to a type, such as np.float32."""
        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def model(self, features: int, rows: str, scores: str, description: str, metadata: dict[str, str]) -> bytes:
        """Return the serialised model.

        The input `features` is a (rows, d) float32 matrix, and the output `scores` a (rows, 1) float64 matrix.

        Parameters
        ----------
        features
            The number of features d.
        rows
            The name of the first axis.
        scores
            The (rows, 1) float64 value that is the output.
        description
            The documentation of the model.
        metadata
            The metadata of the model.
        """
        self._nodes.append(helper.make_node("Identity", [scores], [OUTPUT], OUTPUT))
        graph = helper.make_graph(
            self._nodes,
            "gradrank",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, [rows, features])],
            [helper.make_tensor_value_info(OUTPUT, TensorProto.DOUBLE, [rows, 1])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="gradrank",
            producer_version=__version__,
            doc_string=description,
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model)
        return model.SerializeToString(deterministic=True)


def prepared(graph: Graph, features: str, steps: Sequence[PreparationStep] | None) -> str:
    """Return the (n, k) float32 columns that the steps of a preparation make of (n, d) float32 features."""
    if steps is None:
        return features
    columns = []
    for kind, run_of_kind in groupby(steps, key=lambda step: step.kind):
        of_kind = list(run_of_kind)
        if kind in ("number", "filled", "indicator", "category"):
            columns.append(_of_numbers(graph, features, kind, of_kind))
        else:
            columns += [_of_category(graph, features, step) for step in of_kind]
    return graph.node("Concat", *columns, axis=1)


def _of_numbers(graph: Graph, features: str, kind: str, steps: Sequence[PreparationStep]) -> str:
    """Return the (n, k) columns of k steps that make one column each."""
    x = graph.node("Gather", features, graph.constant([step.column for step in steps], np.int64), axis=1)
    if kind == "filled":
        values = graph.constant([[step.values[0] for step in steps]], np.float32)
        return graph.node("Where", graph.node("IsNaN", x), values, x)
    return graph.cast(graph.node("IsNaN", x), np.float32) if kind == "indicator" else x


def _of_category(graph: Graph, features: str, step: PreparationStep) -> str:
    """Return the columns of the codes of a feature with categories."""
    code = graph.node("Gather", features, graph.constant([step.column], np.int64), axis=1)
    if step.kind == "one_hot":
        return graph.cast(graph.node("Equal", code, graph.constant([step.values], np.float32)), np.float32)
    last = len(step.values) - 1
    is_known = graph.node(
        "And",
        graph.node("GreaterOrEqual", code, graph.constant(0.0, np.float32)),
        graph.node("Less", code, graph.constant(float(last), np.float32)),
    )
    place = graph.cast(graph.node("Where", is_known, code, graph.constant(float(last), np.float32)), np.int64)
    return graph.node("Gather", graph.constant(step.values, np.float32), place, axis=0)


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


SUM, NO_TRANSFORM, BRANCH_LEQ = 1, 0, 0  # numbers that the operator defines


def trees(graph: Graph, x: str, form: TreesForm) -> str:
    """Return the (n, 1) float64 scores for (n, d) float32 features.

    A float32 feature is converted to float64, and then compared with the float64 threshold.
    """
    x = graph.cast(x, np.float64)
    branching = [tree for tree in form.trees if len(tree.feature) > 1]
    rest = form.intercept + sum(float(tree.value[0]) for tree in form.trees if len(tree.feature) == 1)
    if not branching:
        rows = graph.node("Shape", x, end=1)
        shape = graph.node("Concat", rows, graph.constant([1], np.int64), axis=0)
        return graph.node("Expand", graph.constant([[rest]], np.float64), shape)
    total = graph.node("TreeEnsemble", x, domain=ML, **_attributes(branching))
    return graph.node("Add", total, graph.constant(rest, np.float64))


def _attributes(trees: list[Tree]) -> dict:
    """Return the attributes of the operator. Inner nodes and leaves are numbered separately, over all trees."""
    inner = np.concatenate([tree.feature >= 0 for tree in trees])
    roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(side: str) -> np.ndarray:
        return np.concatenate([getattr(tree, side) + root for tree, root in zip(trees, roots, strict=True)])

    left, right = children("left"), children("right")
    nodes, leaves = _order(inner, roots, left, right)
    number = np.empty(len(inner), np.int64)
    number[nodes], number[leaves] = np.arange(len(nodes)), np.arange(len(leaves))
    left, right = left[nodes], right[nodes]
    return {
        "n_targets": 1,
        "aggregate_function": SUM,
        "post_transform": NO_TRANSFORM,
        "tree_roots": number[roots].tolist(),
        "nodes_featureids": joined("feature")[nodes].tolist(),
        "nodes_modes": numpy_helper.from_array(np.full(len(nodes), BRANCH_LEQ, np.uint8), "modes"),
        "nodes_splits": numpy_helper.from_array(joined("threshold")[nodes].astype(np.float64), "splits"),
        "nodes_truenodeids": number[left].tolist(),
        "nodes_trueleafs": (~inner[left]).astype(int).tolist(),
        "nodes_falsenodeids": number[right].tolist(),
        "nodes_falseleafs": (~inner[right]).astype(int).tolist(),
        "nodes_missing_value_tracks_true": joined("missing_left")[nodes].astype(int).tolist(),
        "leaf_targetids": [0] * len(leaves),
        "leaf_weights": numpy_helper.from_array(joined("value")[leaves].astype(np.float64), "leaves"),
    }


def _order(inner: np.ndarray, roots: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the inner nodes and of the leaves, in the order of their numbers.

    The roots are first, and so are the leaves next to an inner child of a root. Therefore such a leaf has a smaller
    number than the inner child. Equal numbers are valid, but ONNX Runtime before 1.24 then takes the root for a leaf
    (https://github.com/microsoft/onnxruntime/issues/24679).

    inner: (m,) bool for the nodes of all trees. roots: (t,) positions. left, right: (m,) positions of the children.
    """
    nodes = np.concatenate([roots, np.setdiff1d(np.flatnonzero(inner), roots)])
    mixed = roots[inner[left[roots]] != inner[right[roots]]]
    first = np.where(inner[left[mixed]], right[mixed], left[mixed])
    return nodes, np.concatenate([first, np.setdiff1d(np.flatnonzero(~inner), first)])


EPSILON = 1e-5  # of layer norms


def run(graph: Graph, x: str, steps: Steps) -> str:
    """Return the (n, tokens, width) result of the steps, one after another."""
    for step in steps:
        x = _step(graph, x, step)
    return x


def _step(graph: Graph, x: str, step: Step) -> str:
    match step:
        case Affine(weights, biases):
            products = graph.node("MatMul", graph.cast(x, weights.dtype), graph.constant(weights))
            return graph.node("Add", products, graph.constant(biases))
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
        case Activation(name="tanh"):
            return graph.node("Tanh", x)
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
        case DocumentAttention():
            return _attend_documents(graph, x, step)
        case Attention():
            return _attend_tokens(graph, x, step)
        case Sum():
            return graph.node("Add", run(graph, x, step.first), run(graph, x, step.second))
        case Gate():
            values = run(graph, x, step.values)
            return graph.node("Add", graph.node("Mul", values, run(graph, x, step.gates)), values)
        case Concat():
            return graph.node("Concat", run(graph, x, step.first), run(graph, x, step.second), axis=2)
        case _:
            raise NotExpressible(f"the format has no step {type(step).__name__}")


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


def _attend_tokens(graph: Graph, x: str, step: Attention) -> str:
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


def _attend_documents(graph: Graph, x: str, step: DocumentAttention) -> str:
    """Return the (n, 1, width) outputs of attention over n documents, which are the tokens of one list."""
    documents = graph.node("Transpose", x, perm=[1, 0, 2])
    return graph.node("Transpose", _attend_tokens(graph, documents, step), perm=[1, 0, 2])


def layer_norm(graph: Graph, x: str, gains: np.ndarray, shifts: np.ndarray) -> str:
    """Return the layer norm over the last axis, computed in float64 and in the type of the gains."""
    x = graph.cast(x, np.float64)
    axis = graph.constant([-1], np.int64)
    centred = graph.node("Sub", x, graph.node("ReduceMean", x, axis))
    variance = graph.node("ReduceMean", graph.node("Mul", centred, centred), axis)
    deviation = graph.node("Sqrt", graph.node("Add", variance, graph.constant(EPSILON)))
    scaled = graph.node("Mul", graph.node("Div", centred, deviation), graph.constant(gains, np.float64))
    return graph.cast(graph.node("Add", scaled, graph.constant(shifts, np.float64)), gains.dtype)


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


def net_outputs(graph: Graph, x: str, net: Net) -> str:
    """Return the (n, K) outputs for (n, d) float32 features, in the type of the arrays of the steps.

    If the net scores whole queries, the n documents are those of one query.
    """
    x = standardised(graph, x, net.mean, net.scale, net.log_limit)
    x = run(graph, graph.node("Unsqueeze", x, graph.constant([2], np.int64)), net.steps)
    return graph.node("Flatten", x, axis=1)


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
            return graph.cast(net_outputs(graph, x, form.net), np.float64)
        case KernelForm():
            return _kernel(graph, x, form)
        case Combined():
            return _combined(graph, [outputs(graph, x, part) for part in form.forms], form)


def scores_whole_queries(form: ScoringForm) -> bool:
    """Return True if the score of a document depends on the other documents of the query."""
    if isinstance(form, Combined):
        return any(map(scores_whole_queries, form.forms))
    return isinstance(form, NetForm) and form.net.scores_whole_queries


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
