"""P values of many pairs at once, compared with SciPy's tests of each pair."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp
from scipy.stats import wilcoxon as scipy_wilcoxon

from gradrank.comparison.statistics import EXACT, compare_all, signed_rank_p_values, student_p_values

CLOSE = 2e-16


def scipy_signed_rank(gaps: np.ndarray) -> float:
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    is_exact = len(gaps) <= EXACT and len(np.unique(np.abs(gaps))) == len(gaps)
    return scipy_wilcoxon(gaps, method="exact" if is_exact else "asymptotic")[1]


def made_gaps(queries: int) -> np.ndarray:
    """Return differences that are continuous, tied, often 0, always 0, nearly always positive, and very small."""
    rng = np.random.default_rng(queries)
    continuous = rng.normal(size=queries)
    rows = [continuous, continuous.round(1), np.where(continuous < 0.3, 0.0, continuous), 0 * continuous]
    return np.stack([*rows, continuous + 1.5, 1e-9 * continuous.round(3)])


@pytest.mark.parametrize("queries", [2, 3, 40, 50, 51, 400, 5000])
def test_p_values_are_those_of_scipy(queries):
    gaps = made_gaps(queries)
    expected = [scipy_signed_rank(row) for row in gaps]
    np.testing.assert_allclose(signed_rank_p_values(gaps), expected, rtol=0, atol=CLOSE)
    varied = gaps[np.ptp(gaps, axis=1) > 0]
    expected = [ttest_1samp(row, 0.0)[1] for row in varied]
    np.testing.assert_allclose(student_p_values(varied), expected, rtol=0, atol=CLOSE)


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.integers(-3, 3)))
def test_signed_ranks_of_few_distinct_differences(gaps):
    expected = [scipy_signed_rank(row) for row in gaps]
    np.testing.assert_allclose(signed_rank_p_values(gaps), expected, rtol=0, atol=CLOSE)


def test_constant_differences_and_too_few_queries():
    gaps = np.repeat([[0.0], [0.25], [-0.5]], 4, axis=1)
    assert student_p_values(gaps).tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(student_p_values(gaps[:, :1])).all()
    assert signed_rank_p_values(np.empty((2, 0))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("baseline", [None, "c"])
def test_the_layout_of_an_array_changes_no_digit(baseline):
    values = dict(zip("abcde", np.random.default_rng(1).random((5, 301)), strict=True))
    folds = np.repeat([1, 2, 3], [100, 100, 101])
    pairs = combinations("abcde", 2) if baseline is None else [(name, "c") for name in "abde"]
    rows = compare_all(values, folds, baseline=baseline)
    assert [(row["model_a"], row["model_b"]) for row in rows] == list(pairs)
    for row in rows:
        (alone,) = compare_all({name: values[name] for name in (row["model_a"], row["model_b"])}, folds)
        assert {key: row[key] for key in ("difference", "t", "wilcoxon", "wins")} == {
            key: alone[key] for key in ("difference", "t", "wilcoxon", "wins")
        }
