"""The combination of probabilities has the properties of section 3.1 of the 2005 paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from studies.ranknet2005.posteriors import chain, combine, figure1_cost, posteriors

inside = st.floats(1e-6, 1 - 1e-6)
neighbours = st.lists(st.floats(0.1, 0.9), min_size=1, max_size=5)


@given(inside, inside)
def test_formula_as_printed(p, q):
    assert combine(p, q) == pytest.approx(p * q / (1 + 2 * p * q - p - q), rel=1e-6)


@given(inside)
def test_indifference_changes_nothing_and_opposites_cancel(p):
    assert combine(p, 0.5) == pytest.approx(p, rel=1e-14)
    assert combine(p, 1 - p) == pytest.approx(0.5, rel=1e-9)


@given(inside, inside, inside)
def test_order_is_irrelevant(p, q, r):
    assert combine(p, q) == combine(q, p)
    assert combine(combine(p, q), r) == pytest.approx(combine(p, combine(q, r)), rel=1e-9)


def test_contradicting_certainties_are_undefined():
    np.testing.assert_equal(combine([0.0, 1.0], [1.0, 0.0]), [np.nan, np.nan])


@given(st.floats(0.01, 0.99), st.integers(1, 12))
def test_chain_is_repeated_combination_and_its_closed_form(p, n):
    repeated = p
    for _ in range(n - 1):
        repeated = combine(repeated, p)
    odds = (p / (1 - p)) ** n
    assert chain(p, n) == pytest.approx(repeated, rel=1e-9)
    assert chain(p, n) == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert chain(p, 0) == 0.5


@given(st.floats(0.01, 0.99), st.integers(1, 6))
def test_a_longer_chain_is_strictly_farther_from_one_half(p, n):
    near, far = chain(p, n) - 0.5, chain(p, n + 1) - 0.5
    if abs(p - 0.5) < 1e-9:
        assert near == pytest.approx(0.0, abs=1e-8) and far == pytest.approx(0.0, abs=1e-8)
    else:
        assert np.sign(near) == np.sign(far) == np.sign(p - 0.5) and abs(far) > abs(near)


@given(neighbours)
def test_neighbours_determine_a_consistent_whole(adjacent):
    p = posteriors(np.array(adjacent))
    n = len(adjacent) + 1
    np.testing.assert_allclose(np.diagonal(p, 1), adjacent, rtol=1e-12)
    np.testing.assert_allclose(p + p.T, 1.0, rtol=1e-14)
    for i in range(n):
        for j in range(n):
            np.testing.assert_allclose(combine(p[i, j], p[j]), p[i], rtol=1e-6, atol=1e-9)


def test_posteriors_across_a_certain_step():
    """A certain step decides all pairs across it and leaves the others unchanged; no step gives one item."""
    p = posteriors(np.array([0.3, 1.0, 0.4]))
    assert p[0, 1] == pytest.approx(0.3) and p[2, 3] == pytest.approx(0.4)
    assert p[0, 2] == p[0, 3] == p[1, 2] == p[1, 3] == 1.0
    assert np.isnan(posteriors(np.array([1.0, 0.0]))[0, 2])
    assert posteriors(np.array([])).tolist() == [[0.5]]


def test_figure1_cost_has_the_limits_that_the_paper_names():
    """The cost is linear in the wrong direction and vanishes in the right one; for target 1/2 it is even, with log 2
    at 0.
    """
    o, curves = figure1_cost()
    assert o[0] == -5 and o[-1] == 5 and len(o) == 201
    np.testing.assert_allclose(curves[1.0], np.log(1 + np.exp(-o)), rtol=1e-12)
    np.testing.assert_allclose(curves[0.0], curves[1.0][::-1], rtol=1e-9)
    np.testing.assert_allclose(curves[0.5], (curves[0.0] + curves[1.0]) / 2, rtol=1e-12)
    assert curves[0.5].min() == curves[0.5][100] == pytest.approx(np.log(2))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_values_outside_0_and_1_are_refused(wrong):
    for call in (lambda: combine(wrong, 0.5), lambda: chain(wrong, 2), lambda: posteriors([wrong])):
        with pytest.raises(GradrankError, match=r"outside \[0, 1\]"):
            call()
    with pytest.raises(GradrankError, match="-1 steps"):
        chain(0.5, -1)
