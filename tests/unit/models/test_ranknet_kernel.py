"""Kernel RankNet: kernels against scikit-learn, exact solutions, the linear kernel as linear RankNet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.models.ranknet_kernel import (
    Kernel,
    Problem,
    RankNetKernel,
    RankNetKernelParams,
    independent,
    regularised_path,
)
from gradrank.training.losses.pairwise import ranknet, ranknet_curvature

RBF = Kernel("rbf", 0.25, 2)
L2 = (0.1, 0.01, 0.001)


def toy(seed=0, queries=6, documents=10):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries * documents, 4)).astype(np.float32)
    value = np.sin(2 * features[:, 0]) + features[:, 1] ** 2 + rng.normal(0, 0.2, len(features))
    labels = np.digitize(value, np.quantile(value, [0.5, 0.8])).astype(np.int32)
    offsets = np.arange(0, len(features) + 1, documents)
    return Collection(features, labels, offsets, np.arange(1, queries + 1))


def cost_of(data):
    return lambda scores: ranknet(scores, data.labels, data.offsets)


def problem_of(data):
    return Problem(cost_of(data), ranknet_curvature(data.labels, data.offsets), data.offsets)


def path(data, kernel, landmarks, grid=L2):
    """Scores of the training documents for each l2, strongest first, solved far below rounding of float32."""
    solved = regularised_path(data.features, kernel, landmarks, problem_of(data), grid, tolerance=1e-13)
    return [kernel.expansion(data.features, used, a) for used, a, _ in solved]


@given(st.integers(0, 10_000), st.floats(0.01, 2.0), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_kernels_are_scikit_learns(seed, gamma, degree):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(7, 5)), rng.normal(size=(3, 5))
    polynomial = polynomial_kernel(x, z, degree=degree, gamma=gamma, coef0=1.0)
    np.testing.assert_allclose(Kernel("rbf", gamma, degree).matrix(x, z), rbf_kernel(x, z, gamma), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(Kernel("polynomial", gamma, degree).matrix(x, z), polynomial, rtol=1e-6, atol=1e-6)


def test_curvature_is_the_second_derivative_of_the_cost():
    data, step = toy(), 1e-3
    own = ranknet_curvature(data.labels, data.offsets)
    for row in range(0, data.rows, 7):
        ahead, behind = np.zeros((2, data.rows))
        ahead[row], behind[row] = step, -step
        rise = cost_of(data)(ahead)[1][row] - cost_of(data)(behind)[1][row]
        assert own[row] == pytest.approx(rise / (2 * step), rel=1e-5)


def test_with_all_rows_as_landmarks_the_solution_is_optimal_in_the_whole_function_space():
    """0 = dcost/df / cost(0) + l2 f in H: f(x) = -sum_i g_i K(x_i, x) / (l2 cost(0)), g_i = dcost/df(x_i)."""
    data = toy()
    unranked, _ = cost_of(data)(np.zeros(data.rows))
    for l2, scores in zip(L2, path(data, RBF, data.features), strict=True):
        _, gradient = cost_of(data)(scores)
        x = data.features.astype(np.float64)
        np.testing.assert_allclose(
            scores, -rbf_kernel(x, x, RBF.gamma) @ gradient / (l2 * unranked), atol=2e-5 * np.ptp(scores)
        )


def test_spanned_rows_are_no_landmarks():
    rows = toy().features[:12]
    kept, root = independent(RBF, np.r_[rows, rows[:5]])
    assert sorted(kept.tolist()) == sorted(rows.tolist())
    np.testing.assert_allclose(root @ root.T, RBF.matrix(kept, kept), atol=1e-6)
    plane, _ = independent(Kernel("polynomial", 1.0, 1), rows)
    assert len(plane) == 5  # a constant and four features


def test_a_kernel_that_overflows_is_an_error_that_says_what_to_lower():
    params = RankNetKernelParams(kernel="polynomial", degree=8, gamma=(1e6,))
    with pytest.raises(GradrankError, match=r"lower gamma, now 1e.06, or degree, now 8"):
        RankNetKernel.fit(toy(), toy(), params, 0, lambda step, **values: None)
