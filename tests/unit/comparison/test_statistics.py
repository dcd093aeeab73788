"""Intervals and paired tests against enumerations, tables and by-hand corrections."""

from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.comparison.statistics import (
    compare_all,
    friedman_nemenyi,
    holm,
    mean_difference,
    mean_interval,
    paired_t,
    paired_test,
    prediction_interval,
    wilcoxon,
    win_tie_loss,
)
from gradrank.comparison.variance import query_term


def test_mean_interval_by_hand():
    # sd 1, n = 3; with two degrees of freedom the quantile of t is (2p - 1) / sqrt(2p(1 - p)).
    half = 0.95 / np.sqrt(2 * 0.975 * 0.025) / np.sqrt(3)
    interval = mean_interval(np.array([1.0, 2.0, np.nan, 3.0]))
    assert interval.mean == 2.0
    assert interval.high == pytest.approx(2 + half, abs=1e-9)
    assert interval.low == pytest.approx(2 - half, abs=1e-9)


def test_mean_interval_of_one_or_no_value():
    assert mean_interval(np.array([0.5])).mean == 0.5
    assert np.isnan(mean_interval(np.array([0.5])).low)
    assert np.isnan(mean_interval(np.array([np.nan])).mean)


def test_prediction_interval_by_hand():
    # As above; one further value varies, too: sqrt(1 + 1/3) in place of sqrt(1/3).
    half = 0.95 / np.sqrt(2 * 0.975 * 0.025) * np.sqrt(4 / 3)
    assert prediction_interval(np.array([1.0, 2.0, 3.0])) == pytest.approx((2, 2 - half, 2 + half), abs=1e-9)
    assert np.isnan(prediction_interval(np.array([1.0])).high)


def test_intervals_of_equal_values_have_no_width():
    assert mean_interval(np.ones(4)) == prediction_interval(np.ones(4)) == (1.0, 1.0, 1.0)


def test_paired_t_of_students_sleep_data():
    # Student 1908: extra hours of sleep under two drugs; t = -4.0621, 9 degrees of freedom, p = 0.002833.
    a = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    b = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    assert paired_t(a, b) == pytest.approx(0.00283289, abs=1e-8)
    assert paired_t(b, a) == paired_t(a, b)


def test_tests_of_equal_and_of_constantly_different_values():
    a = np.array([0.2, 0.4, 0.6])
    assert paired_t(a, a) == wilcoxon(a, a) == 1.0
    assert paired_t(a + 0.25, a) == 0.0
    assert np.isnan(paired_t(a[:1], a[:1]))


def enumerated_signed_rank(gaps):
    """Return the two-sided p by enumeration of all signs."""
    ranks = np.argsort(np.argsort(np.abs(gaps))) + 1
    sums = np.array([np.dot(ranks, signs) for signs in product([0, 1], repeat=len(gaps))])
    seen = ranks[np.array(gaps) > 0].sum()
    return min(1.0, 2 * min(np.mean(sums <= seen), np.mean(sums >= seen)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-40, 40).filter(bool), min_size=1, max_size=9, unique_by=abs), st.integers(0, 3))
def test_wilcoxon_is_the_enumeration_of_signs(gaps, equal):
    a = np.array([*gaps, *[0] * equal], dtype=float)
    assert wilcoxon(a, np.zeros(len(a))) == pytest.approx(enumerated_signed_rank(gaps), abs=1e-12)


def test_gaps_that_differ_by_rounding_alone_are_ties():
    a, b = np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.25])
    assert win_tie_loss(a, b) == (1, 1, 0)
    assert win_tie_loss(np.array([np.nan, 1.0]), np.array([0.0, 2.0])) == (0, 0, 1)


@pytest.mark.parametrize(
    ("p", "corrected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([0.02, np.nan, 0.01], [0.02, np.nan, 0.02]),
        ([], []),
    ],
)
def test_holm_by_hand(p, corrected):
    np.testing.assert_allclose(holm(p), corrected, rtol=1e-15)


def test_mean_difference_is_seeded_and_its_interval_near_the_normal_one():
    draw = np.random.default_rng(1)
    a, b, folds = draw.normal(0.45, 0.3, 1500), draw.normal(0.44, 0.3, 1500), np.repeat([1, 2, 3], 500)
    one = mean_difference(a, b, folds, seed=7)
    assert one == mean_difference(a, b, folds, seed=7)
    assert one != mean_difference(a, b, folds, seed=8)
    error = np.std(a - b, ddof=1) / np.sqrt(1500)
    assert one.mean == pytest.approx(np.mean(a - b), abs=1e-12)
    # The standard error of a 2.5% quantile of 2000 resamples is .06 of the mean's.
    assert one.low == pytest.approx(one.mean - 1.96 * error, abs=0.2 * error)
    assert one.high == pytest.approx(one.mean + 1.96 * error, abs=0.2 * error)


def over_folds(values, folds):
    """Return the mean over folds of the folds' means, in plain Python."""
    own = {}
    for value, fold in zip(values, folds, strict=True):
        if value == value:
            own.setdefault(fold, []).append(value)
    return fmean(map(fmean, own.values()))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1))
def test_mean_difference_is_that_of_the_means_over_unequal_folds(queries):
    folds, a, b, dropped = map(np.array, zip(*queries, strict=True))
    if dropped.all():
        return
    a, b = np.where(dropped, np.nan, a), np.where(dropped, np.nan, b)
    assert mean_difference(a, b, folds).mean == pytest.approx(over_folds(a, folds) - over_folds(b, folds), abs=1e-9)


def test_bootstrap_is_the_enumeration_of_resamples():
    """Three queries in folds of two and one: all 27 resamples, weights 3/4, 3/4, 3/2."""
    gaps, folds = np.array([0.1, 0.5, 0.3]), np.array([1, 1, 2])
    weights = np.array([0.75, 0.75, 1.5])
    means = []
    for drawn in map(list, product(range(3), repeat=3)):
        means.append(np.dot(weights[drawn], gaps[drawn]) / weights[drawn].sum())
    interval = mean_difference(gaps, np.zeros(3), folds, seed=1)
    # Of 27 equal shares the least, .1 alone, and the greatest, .5 alone, have 3.7%: more than the tails' 2.5%.
    assert interval == pytest.approx((0.3, min(means), max(means)), abs=1e-12)


def test_a_constant_difference_has_an_interval_of_no_width():
    """The folds' sizes vary between resamples."""
    a = np.random.default_rng(0).random(40)
    assert mean_difference(a + 0.25, a, np.repeat([1, 2], [5, 35])) == pytest.approx((0.25, 0.25, 0.25), abs=1e-9)


def test_compare_all_has_every_pair_with_its_own_tests():
    draw = np.random.default_rng(2)
    base, folds = draw.uniform(size=200), np.repeat([1, 2, 3], [20, 80, 100])
    methods = {name: base + draw.normal(shift, 0.1, 200) for name, shift in (("a", 0), ("b", 0.1), ("c", 0))}
    methods["c"][5] = np.nan
    rows = compare_all(methods, folds, seed=3)
    assert [(row["model_a"], row["model_b"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    keep = np.arange(200) != 5
    for row in rows:
        a, b = methods[row["model_a"]][keep], methods[row["model_b"]][keep]
        expected = paired_test(a, b, folds[keep], seed=3)
        assert {key: row[key] for key in expected._fields} == pytest.approx(expected._asdict(), abs=1e-11)
        assert row["queries"] == 199
        assert row["difference"] == pytest.approx(over_folds(a, folds[keep]) - over_folds(b, folds[keep]), abs=1e-11)
        assert (row["t"], row["wilcoxon"]) == (paired_t(a, b), wilcoxon(a, b))
        assert (row["wins"], row["ties"], row["losses"]) == win_tie_loss(a, b)
    assert [row["t_holm"] for row in rows] == list(holm([row["t"] for row in rows]))
    assert [row["wilcoxon_holm"] < 0.05 for row in rows] == [True, False, True]


def test_compare_all_refuses_different_queries():
    with pytest.raises(GradrankError, match="different numbers of queries"):
        compare_all({"a": np.zeros(3), "b": np.zeros(4)}, np.ones(3))


def test_friedman_nemenyi_by_hand():
    # Ranks 1 2 3, 1 2 3, 1 3 2, 1.5 1.5 3. Demšar 2006, Table 5: q = 2.343 for three methods.
    values = np.array([[3, 2, 1], [9, 5, 4], [3, 1, 2], [4, 4, 0]], dtype=float)
    result = friedman_nemenyi(dict(zip("xyz", values.T, strict=True)))
    assert result.ranks == {"x": 1.125, "y": 2.125, "z": 2.75}
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), abs=1e-3)
    # 12/(n k (k+1)) sum R^2 - 3 n (k+1), over 1 - (ties: 2^3 - 2) / (n (k^3 - k)); two degrees of freedom.
    chi2 = (12 / (4 * 3 * 4) * (4.5**2 + 8.5**2 + 11**2) - 3 * 4 * 4) / (1 - 6 / (4 * 24))
    assert result.p == pytest.approx(np.exp(-chi2 / 2), abs=1e-12)


def test_methods_that_are_all_alike():
    result = friedman_nemenyi({name: np.ones(5) for name in "abc"})
    assert result.p == 1.0
    with pytest.raises(GradrankError, match="3 methods"):
        friedman_nemenyi({"a": np.ones(5), "b": np.ones(5)})


def overlapping(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values of two methods on three folds whose test parts overlap: query 0 to 11, of which each fold tests seven."""
    draw = np.random.default_rng(seed)
    queries = np.concatenate([draw.choice(12, 7, replace=False) for _ in range(3)])
    a, b = draw.random((2, len(queries)))
    return a, b, np.repeat([1, 2, 3], 7), queries


@pytest.mark.parametrize("seed", range(5))
def test_a_query_of_several_folds_is_one_observation(seed):
    a, b, folds, queries = overlapping(seed)
    once_a, once_b = (np.array([fmean(x[queries == query]) for query in np.unique(queries)]) for x in (a, b))
    test = paired_test(a, b, folds, queries=queries)
    assert test.queries == len(once_a) == test.wins + test.ties + test.losses
    assert test.t == pytest.approx(paired_t(once_a, once_b)) and test.wilcoxon == pytest.approx(
        wilcoxon(once_a, once_b)
    )
    by_fold = [fmean((a - b)[folds == fold]) for fold in (1, 2, 3)]
    assert test.difference == pytest.approx(fmean(by_fold))
    (row,) = compare_all({"a": a, "b": b}, folds, queries=queries)
    assert {key: row[key] for key in test._fields} == pytest.approx(test._asdict())
    ranks = friedman_nemenyi({"a": a, "b": b, "c": a + b}, folds=folds, queries=queries)
    once = friedman_nemenyi({"a": once_a, "b": once_b, "c": once_a + once_b})
    assert ranks.ranks == pytest.approx(once.ranks) and ranks.p == pytest.approx(once.p)


def test_repeating_a_fold_adds_no_evidence():
    draw = np.random.default_rng(7)
    a, b, queries = draw.random(30) + 0.1, draw.random(30), np.arange(30)
    single = paired_test(a, b, np.ones(30), queries=queries)
    thrice = paired_test(np.tile(a, 3), np.tile(b, 3), np.repeat([1, 2, 3], 30), queries=np.tile(queries, 3))
    assert thrice == pytest.approx(single)
    assert paired_test(np.tile(a, 3), np.tile(b, 3), np.repeat([1, 2, 3], 30)).t < single.t
    assert query_term(np.tile(a, 3), np.repeat([1, 2, 3], 30), np.tile(queries, 3)).variance == pytest.approx(
        query_term(a, np.ones(30)).variance
    )


def test_distinct_queries_give_the_same_bytes_with_and_without_their_ids():
    a, b, folds, _ = overlapping(1)
    assert paired_test(a, b, folds, queries=np.arange(21)) == paired_test(a, b, folds)
    assert query_term(a, folds, np.arange(21)) == query_term(a, folds)
