"""Sums of trees as a node TreeEnsemble, in float64: the splits and the sums are those of gradrank."""

import numpy as np
from onnx import numpy_helper  # pyright: ignore[reportMissingImports] - an extra

from gradrank.model_formats.onnx_graph.graph import ML, Graph
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
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
    number = np.where(inner, np.cumsum(inner), np.cumsum(~inner)) - 1

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(side: str) -> np.ndarray:
        nodes = np.concatenate([getattr(tree, side) + start for tree, start in zip(trees, starts, strict=True)])
        return nodes[inner]

    left, right = children("left"), children("right")
    return {
        "n_targets": 1,
        "aggregate_function": SUM,
        "post_transform": NO_TRANSFORM,
        "tree_roots": number[starts].tolist(),
        "nodes_featureids": joined("feature")[inner].tolist(),
        "nodes_modes": numpy_helper.from_array(np.full(inner.sum(), BRANCH_LEQ, np.uint8), "modes"),
        "nodes_splits": numpy_helper.from_array(joined("threshold")[inner].astype(np.float64), "splits"),
        "nodes_truenodeids": number[left].tolist(),
        "nodes_trueleafs": (~inner[left]).astype(int).tolist(),
        "nodes_falsenodeids": number[right].tolist(),
        "nodes_falseleafs": (~inner[right]).astype(int).tolist(),
        "nodes_missing_value_tracks_true": joined("missing_left")[inner].astype(int).tolist(),
        "leaf_targetids": [0] * int((~inner).sum()),
        "leaf_weights": numpy_helper.from_array(joined("value")[~inner].astype(np.float64), "leaves"),
    }
