"""Model confidence sets: oracles for two and for independent methods, error rates in simulated comparisons."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import studentized_range

from gradrank.bench.folds.per_query import read_compact
from gradrank.comparison.significance import DRAWS, best_methods, candidates, covariance_of_errors
from gradrank.comparison.statistics import LEVEL, paired_t

ROOT = Path(__file__).parents[3]
METHODS = [
    "single_feature",
    "regression",
    "ranksvm",
    "ranknet_linear",
    "listnet",
    "coordinate_ascent",
    "prank",
    "adarank_ndcg",
    "rankboost",
    "ranknet_kernel",
    "ranknet_two_layer",
    "lambdarank",
    "softmax",
    "approx_ndcg",
    "lambdaloss",
    "attention_lambdaloss",
    "mart",
    "lambdamart",
    "xendcg",
    "fusion",
]  # of the contest
CHANCE = 4 * math.sqrt(0.25 / DRAWS)  # of a share of DRAWS draws


def named(values):
    """Return the columns of (q, m) values as a dict."""
    return {f"m{i}": column for i, column in enumerate(np.asarray(values, dtype=float).T)}


def p_best(*arguments):
    """Return the p value of each method."""
    return {name: own.p for name, own in best_methods(*arguments).items()}


def p_values(*arguments):
    return np.array([own.p for own in candidates(*arguments)])


def sets(values):
    """Return (m,) booleans: which methods are in the set."""
    return np.array(list(p_best(named(values), np.ones(len(values))).values())) >= LEVEL


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05, 0.1])
def test_two_methods_have_the_p_value_of_the_paired_t_test(shift):
    rng = np.random.default_rng(int(1000 * shift))
    a = rng.random(40)
    b = a + rng.normal(-shift, 0.1, 40)
    p = p_best({"a": a, "b": b}, np.ones(40))
    better, worse = ("a", "b") if a.mean() > b.mean() else ("b", "a")
    assert p[better] == 1
    assert p[worse] == pytest.approx(paired_t(a, b), abs=CHANCE)


def test_independent_means_have_the_p_value_of_tukeys_range():
    """The first method to leave is the lowest, because all standard errors are equal."""
    means, error, freedom = np.array([0.0, 0.8, 1.1, 1.9, 3.1]), 1.0, 20
    p = p_values(means, np.eye(5) * error**2, freedom)
    ranges = [np.ptp(means[i:]) for i in range(4)]
    expected = np.maximum.accumulate([studentized_range.sf(gap, 5 - i, freedom) for i, gap in enumerate(ranges)])
    # The middle methods leave in another order than from below only if the highest left first, which it never does.
    assert p[:4] == pytest.approx(expected, abs=CHANCE) and p[4] == 1


def test_only_the_errors_of_differences_count():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    covariance, means = root @ root.T / 100, rng.normal(0, 0.3, 6)
    errors = np.sqrt(np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance)
    plain = p_values(means, covariance, 50)
    assert p_values(means + 5, covariance + 0.7, 50) == pytest.approx(plain, abs=CHANCE)
    assert p_values(means, covariance_of_errors(errors), 50) == pytest.approx(plain, abs=CHANCE)
    order = np.array([3, 0, 5, 1, 4, 2])
    assert p_values(means[order], covariance[np.ix_(order, order)], 50) == pytest.approx(plain[order], abs=CHANCE)
    assert (p_values(means, covariance, 50) == plain).all(), "the draws are fixed"


def test_equal_methods_and_constant_differences():
    a = np.random.default_rng(5).random(30)
    p = p_best({"a": a, "twin": a.copy(), "below": a - 0.1, "noisy": a[::-1].copy()}, np.ones(30))
    assert p["a"] == p["twin"] == 1 and p["below"] < 0.001
    assert set(p_best({"a": a, "twin": a, "third": a}, np.ones(30)).values()) == {1.0}
    assert p_best({"only": a}, np.ones(30)) == {"only": 1.0}
    constant = {"high": np.full(30, 0.5), "low": np.full(30, 0.4), "equal": np.full(30, 0.5)}
    p = p_best(constant, np.ones(30))
    assert p["high"] == p["equal"] == 1 and p["low"] < 0.001
    assert np.isnan(list(p_best({"a": a[:1], "b": a[1:2]}, np.ones(1)).values())).all()
    nan = np.full(30, np.nan)
    assert np.isnan(list(p_best({"a": a, "empty": nan}, np.ones(30)).values())).all()


def test_a_pair_of_near_twins_leaves_the_other_methods_alone():
    rng = np.random.default_rng(6)
    a = rng.random(200)
    others = {"a": a, "close": a + rng.normal(0, 0.02, 200), "far": a + rng.normal(-0.05, 0.05, 200)}
    before = p_best(others, np.ones(200))
    for change in (0.0, 1e-9, 1e-5):
        twin = a.copy()
        twin[3] += change
        after = p_best(others | {"twin": twin}, np.ones(200))
        assert [after[name] >= LEVEL for name in others] == [before[name] >= LEVEL for name in others]


def test_folds_of_different_size_and_repeated_queries():
    """The means are those of the folds, and a query of several folds is one observation."""
    rng = np.random.default_rng(7)
    values = {name: rng.random(60) + shift for name, shift in {"a": 0.1, "b": 0.0, "c": -0.2}.items()}
    folds, queries = np.repeat([1, 2, 3], 20), np.arange(60)
    once = p_best(values, folds, queries)
    twice = p_best(
        {name: np.tile(own, 2) for name, own in values.items()}, np.concatenate([folds, folds + 3]), np.tile(queries, 2)
    )
    assert twice == pytest.approx(once, abs=CHANCE)
    large = np.repeat([1, 2], [1, 59])  # the first query has the weight of a fold
    lifted = {name: own.copy() for name, own in values.items()}
    lifted["c"][0] += 5
    assert max(lifted, key=lambda name: p_best(lifted, large)[name]) == "c"


@pytest.fixture(scope="module")
def queries():
    """The (q, 20) values of NDCG@10 on MQ2007, shifted to equal means: a population of queries."""
    _, values = read_compact(ROOT / "results/mq2007/queries.parquet")
    columns = np.column_stack([values[name].values["ndcg@10"] for name in METHODS])
    return columns - columns.mean(axis=0)


def test_equal_methods_are_excluded_in_at_most_5_of_100_comparisons(queries):
    """All of 20 equal methods are the best; none of them is excluded in 95% of samples of queries."""
    rng, samples = np.random.default_rng(11), 200
    wrong = sum(not sets(queries[rng.integers(len(queries), size=len(queries))]).all() for _ in range(samples))
    assert wrong / samples <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / samples)


def test_the_best_stays_and_worse_methods_leave(queries):
    """One method is better by .002, ten are worse by .02 and the others by .002 to .004."""
    rng, samples = np.random.default_rng(12), 60
    shifts = np.concatenate([[0.002], np.linspace(-0.002, 0, 9), np.full(10, -0.02)])
    found = np.array([sets(queries[rng.integers(len(queries), size=len(queries))] + shifts) for _ in range(samples)])
    assert found[:, 0].mean() >= 0.95
    assert found[:, 10:].mean() < 0.1


def test_a_detectable_difference_is_detected_in_at_least_80_of_100_comparisons(queries):
    """One method is the best; a second one is worse by the detectable difference, and 18 methods lie between them."""
    rng, samples = np.random.default_rng(13), 120
    lifted = np.zeros(20)
    lifted[19] = 0.1
    results = list(best_methods(named(queries + lifted), np.ones(len(queries))).values())
    assert np.isnan(results[19].detectable) and 0.01 < results[4].detectable < 0.03
    shifts = np.full(20, -results[4].detectable / 2)
    shifts[[4, 19]] = -results[4].detectable, 0.0
    found = [not sets(queries[rng.integers(len(queries), size=len(queries))] + shifts)[4] for _ in range(samples)]
    assert np.mean(found) > 0.8 - 3 * math.sqrt(0.8 * 0.2 / samples)
