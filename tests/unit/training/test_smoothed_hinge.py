"""RankSVM with the hinge loss in the primal: against the dual solver, a linear programme, and finite differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, linprog

from gradrank.training.solvers.ranksvm import (
    group_by_grade,
    smoothed_hinge,
    solve_dual,
    solve_smoothed_hinge,
    weight_crucial_pairs,
)
from made_rankings import linear_grades


@pytest.fixture(scope="module", params=["pair", "ndcg"])
def problem(request):
    """The features, the documents by grade, the list of pairs and the feature differences of a small training part."""
    part = linear_grades(3, queries=6, documents=9)
    listed = weight_crucial_pairs(part, request.param)
    features = part.features.astype(np.float64)
    return features, group_by_grade(part, request.param), listed, features[listed.better] - features[listed.worse]


def objective(w, problem, C, penalty):
    _, _, listed, differences = problem
    own = 0.5 * w @ w if penalty == "l2" else np.abs(w).sum()
    return own + C * (listed.tau @ np.maximum(1 - differences @ w, 0))


def scaled(problem, factor):
    """C for which the weights of the pairs sum to `factor`."""
    return factor / problem[2].tau.sum()


@pytest.mark.parametrize("width", [0.1, 0.005])
def test_loss_and_gradient_by_definition(problem, width):
    features, grouped, listed, differences = problem
    w = np.random.default_rng(0).normal(0, 0.5, features.shape[1])
    gap = 1 - differences @ w
    huber = np.where(gap > width, gap - width / 2, np.maximum(gap, 0) ** 2 / (2 * width))
    loss, gradient = smoothed_hinge(features, grouped, w, width)
    assert loss == pytest.approx(listed.tau @ huber)
    assert 0 <= listed.tau @ np.maximum(gap, 0) - loss <= listed.tau.sum() * width / 2 + 1e-12
    numeric = approx_fprime(w, lambda v: smoothed_hinge(features, grouped, v, width)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-4 * np.abs(numeric).max())


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0, 100.0])
def test_the_primal_has_the_minimum_of_the_dual(problem, factor):
    features, grouped, listed, _ = problem
    C = scaled(problem, factor)
    found = solve_smoothed_hinge(features, grouped, C, np.zeros(features.shape[1]), "l2")
    start, rng = np.zeros(len(listed.tau)), np.random.default_rng(0)
    dual, _ = solve_dual(features, listed.better, listed.worse, C * listed.tau, "l1", start, 1e-8, rng)
    least = objective(dual, problem, C, "l2")
    assert least * (1 - 1e-6) <= objective(found, problem, C, "l2") <= least + 0.0025 * factor + 1e-9
    assert objective(found, problem, C, "l2") == pytest.approx(least, rel=2e-3)


@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0, 100.0])
def test_with_the_l1_penalty_it_has_the_minimum_of_the_linear_programme(problem, factor):
    """Variables: w = u - v with u, v >= 0, and one slack per pair."""
    features, grouped, listed, differences = problem
    C, d = scaled(problem, factor), features.shape[1]
    costs = np.r_[np.ones(2 * d), C * listed.tau]
    constraints = np.hstack([-differences, differences, -np.eye(len(differences))])
    programme = linprog(costs, constraints, -np.ones(len(differences)))
    found = solve_smoothed_hinge(features, grouped, C, np.zeros(d), "l1")
    value = objective(found, problem, C, "l1")
    assert programme.fun - 1e-9 <= value <= programme.fun + 0.0025 * factor + 1e-9
    assert value == pytest.approx(programme.fun, rel=3e-3)


def test_a_small_c_leaves_all_weights_at_zero_with_the_l1_penalty(problem):
    features, grouped, _, _ = problem
    found = solve_smoothed_hinge(features, grouped, scaled(problem, 1e-3), np.ones(features.shape[1]), "l1")
    np.testing.assert_array_equal(found, 0.0)
