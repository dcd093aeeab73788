"""Sums of trees as a node TreeEnsemble, in float64: the splits and the sums are those of gradrank."""

import numpy as np
from onnx import numpy_helper  # pyright: ignore[reportMissingImports] - an extra

from gradrank.export.onnx_graph.graph import ML, Graph
from gradrank.training.scoring_form import Tree, TreesForm

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
