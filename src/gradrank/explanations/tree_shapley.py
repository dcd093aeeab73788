"""Exact interventional Shapley values of sums of regression trees (Lundberg et al. 2020, section 2.4.2).

A document x and a background document z are compared at each leaf. A mixture of x and z reaches the leaf if each
feature on the path to the leaf has a value that passes all splits of the path on this feature. The features on the path
are of four kinds: both documents pass, only x passes, only z passes, or none passes. If there is a feature of the last
kind, no mixture reaches the leaf. Otherwise exactly those mixtures reach it that take the features of the second kind
from x and the features of the third kind from z. With u and v features of these kinds, the Shapley value of a feature
of the second kind is value * (u-1)! v! / (u+v)!, and that of the third kind is -value * u! (v-1)! / (u+v)!.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.scoring_form import Tree


def tree_shapley(trees: tuple[Tree, ...], documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Return the (k, d) float64 contributions of the features to the sum of the trees.

    documents: (k, d) float32 features of k documents. background: (m, d) float32 features. The contributions to a
    document sum to the sum of the trees for this document, minus its mean over the background documents.
    """
    out = np.zeros(documents.shape, np.float64)
    if trees:
        sizes = [len(tree.feature) for tree in trees]
        before = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)  # number of nodes of the trees before a node's tree
        _add_trees(
            np.concatenate([tree.feature for tree in trees]).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
            np.concatenate([tree.left for tree in trees]) + before,
            np.concatenate([tree.right for tree in trees]) + before,
            np.concatenate([tree.missing_left for tree in trees]).astype(np.bool_),
            np.concatenate([tree.value for tree in trees]).astype(np.float64),
            documents,
            background,
            out,
        )
    return out / len(background)


@compiled("i8[:], f8[:], i8[:], i8[:], b1[:], f8[:], f4[:,:], f4[:,:], f8[:,:] out")
def _add_trees(feature, threshold, left, right, missing_left, value, documents, background, out):
    """Add the contributions of all trees to `out`, as sums over the background documents.

    The nodes of the trees follow one another. `left` and `right` are numbers in this sequence.
    """
    nodes = len(feature)
    parent = np.full(nodes, -1, np.int64)
    for node in range(nodes):
        if feature[node] >= 0:
            parent[left[node]] = node
            parent[right[node]] = node
    # The conditions of one leaf: one interval per feature on its path, and whether a missing value passes.
    features = np.empty(nodes, np.int64)
    low, high = np.empty(nodes), np.empty(nodes)
    takes_missing = np.empty(nodes, np.bool_)
    of_x, of_z = np.empty(nodes, np.bool_), np.empty(nodes, np.bool_)
    for leaf in range(nodes):
        if feature[leaf] >= 0 or value[leaf] == 0.0:
            continue
        count, node = 0, leaf
        while parent[node] >= 0:
            above = parent[node]
            place = 0
            while place < count and features[place] != feature[above]:
                place += 1
            if place == count:
                features[count], low[count], high[count], takes_missing[count] = feature[above], -np.inf, np.inf, True
                count += 1
            is_left = left[above] == node
            if is_left:
                high[place] = min(high[place], threshold[above])
            else:
                low[place] = max(low[place], threshold[above])
            takes_missing[place] &= is_left == missing_left[above]
            node = above
        for i in range(len(documents)):
            for place in range(count):
                x = documents[i, features[place]]
                of_x[place] = takes_missing[place] if np.isnan(x) else low[place] < x <= high[place]
            for j in range(len(background)):
                _add_leaf(value[leaf], features, low, high, takes_missing, count, of_x, of_z, background[j], out[i])


@compiled()
def _add_leaf(value, features, low, high, takes_missing, count, of_x, of_z, z, out):
    """Add the contributions of one leaf to one document, with the background document z, to `out`.

    of_x: whether the document passes each condition. of_z: scratch space.
    """
    u, v = 0, 0
    for place in range(count):
        other = z[features[place]]
        of_z[place] = takes_missing[place] if np.isnan(other) else low[place] < other <= high[place]
        if of_x[place]:
            u += not of_z[place]
        elif of_z[place]:
            v += 1
        else:
            return
    if u + v == 0:
        return
    choices = 1.0  # the binomial coefficient (u+v)! / (u! v!)
    for k in range(1, min(u, v) + 1):
        choices *= (u + v + 1.0 - k) / k
    for place in range(count):
        if of_x[place] and not of_z[place]:
            out[features[place]] += value / (u * choices)
        elif of_z[place] and not of_x[place]:
            out[features[place]] -= value / (v * choices)
