"""Exact Shapley values of models whose scoring form allows them: linear forms, quadratic forms and trees."""

from collections.abc import Callable

import numpy as np

from gradrank.explanations.tree_shapley import tree_shapley
from gradrank.training.scoring_form import Combined, LinearForm, QuadraticForm, ScoringForm, TreesForm


def exact_shapley(form: ScoringForm, documents: np.ndarray, background: np.ndarray) -> tuple[np.ndarray, str] | None:
    """Return the (d,) contributions to the difference of the scores of two documents, and the kind of the form.

    form: the scoring form of the model. documents: (2, d) float32 features. background: (m, d) float32 features. The
    kind is `linear`, `quadratic` or `tree`; a sum of different kinds has both names, joined by "+". Returns None if the
    values are not known in closed form.
    """
    parts = _parts(form)
    if parts is None:
        return None
    total, kinds = np.zeros(documents.shape[1]), []
    for weight, part in parts:
        kind, contributions = EXACT[type(part)]
        total += weight * contributions(part, documents, background)
        kinds.append(kind)
    return total, "+".join(dict.fromkeys(kinds))


def _parts(form: ScoringForm) -> list[tuple[float, ScoringForm]] | None:
    """Return a weighted sum of simple forms that equals the form; None if there is none."""
    if type(form) in EXACT:
        return [(1.0, form)]
    if not isinstance(form, Combined) or form.rule != "sum" or len(form.forms) != len(form.weights):
        return None
    parts = []
    for weight, member in zip(form.weights, form.forms, strict=True):
        own = _parts(member)
        if own is None:
            return None
        parts += [(float(weight) * factor, part) for factor, part in own]
    return parts


def _linear(form: LinearForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    first, second = documents.astype(np.float64)
    return form.weights * (first - second)


def _quadratic(form: QuadraticForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    """Return the contributions to z' W z. Half of each product of two features belongs to each of the two.

    With the baseline r, the contribution of feature i to document x is (x_i - r_i) (l_i + sum_j M_ij (x_j + r_j)). l
    are the linear weights, and M is the symmetric matrix of the products.
    """
    documents, background = (form.unit * rows.astype(np.float64) for rows in (documents, background))
    weights = form.weights
    if len(weights) == 1:
        return weights[0, 1:] * (documents[0] - documents[1])
    linear, products = weights[0, 1:] + weights[1:, 0], (weights[1:, 1:] + weights[1:, 1:].T) / 2.0
    of_first, of_second = (
        ((row - background) * (linear + (row + background) @ products)).mean(axis=0) for row in documents
    )
    return of_first - of_second


def _trees(form: TreesForm, documents: np.ndarray, background: np.ndarray) -> np.ndarray:
    of_first, of_second = tree_shapley(form.trees, documents, background)
    return of_first - of_second


# key: a form; values: the kind of the form, and the function that returns the (d,) contributions.
EXACT: dict[type, tuple[str, Callable[..., np.ndarray]]] = {
    LinearForm: ("linear", _linear),
    QuadraticForm: ("quadratic", _quadratic),
    TreesForm: ("tree", _trees),
}
