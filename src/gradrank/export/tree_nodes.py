"""Trees as nested parts of a text: a fold over the nodes, without recursion."""

from collections.abc import Callable
from typing import TypeVar

from gradrank.export.format import NotExpressible
from gradrank.training.scoring_form import Tree

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
