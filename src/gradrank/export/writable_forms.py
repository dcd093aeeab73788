"""Scoring forms as the model files of search engines express them: sums of trees, and linear functions.

Search engines compute with float32 numbers and score one document at a time. The normalisation `global` of the data set
becomes a part of the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from gradrank.data.normalisation import Normaliser
from gradrank.export.format import NotExpressible
from gradrank.training.scoring_form import Combined, LinearForm, NetForm, QuadraticForm, ScoringForm, Tree, TreesForm

PartT = TypeVar("PartT")
# Jackson, the JSON parser of the search engines, reads 1000 nested values, and Python's fewer than 1000.
DEEPEST_JSON = 300


def preorder(tree: Tree) -> list[tuple[int, int]]:
    """Return the number and the depth of each node that the root reaches. A parent comes before its children."""
    order, stack = [], [(0, 0)]
    while stack:
        node, depth = stack.pop()
        order.append((node, depth))
        if tree.feature[node] >= 0:
            stack += [(int(tree.right[node]), depth + 1), (int(tree.left[node]), depth + 1)]
    return order


def folded(tree: Tree, leaf: Callable[[int, int], PartT], split: Callable[[int, int, PartT, PartT], PartT]) -> PartT:
    """Return the part of the root.

    leaf: function of the number and the depth of a leaf. split: function of the number and the depth of an inner node,
    and the parts of its left and its right child.
    """
    parts: dict[int, PartT] = {}
    for node, depth in reversed(preorder(tree)):
        if tree.feature[node] < 0:
            parts[node] = leaf(node, depth)
        else:
            left, right = parts.pop(int(tree.left[node])), parts.pop(int(tree.right[node]))
            parts[node] = split(node, depth, left, right)
    return parts[0]


def check_depth(trees: tuple[Tree, ...]) -> None:
    """Raise NotExpressible if a tree has more levels than JSON parsers accept."""
    deepest = max(depth for tree in trees for _, depth in preorder(tree))
    if deepest > DEEPEST_JSON:
        raise NotExpressible(f"a tree has {deepest} levels, and JSON parsers read at most {DEEPEST_JSON}")


LARGEST = np.finfo(np.float32).max


def trees_of(form: ScoringForm) -> TreesForm | None:
    """Return the form as one sum of trees, with the weights of a `Combined` in the leaves; None if it is not one."""
    if isinstance(form, TreesForm):
        return form
    if not isinstance(form, Combined) or form.rule != "sum":
        return None
    parts = [part for part in map(trees_of, form.forms) if part is not None]
    if len(parts) < len(form.weights):
        return None
    weighted = [(float(weight), part) for weight, part in zip(form.weights, parts, strict=True)]
    trees = [replace(tree, value=weight * tree.value) for weight, part in weighted for tree in part.trees]
    intercept = sum(weight * part.intercept for weight, part in weighted)
    return TreesForm(tuple(trees), float(intercept))


def linear_of(form: ScoringForm) -> LinearForm | None:
    """Return the form as one linear function of the features; None if it is not linear."""
    if isinstance(form, LinearForm):
        return form
    if isinstance(form, QuadraticForm) and len(form.weights) == 1:
        weights = np.asarray(form.weights[0], np.float64)
        return LinearForm(weights[1:] * form.unit, float(weights[0]))
    if isinstance(form, NetForm):
        return _linear_of_net(form)
    if not isinstance(form, Combined) or form.rule != "sum":
        return None
    parts = [part for part in map(linear_of, form.forms) if part is not None]
    if len(parts) < len(form.weights):
        return None
    weights = sum(weight * part.weights for weight, part in zip(form.weights, parts, strict=True))
    intercept = sum(weight * part.intercept for weight, part in zip(form.weights, parts, strict=True))
    return LinearForm(np.asarray(weights, np.float64), float(intercept))


def _linear_of_net(form: NetForm) -> LinearForm | None:
    net, layers = form.net, form.net.layers
    if layers is None or len(layers) > 1 or form.outputs > 1 or net.log_limit is not None:
        return None
    weights = layers[0].weights[:, 0] / net.scale.astype(np.float64)
    return LinearForm(weights, float(layers[0].biases[0] - weights @ net.mean))


def linear_without_normaliser(linear: LinearForm, normaliser: Normaliser | None) -> LinearForm:
    """Return the linear function of the features before the normalisation."""
    if normaliser is None:
        return linear
    assert normaliser.mean is not None and normaliser.deviation is not None
    varies = normaliser.deviation > 0.0  # a constant feature is 0 after the normalisation
    weights = np.divide(linear.weights, normaliser.deviation, out=np.zeros(len(varies)), where=varies)
    return LinearForm(weights, linear.intercept - float(weights @ normaliser.mean))


def float32_trees(form: TreesForm, normaliser: Normaliser | None) -> tuple[Tree, ...]:
    """Return trees whose thresholds are float32 numbers, for features before the normalisation.

    Every finite float32 value takes the same branch as in the trees of `form`. A last tree with one leaf has the
    intercept, if it is not 0. Leaf values are rounded to float32. Raises NotExpressible if one is too large.
    """
    trees = [_with_float32_thresholds(tree, normaliser) for tree in form.trees]
    if form.intercept or not trees:
        none, zero = np.array([-1]), np.zeros(1)
        trees.append(Tree(none, zero, none, none, np.array([False]), np.array([form.intercept])))
    return tuple(replace(tree, value=as_float32(tree.value, "the value of a leaf")) for tree in trees)


PRESENT = np.nextafter(LARGEST, np.float32(0.0))  # every value but the largest is at most this
MOST_NODES = 10_000_000


def with_missing_right(tree: Tree) -> Tree:
    """Return a tree with the same scores in which a missing value goes right at every node.

    tree: a tree with float32 thresholds. A node that sends missing values left becomes a test whether the feature is
    present, which any finite value but the largest float32 passes. The tests on the same feature below it know the
    answer. The largest float32 counts as missing. Raises NotExpressible if the tree grows too large.
    """
    rows: list[list] = [[]]
    stack: list[tuple[int, int, dict[int, bool]]] = [(0, 0, {})]
    while stack:
        if len(rows) > MOST_NODES:
            raise NotExpressible(f"a tree has more than {MOST_NODES:,} nodes without branches for missing values")
        number, node, known = stack.pop()
        node = _undecided(tree, node, known)
        feature, threshold = int(tree.feature[node]), tree.threshold[node]
        left, right = int(tree.left[node]), int(tree.right[node])
        if feature < 0:
            rows[number] = [-1, 0.0, -1, -1, float(tree.value[node])]
            continue
        present, missing = {**known, feature: True}, {**known, feature: False}
        if threshold >= LARGEST:  # a test whether the feature is present
            test, first, second = PRESENT, (left, present), (right, missing)
        elif feature not in known and tree.missing_left[node]:
            test, first, second = PRESENT, (node, present), (left, missing)
        else:
            test, first, second = threshold, (left, known), (right, known)
        rows[number] = [feature, test, len(rows), len(rows) + 1, 0.0]
        stack += [(len(rows), *first), (len(rows) + 1, *second)]
        rows += [[], []]
    feature, threshold, left, right, value = (np.array(column) for column in zip(*rows, strict=True))
    return Tree(feature, threshold.astype(np.float64), left, right, np.zeros(len(rows), bool), value)


def _undecided(tree: Tree, node: int, known: Mapping[int, bool]) -> int:
    """Return the first node from `node` on that is a leaf, or whose answer does not follow from `known`.

    known: whether a feature is present, as far as it is known.
    """
    while (feature := int(tree.feature[node])) >= 0:
        left, right = int(tree.left[node]), int(tree.right[node])
        if known.get(feature) is False:
            node = left if tree.missing_left[node] else right
        elif tree.threshold[node] >= LARGEST and (feature in known or tree.missing_left[node]):
            node = left
        else:
            break
    return node


def as_float32(values: np.ndarray, name: str) -> np.ndarray:
    """Return the values, rounded to float32. Raises NotExpressible with `name` if a value is too large."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(values).astype(np.float32)
    if not np.isfinite(rounded).all():
        raise NotExpressible(f"{name} is outside of the range of float32")
    return rounded


def shortest(value: np.floating) -> str:
    """Return a short decimal number that is read as exactly this float32, also by a program that reads a float64."""
    text = str(value)
    return text if np.float32(float(text)) == value else repr(float(value))


def exact(value: float | np.floating) -> str:
    """Return the float32 number with as many digits as a float64 has.

    Programs that compare features and thresholds as float64 numbers need all of these digits.
    """
    return repr(float(np.float32(value)))


def _with_float32_thresholds(tree: Tree, normaliser: Normaliser | None) -> Tree:
    """Return the tree with the largest float32 x that goes left as the threshold of each node.

    If every finite value goes right, the children are exchanged, and the threshold is the largest float32. So every
    threshold is finite.
    """
    threshold = _largest_left(tree, normaliser)
    exchanged = np.isneginf(threshold)
    return replace(
        tree,
        threshold=np.where(exchanged, LARGEST, threshold),
        left=np.where(exchanged, tree.right, tree.left),
        right=np.where(exchanged, tree.left, tree.right),
        missing_left=tree.missing_left ^ exchanged,
    )


def _largest_left(tree: Tree, normaliser: Normaliser | None) -> np.ndarray:
    """Return the (m,) largest finite float32 x per node that goes left, or -inf if none does; 0 for a leaf.

    The normalisation is monotonic, so bisection over all float32 numbers finds the exact bound.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    normalised = _normalise_each(normaliser, tree.feature[inner])
    low = np.full(len(inner), _rank(-LARGEST) - 1)  # -inf counts as going left
    high = np.full(len(inner), _rank(LARGEST))
    while (low < high).any():
        middle = (low + high + 1) // 2
        left = normalised(_of_rank(middle)).astype(np.float64) <= tree.threshold[inner]
        low, high = np.where(left, middle, low), np.where(left, high, middle - 1)
    bounds = np.zeros(len(tree.feature))
    bounds[inner] = np.where(low < _rank(-LARGEST), -np.inf, _of_rank(low))
    return bounds


def _normalise_each(normaliser: Normaliser | None, features: np.ndarray):
    """Return a function that normalises (k,) values, where value i belongs to the feature features[i]."""
    if normaliser is None:
        return lambda values: values
    assert normaliser.mean is not None and normaliser.deviation is not None
    each = Normaliser("global", normaliser.mean[features], normaliser.deviation[features])
    return lambda values: each(values[None, :], np.array([0, 1]))[0]


def _rank(value: np.floating) -> int:
    """Return the number of a float32 in the order of all float32 numbers; 0 is number 0."""
    bits = int(np.float32(abs(value)).view(np.int32))
    return -bits if value < 0 else bits


def _of_rank(ranks: np.ndarray) -> np.ndarray:
    """Return the float32 numbers with these ranks. The rank below that of the lowest finite number is -inf."""
    return np.copysign(np.abs(ranks).astype(np.int32).view(np.float32), ranks).astype(np.float32)
