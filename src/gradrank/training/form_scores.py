"""Scores that are computed from a scoring form, without the model that the form describes."""

from collections.abc import Sequence

import numpy as np

from gradrank.base.compiled import compiled
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

ROWS = 8192  # rows per block of a linear form


def form_scores(form: ScoringForm, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return (n,) float64 scores of (n, d) float32 features, computed from a form.

    Sums are computed in float64, in the order of the features or of the trees. Nets and kernels are computed by the
    code that also computes the scores of their models.

    offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1]. Only nets with attention to other documents use
    them.

    Examples
    --------
    >>> import numpy as np
    >>> from gradrank.training.form_scores import form_scores
    >>> from gradrank.training.scoring_form import LinearForm
    >>> features = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    >>> form_scores(LinearForm(np.array([1.0, 0.5])), features, np.array([0, 2])).tolist()
    [2.0, 5.0]
    """
    match form:
        case LinearForm():
            return linear_scores(features, form.weights) + form.intercept
        case QuadraticForm():
            return _quadratic_scores(form, features)
        case TreesForm():
            return trees_scores(form.trees, form.intercept, features)
        case NetForm():
            return _outputs(form, features, offsets)[:, 0]
        case KernelForm():
            from gradrank.training.nets.net import standardised

            x = standardised(features, form.mean, form.scale)
            return form.kernel.expansion(x, form.landmarks, form.coefficients)
        case Combined():
            return _combined_scores(form, features, offsets)


def linear_scores(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the (n,) float64 products of (n, d) features and (d,) weights, from float64 copies of blocks of rows."""
    out = np.empty(len(features))
    for start in range(0, len(features), ROWS):
        rows = slice(start, start + ROWS)
        # Unlike a BLAS product, einsum sums each row in the same order, so that equal documents have equal scores.
        np.einsum("nd,d->n", features[rows].astype(np.float64), weights, out=out[rows])
    return out


def _outputs(form: NetForm, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return form.net.outputs(features, offsets).astype(np.float64)


def _quadratic_scores(form: QuadraticForm, features: np.ndarray) -> np.ndarray:
    from gradrank.training.solvers.perceptron import quadratic_scores

    weights = form.weights
    if len(weights) > 1:  # quadratic_scores reads only the upper triangle
        weights = np.triu(weights) + np.tril(weights, -1).T
    return quadratic_scores(features, form.unit, weights)


def _combined_scores(form: Combined, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    match form.forms:
        case (NetForm() as net,):
            outputs = _outputs(net, features, offsets)
        case _:
            outputs = np.stack([form_scores(part, features, offsets) for part in form.forms], axis=1)
    match form.rule:
        case "sum":
            values = outputs
        case "logistic":
            values = 0.5 + 0.5 * np.tanh(0.5 * outputs)
        case "softmax":
            values = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            values /= values.sum(axis=1, keepdims=True)
        case "argmax":
            return form.weights[outputs.argmax(axis=1)]
    return (values * form.weights).sum(axis=1)


def trees_scores(trees: Sequence[Tree], intercept: float, features: np.ndarray) -> np.ndarray:
    """Return the (n,) sums of the intercept and of the leaves that (n, d) float32 features reach.

    The values are added in the order of the trees.
    """
    if not trees:
        return np.full(len(features), intercept)
    roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def children(side: str) -> np.ndarray:
        return np.concatenate([getattr(tree, side) + root for tree, root in zip(trees, roots, strict=True)])

    nodes = joined("feature"), joined("threshold"), children("left"), children("right")
    return _walk(features, roots, *nodes, joined("missing_left"), joined("value"), float(intercept))


@compiled("f4[:,:], i8[:], i8[:], f8[:], i8[:], i8[:], b1[:], f8[:], f8")
def _walk(features, roots, feature, threshold, left, right, missing_left, value, intercept):
    """Return the (n,) sums of `trees_scores`, computed from the concatenated nodes of all trees.

    roots: (t,) number of the first node of each tree. The other arrays have one element per node; see `Tree`.
    """
    out = np.empty(len(features))
    for i in range(len(features)):
        total = intercept
        for root in roots:
            node = root
            while feature[node] >= 0:
                x = float(features[i, feature[node]])
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            total += value[node]
        out[i] = total
    return out
