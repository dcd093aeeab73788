"""Bootstrap, randomisation and equivalence tests, compared with SciPy and with enumerations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_1samp, ttest_rel

from gradrank.comparison.significance import RESAMPLES, bootstrap_test, randomisation_test
from gradrank.comparison.statistics import effect_size, equivalence, paired_t

DRAW = np.random.default_rng(0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9))
def test_randomisation_is_the_enumeration_of_signs(gaps):
    sums = [abs(np.dot(gaps, signs)) for signs in product([-1, 1], repeat=len(gaps))]
    expected = np.mean(np.array(sums) >= abs(sum(gaps)))
    assert randomisation_test(np.array(gaps) / 100, np.zeros(len(gaps))) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("queries", [4, 12])
def test_randomisation_is_scipys_exact_test(queries):
    a, b = DRAW.random((2, queries))
    theirs = permutation_test((a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf)
    assert randomisation_test(a, b) == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05])
def test_random_signs_and_bootstrap_are_near_students_test_for_many_queries(shift):
    a = DRAW.random(400)
    b = a + DRAW.normal(-shift, 0.3, 400)
    p = ttest_rel(a, b).pvalue
    error = 4 * np.sqrt(p * (1 - p) / RESAMPLES) + 0.003
    assert randomisation_test(a, b) == pytest.approx(p, abs=error)
    assert bootstrap_test(a, b) == pytest.approx(p, abs=error)


def test_bootstrap_is_the_enumeration_of_all_samples():
    gaps = np.array([0.3, -0.1, 0.45, 0.2])

    def statistic(sample):
        mean, deviation = np.mean(sample), np.std(sample, ddof=1)
        return abs(mean) / (deviation / 2) if deviation > 1e-12 else np.inf * (abs(mean) > 1e-12)

    shifted = gaps - gaps.mean()
    samples = np.array([statistic(shifted[list(rows)]) for rows in product(range(4), repeat=4)])
    expected = np.mean(samples >= statistic(gaps))
    assert bootstrap_test(gaps, np.zeros(4)) == pytest.approx(expected, abs=4 * np.sqrt(0.25 / RESAMPLES))


@pytest.mark.parametrize("test", [bootstrap_test, randomisation_test])
def test_p_values_are_seeded_symmetric_and_positive(test):
    a = DRAW.random(100)
    b = a + DRAW.normal(0.02, 0.2, 100)
    assert test(a, b, seed=3) == test(a, b, seed=3)
    assert test(a, b, seed=3) == pytest.approx(test(b, a, seed=3), abs=0.02)
    assert test(a, a) == 1.0
    assert test(a + 0.5, a) == 1 / (1 + RESAMPLES)
    assert np.isnan(test(np.array([]), np.array([])))


def test_undefined_values_are_left_out():
    a, b = np.array([0.1, np.nan, 0.4, 0.7]), np.array([0.3, 0.2, 0.1, 0.6])
    kept = [0, 2, 3]
    for test in (bootstrap_test, randomisation_test, effect_size, lambda x, y: equivalence(x, y, 0.1)):
        assert test(a, b) == test(a[kept], b[kept])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.05, 0.2]))
def test_equivalence_is_the_larger_of_two_one_sided_tests(seed, margin):
    draw = np.random.default_rng(seed)
    a = draw.random(20)
    b = a + draw.normal(0.02, 0.1, 20)
    above = ttest_1samp(a - b, -margin, alternative="greater").pvalue
    below = ttest_1samp(a - b, margin, alternative="less").pvalue
    assert equivalence(a, b, margin) == pytest.approx(max(above, below), rel=1e-9)


def test_equivalence_of_a_constant_difference():
    a = np.array([0.25, 0.5, 0.75])
    assert (equivalence(a, a, 0.1), equivalence(a, a + 0.05, 0.1), equivalence(a, a + 0.5, 0.1)) == (0.0, 0.0, 1.0)
    assert np.isnan(equivalence(a[:1], a[:1], 0.1))


def test_the_effect_size_is_students_t_over_the_root_of_the_queries():
    a, b = DRAW.random((2, 30))
    assert effect_size(a, b) == pytest.approx(ttest_rel(a, b).statistic / np.sqrt(30), rel=1e-9)
    assert paired_t(a, b) == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-9)
    assert np.isnan(effect_size(a, a))
