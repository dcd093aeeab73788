"""PRank: the published update and bound, the kernel's equivalence, an outside implementation's output."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gradrank.models.prank import PRank, PRankKernel, PRankQuadratic, until_unchanged
from gradrank.training.best_of import Candidate
from gradrank.training.solvers.perceptron import prank_epoch, quadratic_scores

MACHINES = [PRank, PRankQuadratic, PRankKernel]
every_machine = pytest.mark.parametrize("cls", MACHINES)


def run(cls, x, grades, levels, rows=None, coef0=None, unit=None):
    """(W, thresholds, ranks in error) after the stream of the given rows."""
    x, grades = np.ascontiguousarray(x), grades.astype(np.int32)
    params = cls.Params() if coef0 is None else cls.Params(coef0=coef0)
    squared_scale = cls.squared_scale(x.shape[1], params)
    weights, thresholds = np.zeros_like(squared_scale), np.zeros(levels - 1)
    unit = np.ones(x.shape[1]) if unit is None else unit
    rows = np.arange(len(x)) if rows is None else rows
    errors = prank_epoch(x, unit, grades, rows, squared_scale, weights, thresholds)
    return weights, thresholds, errors


def by_definition(gram, grades, levels, rows):
    """Crammer & Singer 2002, Figure 2, in dual form: (scores, thresholds, ranks in error); gram: (n, n) K."""
    alpha, b, errors = np.zeros(len(gram)), np.zeros(levels - 1), 0
    for i in rows:
        score = gram[i] @ alpha
        predicted = min([r for r in range(levels - 1) if score < b[r]], default=levels - 1)
        errors += abs(predicted - grades[i])
        if predicted != grades[i]:
            y = np.where(np.arange(levels - 1) < grades[i], 1, -1)
            tau = np.where(y * (score - b) <= 0, y, 0)
            alpha[i] += tau.sum()
            b -= tau
    return gram @ alpha, b, errors


whole = st.integers(-4, 4)


@st.composite
def streams(draw, elements):
    """(features, grades, number of grades, rows in the order of the stream, some of them more than once)."""
    n, d, levels = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(2, 31))
    x = draw(arrays(np.float32, (n, d), elements=elements))
    grades = draw(arrays(np.int32, n, elements=st.integers(0, levels - 1)))
    rows = draw(arrays(np.int64, draw(st.integers(1, 40)), elements=st.integers(0, n - 1)))
    return x, grades, levels, rows


@every_machine
@settings(max_examples=60, deadline=None)
@given(streams(whole))
def test_each_machine_is_the_dual_perceptron_with_its_kernel(cls, stream):
    """Small integers: every number is exact, so the two must make the same decision at every document."""
    x, grades, levels, rows = stream
    inner = x.astype(np.float64) @ x.T.astype(np.float64)
    if cls is PRank:
        gram = inner
    elif cls is PRankKernel:
        gram = (inner + 1.0) ** 2
    else:  # sum over i <= j of the products, and the features
        gram = inner + (inner**2 + (x**2) @ (x**2).T) / 2
    scores, b, errors = by_definition(gram, grades, levels, rows)
    weights, thresholds, found = run(cls, x, grades, levels, rows)
    np.testing.assert_array_equal(quadratic_scores(x, np.ones(x.shape[1]), weights), scores)
    np.testing.assert_array_equal(thresholds, b)
    assert found == errors


def test_the_output_of_an_independent_implementation():
    """scikit-learn-contrib/lightning, impl/tests/test_prank.py: 10 epochs in file order, mean error 41.86."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    values, grades = np.unique(np.round(y, -2), return_inverse=True)
    weights, b, _ = run(PRank, x, grades, len(values), np.tile(np.arange(len(x)), 10))
    predicted = (quadratic_scores(x, np.ones(x.shape[1]), weights)[:, None] >= b).sum(axis=1)
    assert np.abs(values[predicted] - values[grades]).mean() == pytest.approx(41.86, abs=0.005)


def test_an_error_that_stays_ends_training_whatever_it_is():
    losses = [0.5, 0.4, 0.4, 0.3, 0.3, 0.3, 0.3, 0.2]
    kept = [epoch.kept for epoch in until_unchanged((Candidate(i, loss) for i, loss in enumerate(losses)), 2)]
    assert kept == [0, 1, 2, 3, 4, 5]
