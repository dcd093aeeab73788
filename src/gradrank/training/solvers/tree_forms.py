"""The trees of LightGBM as scoring forms."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradrank.training.scoring_form import NoScoringForm, Tree, TreesForm

# LightGBM predicts with 0 instead of values whose size is at most kZeroThreshold, the float32 number 1e-35.
ZERO = float(np.float32(1e-35))
BELOW_ZERO = float(np.nextafter(np.float32(-1e-35), np.float32(-1.0)))


def lightgbm_forms(booster: Any) -> list[TreesForm]:
    """Return the raw outputs of a LightGBM booster: one form, or one form per class.

    The function of the objective, such as softmax, is not applied. Raises NoScoringForm if a tree has a split that
    `Tree` cannot express. Models of gradrank have no such splits.
    """
    try:
        model = booster.dump_model()
    except RecursionError:
        raise NoScoringForm("a tree is too deep for the JSON reader of Python") from None
    trees = [_tree(info["tree_structure"]) for info in model["tree_info"]]
    outputs = model["num_tree_per_iteration"]
    forms = [TreesForm(tuple(trees[output::outputs])) for output in range(outputs)]
    if model["average_output"]:  # a random forest
        return [_scaled(form, 1.0 / max(len(form.trees), 1)) for form in forms]
    return forms


def mean_form(forms: Sequence[TreesForm]) -> TreesForm:
    """Return the mean of several sums of trees as one sum of trees."""
    scaled = [_scaled(form, 1.0 / len(forms)) for form in forms]
    trees = tuple(tree for form in scaled for tree in form.trees)
    return TreesForm(trees, sum(form.intercept for form in scaled))


def _scaled(form: TreesForm, factor: float) -> TreesForm:
    trees = tuple(replace(tree, value=tree.value * factor) for tree in form.trees)
    return TreesForm(trees, form.intercept * factor)


def _tree(root: dict[str, Any]) -> Tree:
    """Return a tree of `Booster.dump_model`. root: its `tree_structure`, with dictionaries as nodes."""
    nodes, parents = [root], [(0, "left")]
    tree: dict[str, list] = {name: [] for name in Tree.__dataclass_fields__}
    for number, node in enumerate(nodes):  # grows while it is read
        is_leaf = "split_feature" not in node
        threshold, missing_left = (0.0, False) if is_leaf else _split(node)
        tree["feature"].append(-1 if is_leaf else node["split_feature"])
        tree["threshold"].append(threshold)
        tree["missing_left"].append(missing_left)
        tree["value"].append(node["leaf_value"] if is_leaf else 0.0)
        tree["left"].append(-1)
        tree["right"].append(-1)
        if number:
            parent, side = parents[number]
            tree[side][parent] = number
        if not is_leaf:
            nodes += [node["left_child"], node["right_child"]]
            parents += [(number, "left"), (number, "right")]
    return Tree(**{name: np.array(values) for name, values in tree.items()})


def _split(node: dict[str, Any]) -> tuple[float, bool]:
    """Return the threshold of a split, and whether a missing value goes to the left child."""
    threshold, missing = node["threshold"], node["missing_type"]
    if node["decision_type"] != "<=":
        raise NoScoringForm("a tree has a split of a categorical feature")
    if missing == "Zero":
        raise NoScoringForm("a tree treats zeros as missing values")
    if -ZERO <= threshold < 0.0:
        threshold = BELOW_ZERO
    elif 0.0 <= threshold < ZERO:
        threshold = ZERO
    # Without missing values in the training data, LightGBM predicts with 0 instead of a missing value.
    return threshold, node["default_left"] if missing == "NaN" else threshold >= 0.0
