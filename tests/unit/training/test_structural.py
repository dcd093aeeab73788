"""Cutting planes against other solvers, and the most violating ranking against all rankings there are."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from gradrank.data.collection import Collection
from gradrank.models.structural import CuttingPlanes, MAPRisk, PairRisk, most_violating
from gradrank.training.solvers.ranksvm import solve_dual


def collection(seed, sizes=(6, 9, 5, 8), features=4, grades=3):
    rng = np.random.default_rng(seed)
    values = rng.random((sum(sizes), features)).astype(np.float32)
    noisy = values @ rng.normal(size=features) + rng.normal(0.0, 0.4, sum(sizes))
    labels = np.digitize(noisy, np.quantile(noisy, np.linspace(0.5, 0.9, grades - 1))).astype(np.int32)
    return Collection(values, labels, np.r_[0, np.cumsum(sizes)], np.arange(len(sizes)))


def average_precision(ranked):
    hits = np.cumsum(ranked)
    return (hits / np.arange(1, len(ranked) + 1))[ranked].mean()


def violation(scores, relevant, ranking):
    """1 - AP(y') + w.Psi(y') - w.Psi(y) of a ranking, best document first."""
    ranking = np.asarray(ranking)
    total, place = 1.0 - average_precision(relevant[ranking]), np.argsort(ranking)
    good, bad = np.flatnonzero(relevant), np.flatnonzero(~relevant)
    swapped = place[good][:, None] > place[bad]
    return total - 2.0 * ((scores[good][:, None] - scores[bad]) * swapped).sum() / swapped.size


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_most_violating_ranking_is_the_worst_of_all(seed, scale):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    scores = scale * rng.normal(size=n).round(1)  # ties occur
    relevant = np.zeros(n, bool)
    relevant[rng.permutation(n)[: rng.integers(1, n)]] = True
    value, slopes = most_violating(scores, relevant, np.array([0, n]), np.argsort(-scores, kind="stable"))
    worst = max(violation(scores, relevant, each) for each in permutations(range(n)))
    assert value == pytest.approx(worst, abs=1e-12)
    assert slopes.sum() == pytest.approx(0.0, abs=1e-12)
    for other in rng.normal(size=(5, n)):  # a subgradient: the tangent plane stays below
        above, _ = most_violating(other, relevant, np.array([0, n]), np.argsort(-other, kind="stable"))
        assert above >= value + slopes @ (other - scores) - 1e-12


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_cutting_planes_find_what_dual_coordinate_descent_finds(C):
    data = collection(2)
    planes = CuttingPlanes(PairRisk(data, "pair"), 4, 1e-9)
    pairs = data.pairs
    found, _ = solve_dual(
        data.features.astype(np.float64),
        pairs.better,
        pairs.worse,
        np.full(len(pairs), C),
        "l1",
        np.zeros(len(pairs)),
        1e-10,
        np.random.default_rng(0),
    )
    planes.solve(C / 7.0)  # whose planes serve the next C
    np.testing.assert_allclose(planes.solve(C), found, rtol=1e-3, atol=1e-4)


def test_svm_map_is_at_a_minimum():
    """No step in any direction lowers the objective, which is convex."""
    risk = MAPRisk(collection(3), "svm_map")
    C = 20.0
    weights = CuttingPlanes(risk, 4, 1e-8).solve(C)

    def objective(w):
        return 0.5 * w @ w + C * risk(w)[0]

    reached = objective(weights)
    other = minimize(objective, weights, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9})
    assert reached <= other.fun + 1e-6 * reached
    assert reached < objective(np.zeros(4))
