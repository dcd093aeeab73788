"""Scores of scoring forms, compared with the formulas in their docstrings."""

from itertools import product

import numpy as np
import pytest

from gradrank.models.ranknet_kernel import Kernel
from gradrank.training.form_scores import form_scores
from gradrank.training.nets.net import Net
from gradrank.training.scoring_form import Combined, KernelForm, LinearForm, NetForm, QuadraticForm, Tree, TreesForm

OFFSETS = np.array([0, 50])


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)


def test_quadratic_forms(features):
    """W need not be triangular."""
    rng = np.random.default_rng(1)
    unit, matrix, row = rng.normal(size=3), rng.normal(size=(4, 4)), rng.normal(size=(1, 4))
    z = np.hstack([np.ones((50, 1)), features * unit])
    np.testing.assert_allclose(form_scores(QuadraticForm(matrix, unit), features, OFFSETS), ((z @ matrix) * z).sum(1))
    np.testing.assert_allclose(form_scores(QuadraticForm(row, unit), features, OFFSETS), z @ row[0])


def tree(missing_left):
    """Return x_1 <= 0.1 ? (x_0 <= -2 ? 1 : 10) : 100, where 0.1 is not a float32 number."""
    return Tree(
        feature=np.array([1, -1, 0, -1, -1]),
        threshold=np.array([0.1, 0.0, -2.0, 0.0, 0.0]),
        left=np.array([2, -1, 3, -1, -1]),
        right=np.array([1, -1, 4, -1, -1]),
        missing_left=np.array([missing_left[0], False, missing_left[1], False, False]),
        value=np.array([0.0, 100.0, 0.0, 1.0, 10.0]),
    )


@pytest.mark.parametrize("missing_left", list(product([False, True], repeat=2)))
def test_trees_by_enumeration(missing_left):
    below, above = np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(0.0))
    assert float(above) < 0.1 < float(below)  # the float32 number next to 0.1 is larger than 0.1
    first = {-3.0: True, -2.0: True, -1.0: False, np.nan: missing_left[1]}
    second = {-5.0: True, float(above): True, float(below): False, np.nan: missing_left[0]}
    rows = list(product(first, second))
    expected = [(1.0 if first[a] else 10.0) if second[b] else 100.0 for a, b in rows]
    form = TreesForm((tree(missing_left),), 0.5)
    assert form_scores(form, np.float32(rows), np.array([0, len(rows)])).tolist() == [0.5 + v for v in expected]


def test_trees_are_added(features):
    parts = TreesForm((tree((True, False)),), 1.0), TreesForm((tree((False, False)),) * 2)
    sums = sum(form_scores(part, features, OFFSETS) for part in parts)
    together = TreesForm(parts[0].trees + parts[1].trees, 1.0)
    np.testing.assert_allclose(form_scores(together, features, OFFSETS), sums)
    assert form_scores(TreesForm((), 2.5), features, OFFSETS).tolist() == [2.5] * 50


@pytest.mark.parametrize("name", ["rbf", "polynomial"])
def test_kernel_forms(features, name):
    rng = np.random.default_rng(2)
    landmarks, coefficients = rng.normal(size=(7, 3)).astype(np.float32), rng.normal(size=7)
    mean, scale = rng.normal(size=3), rng.uniform(0.5, 2.0, 3)
    x = (features - mean) / scale
    if name == "rbf":
        values = np.exp(-0.3 * np.square(x[:, None] - landmarks).sum(axis=2))
    else:
        values = (1.0 + 0.3 * x @ landmarks.T) ** 3
    form = KernelForm(Kernel(name, 0.3, 3), landmarks, coefficients, mean, scale)
    np.testing.assert_allclose(form_scores(form, features, OFFSETS), values @ coefficients, rtol=1e-4, atol=1e-5)


def combinations(outputs, weights):
    """Return the (n,) scores of each rule of Combined for (n, K) outputs."""
    probabilities = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    return {
        "sum": outputs @ weights,
        "logistic": (1.0 / (1.0 + np.exp(-outputs))) @ weights,
        "softmax": probabilities @ weights,
        "argmax": np.array([weights[int(np.argmax(row))] for row in outputs]),
    }


@pytest.mark.parametrize("rule", ["sum", "logistic", "softmax", "argmax"])
@pytest.mark.parametrize("kind", ["three forms", "one net"])
def test_combined_forms(features, rule, kind):
    rng = np.random.default_rng(3)
    matrix, biases = rng.normal(size=(3, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    if kind == "one net":
        forms = (NetForm(Net.of_layers([matrix], [biases], np.zeros(3), np.ones(3))),)
    else:
        forms = tuple(LinearForm(w.astype(np.float64), float(b)) for w, b in zip(matrix.T, biases, strict=True))
    weights = np.array([3.0, -1.0, 0.5])
    expected = combinations(features.astype(np.float64) @ matrix + biases, weights)[rule]
    np.testing.assert_allclose(form_scores(Combined(forms, weights, rule), features, OFFSETS), expected, rtol=1e-5)


def test_the_first_of_equal_largest_outputs_is_taken(features):
    constant = LinearForm(np.zeros(3), 1.0)
    form = Combined((LinearForm(np.zeros(3)), constant, constant), np.array([1.0, 2.0, 3.0]), "argmax")
    assert set(form_scores(form, features, OFFSETS)) == {2.0}


def test_large_outputs_do_not_overflow(features):
    forms = LinearForm(np.zeros(3), 1e4), LinearForm(np.zeros(3), -1e4)
    for rule in ("logistic", "softmax"):
        assert set(form_scores(Combined(forms, np.array([2.0, 1.0]), rule), features, OFFSETS)) == {2.0}
