"""ARSM against enumeration and brute force; the measure under ties against permutations; the net and Adam."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.models.arsm import (
    ARSM,
    ARSMParams,
    TanhNet,
    arsm_gradient,
    entropy_gradient,
    expected_value,
    measure_of,
    swapped_values,
)
from gradrank.training.nets.net import Net
from gradrank.training.selection import Criterion
from gradrank.training.solvers.adam import Adam, Average
from studies.arsm.gradient import Estimates, estimates

MEASURES = ["ndcg@10", "ndcg@2", "ap", "p@2"]
every_measure = pytest.mark.parametrize("name", MEASURES)


def offsets_of(*sizes):
    return np.r_[0, np.cumsum(sizes)].astype(np.int64)


def over_tie_orders(name, levels, labels):
    """The measure of one query, averaged over the file orders of its documents: ties keep file order."""
    rows = np.array(list(permutations(range(len(labels)))))
    scores, grades = levels[rows].astype(np.float64), labels[rows]
    if name.startswith("p@"):
        k = int(name[2:])
        ranked = np.take_along_axis(grades, np.argsort(-scores, axis=1, kind="stable"), axis=1)
        return float(np.mean((ranked[:, :k] > 0).sum(axis=1) / k))
    offsets = np.arange(len(rows) + 1) * len(labels)
    return float(Criterion(name.replace("ap", "map"), grades.ravel(), offsets).per_query(scores.ravel()).mean())


def drawn_levels(phi, pi):
    return np.argmin(np.log(pi) - phi, axis=1)


def swapped(phi, pi, labels, name):
    """Ours: (C, C) values of one query."""
    measure = measure_of(name, labels, offsets_of(len(labels)))
    return measure.scale[0] * swapped_values(phi, np.log(pi), measure.gain, measure)


@st.composite
def one_query(draw):
    """phi and pi of (n, C), labels of (n,): n up to 5, C from 2 to 6, grades up to 30."""
    n, levels = draw(st.integers(1, 5)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    phi = rng.normal(0.0, draw(st.sampled_from([0.0, 0.3, 3.0, 30.0])), (n, levels))
    labels = draw(st.lists(st.sampled_from([0, 0, 1, 2, 30]), min_size=n, max_size=n))
    return phi, rng.dirichlet(np.ones(levels), n), np.array(labels, np.int32)


@every_measure
@given(query=one_query())
@settings(max_examples=40, deadline=None)
def test_every_swap_equals_brute_force_over_tie_orders(name, query):
    phi, pi, labels = query
    values = swapped(phi, pi, labels, name)
    for c, k in product(range(phi.shape[1]), repeat=2):
        exchanged = pi.copy()
        exchanged[:, [c, k]] = pi[:, [k, c]]
        expected = over_tie_orders(name, drawn_levels(phi, exchanged), labels)
        assert values[c, k] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@every_measure
@pytest.mark.parametrize("levels", [3, 20, 90])
def test_a_swap_gives_what_its_levels_give_from_the_start(name, levels):
    """The values are equal to the last bit, because unchanged levels are not computed in another order."""
    phi, races, labels, offsets = drawn(sizes=(30,), levels=levels)
    pi, measure = races / races.sum(axis=1, keepdims=True), measure_of(name, labels, offsets)
    values = swapped_values(phi, np.log(pi), measure.gain, measure)
    for c, k in product(range(levels), repeat=2):
        exchanged = pi.copy()
        exchanged[:, [c, k]] = pi[:, [k, c]]
        z = drawn_levels(phi, exchanged)
        histograms = np.bincount(z, minlength=levels), np.bincount(z, measure.gain, minlength=levels)
        assert values[c, k] == expected_value(*histograms, measure)


def exact_gradient(phi, labels, name):
    """d/dphi of -sum over all levels z of P(z) measure(z), P(z) = prod_j softmax(phi_j)[z_j]."""
    p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
    gradient = np.zeros_like(phi)
    for levels in product(range(phi.shape[1]), repeat=len(phi)):
        chosen = np.eye(phi.shape[1])[list(levels)]
        probability = np.prod((p * chosen).sum(axis=1))
        gradient -= probability * over_tie_orders(name, np.array(levels), labels) * (chosen - p)
    return gradient


@every_measure
def test_estimate_is_unbiased(name):
    """n = 3, C = 4: the mean of 400,000 draws lies within 4 standard errors of the enumerated gradient.

    The standard error is below 1% of the largest component, so a wrong factor or sign would be seen.
    """
    draws, labels = 400_000, np.array([0, 2, 1], np.int32)
    rng = np.random.default_rng(8)
    phi = rng.normal(size=(3, 4))
    offsets = np.arange(draws + 1) * 3
    measure = measure_of(name, np.tile(labels, draws), offsets)
    _, estimates = arsm_gradient(np.tile(phi, (draws, 1)), rng.standard_exponential((3 * draws, 4)), offsets, measure)
    estimates = estimates.reshape(draws, 3, 4)
    error = estimates.std(axis=0) / np.sqrt(draws)
    exact = exact_gradient(phi, labels, name)
    assert error.max() < 0.01 * np.abs(exact).max()
    np.testing.assert_array_less(np.abs(estimates.mean(axis=0) - exact), 4.0 * error)


@pytest.fixture(scope="module")
def compared():
    """The study's estimators on one query of n = 3 at C = 4, by name, and the enumerated gradient."""
    labels, rng = np.array([0, 2, 1], np.int32), np.random.default_rng(3)
    phi = rng.normal(size=(3, 4))
    return estimates(phi, labels, 60_000, rng)._asdict(), exact_gradient(phi, labels, "ndcg@10")


@pytest.mark.parametrize("estimator", Estimates._fields)
def test_estimators_that_the_study_compares_share_one_mean(compared, estimator):
    """Within 4 standard errors of the enumerated gradient, these below a fifth of its largest component."""
    found, exact = compared[0][estimator], compared[1]
    error = found.std(axis=0) / np.sqrt(len(found))
    assert error.max() < 0.2 * np.abs(exact).max()
    np.testing.assert_array_less(np.abs(found.mean(axis=0) - exact), 4.0 * error)


def test_the_study_s_arsm_is_the_one_that_trains():
    labels, phi = np.array([0, 2, 1, 0], np.int32), np.random.default_rng(0).normal(size=(4, 5))
    races = np.random.default_rng(1).standard_exponential((3, 4, 5))
    found = estimates(phi, labels, 3, np.random.default_rng(1)).arsm
    for draw in range(3):
        _, expected = arsm_gradient(phi, races[draw], offsets_of(4), measure_of("ndcg@10", labels, offsets_of(4)))
        np.testing.assert_allclose(found[draw], expected, rtol=0, atol=1e-14)


def test_entropy_gradient_by_differences():
    rng = np.random.default_rng(0)
    phi, offsets = rng.normal(size=(5, 4)), offsets_of(2, 3)

    def negative_entropy(phi):
        p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
        return sum((p * np.log(p))[a:b].sum() / (b - a) for a, b in pairwise(offsets))

    found = entropy_gradient(phi, offsets)
    for index in np.ndindex(phi.shape):
        step = np.zeros_like(phi)
        step[index] = 1e-6
        slope = (negative_entropy(phi + step) - negative_entropy(phi - step)) / 2e-6
        assert found[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def drawn(seed=0, sizes=(6, 1, 40, 300), levels=20):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    labels = rng.choice(3, n, p=[0.7, 0.2, 0.1]).astype(np.int32)
    return rng.normal(size=(n, levels)), rng.standard_exponential((n, levels)), labels, offsets_of(*sizes)


@every_measure
def test_gradient_follows_the_formula(name):
    """sum_k (L_ck - mean_m L_mk)(1/C - pi_jk) with the swaps' values, on queries of ordinary size."""
    phi, races, labels, offsets = drawn()
    measure = measure_of(name, labels, offsets)
    loss, gradient = arsm_gradient(phi, races, offsets, measure)
    pi = races / races.sum(axis=1, keepdims=True)
    total = 0.0
    for q, (a, b) in enumerate(pairwise(offsets)):
        one = -measure.scale[q] * swapped_values(phi[a:b], np.log(pi[a:b]), measure.gain[a:b], measure)
        np.testing.assert_array_equal(one, one.T)
        centred = one - one.mean(axis=0)
        np.testing.assert_allclose(gradient[a:b], (1 / 20 - pi[a:b]) @ centred.T, rtol=0, atol=1e-12)
        total += one[0, 0]
    assert loss == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12)  # a shift of phi changes no level


@pytest.mark.parametrize("name", ["ndcg", "ndcg@0", "map", "p@", "ap@10"])
def test_unknown_measure_is_refused(name):
    with pytest.raises(GradrankError, match=f"measure {name!r}"):
        measure_of(name, np.zeros(3, np.int32), offsets_of(3))
    with pytest.raises(ValueError, match="loss"):
        ARSMParams(loss=name)


def test_backward_is_the_derivative_of_forward():
    rng = np.random.default_rng(0)
    net = TanhNet(3, 4, 2, rng)
    net.parameters = [rng.normal(size=p.shape) for p in net.parameters]  # float64, for differences
    x, weight = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    net.forward(x)
    for p, gradient in zip(net.parameters, net.backward(weight), strict=True):
        for index in np.ndindex(p.shape):
            kept, values = p[index], []
            for step in (1e-6, -1e-6):
                p[index] = kept + step
                values.append(float((net.forward(x) * weight).sum()))
            p[index] = kept
            assert gradient[index] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6, abs=1e-8)


def test_adam_steps_as_torch_does():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    ours, theirs = np.zeros(4, np.float32), torch.zeros(4, requires_grad=True)
    adam, reference = Adam([ours], 0.01), torch.optim.Adam([theirs], lr=0.01)
    for _ in range(20):
        gradient = (rng.normal(size=4) * [1.0, 1e-3, 10.0, 0.0]).astype(np.float32)
        adam.step([gradient])
        theirs.grad = torch.from_numpy(gradient)
        reference.step()
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-5)


def test_a_weight_that_only_decays_ends_at_nothing():
    """Otherwise it would be subnormal for thousands of steps, which makes all computations with it slow."""
    weight = np.full(3, 0.1, np.float32)
    adam = Adam([weight], 1e-3)
    for _ in range(10_000):
        adam.step([np.float32(0.02) * weight])
    assert not weight.any() and not adam.first[0].any()


def test_average_follows_the_parameters():
    """Without a window it equals them; with a window it approaches constant parameters from any start."""
    last, long = np.array([5.0]), np.array([5.0])
    follows, slow = Average([last], 1.0), Average([long], 100.0)
    for value in [1.0, 3.0, *[2.0] * 400]:
        last[0] = long[0] = value
        follows.step()
        slow.step()
        assert follows.means[0][0] == pytest.approx(value)
    assert slow.means[0][0] == pytest.approx(2.0, abs=0.01)
    long[0] = 12.0
    slow.step()
    assert slow.means[0][0] == pytest.approx(2.1, abs=0.01)  # a hundredth of the way


def test_score_is_the_expected_level():
    phi = np.array([[0.0, 0.0, 0.0], [900.0, 0.0, 0.0], [0.0, 0.0, 900.0], [0.0, np.log(2.0), 0.0]])

    class Fixed:
        def outputs(self, features):
            return phi.astype(np.float32)

    expected = [2.0, 1.0, 3.0, (1.0 + 2.0 * 2.0 + 3.0) / 4.0]
    np.testing.assert_allclose(ARSM(Fixed()).score(np.zeros((4, 1)), offsets_of(4)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("combination", "expected"), [("square", (1 + 4 * 2 + 9) / 4), ("upper_half", (2 + 1) / 4), ("likeliest", 2.0)]
)
def test_other_combinations_of_the_levels_probabilities(combination, expected, tmp_path):
    """p = (1/4, 1/2, 1/4); saved and loaded it is the same."""
    layers = [np.zeros((2, 1), np.float32), np.zeros((1, 3), np.float32)]
    biases = [np.zeros(1, np.float32), np.log([1.0, 2.0, 1.0]).astype(np.float32)]
    model = ARSM(Net.of_layers(layers, biases, np.zeros(2), np.ones(2), "tanh"), combination)
    model.save(tmp_path)
    for each in (model, ARSM.load(tmp_path)):
        np.testing.assert_allclose(each.score(np.ones((4, 2), np.float32), offsets_of(4)), expected, rtol=1e-6)
