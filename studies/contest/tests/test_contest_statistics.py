"""The statistics of the contest on simulated runs with known variances, and against brute force."""

from itertools import combinations

import numpy as np
import pytest

from gradrank.comparison.variance import Runs, half_width, query_term
from studies.contest.budget import best_of_weights, expected_best
from studies.contest.comparisons import Estimates, half_widths, pooled_variance

FOLDS, QUERIES = 5, 30  # queries per fold
FOLD_OF = np.repeat(np.arange(FOLDS), QUERIES)
# Standard deviations of queries, of a method on a query, of a run on a fold, and of tuners.
EASY, OWN, SEED, TUNER = 0.3, 0.1, 0.02, 0.01


def simulated(rng, easy, mean=0.4, tuner=TUNER, seed=SEED, tuners=2, seeds=3):
    """Return the runs of a method. easy: (q,) effects of the queries that all methods share."""
    shift = rng.normal(0, tuner, (tuners, 1, 1)) + rng.normal(0, seed, (tuners, seeds, FOLDS))
    values = mean + easy + rng.normal(0, OWN, len(FOLD_OF)) + shift[:, :, FOLD_OF]
    return Runs(values, FOLD_OF)


def queries(rng):
    return rng.normal(0, EASY, len(FOLD_OF))


def test_components_are_recovered():
    rng = np.random.default_rng(1)
    found = [simulated(rng, queries(rng), tuners=8).variances for _ in range(400)]
    query, seed = (EASY**2 + OWN**2) / len(FOLD_OF), SEED**2 / FOLDS
    assert np.mean([each.query.variance for each in found]) == pytest.approx(query, rel=0.03)
    assert np.mean([each.seed.variance for each in found]) == pytest.approx(seed, rel=0.03)
    between = np.mean([each.between.variance - each.seed.variance / 3 for each in found])
    assert between == pytest.approx(TUNER**2, rel=0.1)
    assert {*found[0].shares()} == {"queries", "seeds", "tuning"}
    assert sum(found[0].shares().values()) == pytest.approx(1)


def test_variance_over_queries_is_the_bootstraps():
    rng = np.random.default_rng(2)
    folds = np.repeat([1, 2], [40, 60])  # folds of unequal size count alike
    values = rng.random(100) * folds
    drawn = [np.mean([rng.choice(own, len(own)).mean() for own in (values[:40], values[40:])]) for _ in range(20_000)]
    assert query_term(values, folds).variance == pytest.approx(np.var(drawn), rel=0.05)


def test_interval_of_the_mean_holds_all_three():
    """With two tuners that differ much, the interval has to be wide; an interval over queries only is too narrow."""
    rng = np.random.default_rng(4)
    held, alone = [], []
    for _ in range(600):
        runs = simulated(rng, queries(rng), tuner=0.03)
        held.append(abs(runs.mean - 0.4) < runs.half_width)
        alone.append(abs(runs.mean - 0.4) < half_width([runs.variances.query]))
    assert np.mean(held) >= 0.92 and np.mean(alone) < 0.86


def test_the_pooled_variance_is_that_of_one_tuner_whatever_the_number_of_tuners():
    rng = np.random.default_rng(15)
    found = [
        pooled_variance([simulated(rng, queries(rng), tuners=count, seeds=2) for count in (2, 2, 2, 5, 5, 5)]).variance
        for _ in range(300)
    ]
    assert np.mean(found) == pytest.approx(TUNER**2 + SEED**2 / FOLDS / 2, rel=0.06)
    alone = simulated(rng, queries(rng), tuners=1)
    assert pooled_variance([alone]).variance == 0 and pooled_variance([alone]).freedom == 0


def test_intervals_of_means_hold_for_methods_with_two_tuners():
    """Tuners that agree by chance, or because they chose the same, do not make an interval narrow."""
    rng, held, equal = np.random.default_rng(16), [], []
    for _ in range(300):
        runs = {name: simulated(rng, queries(rng), tuner=0.03, seeds=2) for name in "abcdef"}
        same = simulated(rng, queries(rng), tuners=1, seeds=1).values
        halves = half_widths(runs | {"same": Runs(np.repeat(same, 2, axis=0), FOLD_OF)})
        held += [abs(own.mean - 0.4) < halves[name] for name, own in runs.items()]
        equal.append(halves["same"] / Runs(same, FOLD_OF).half_width)
    assert np.mean(held) >= 0.93 and min(equal) > 1


VARIANCES = [(0.0, 0.0), (0.002, 0.02), (0.01, 0.02), (0.05, 0.01)]  # deviations of tuners and of seeds


def contests(count, means, seed, tuner=TUNER, deviation=SEED, tuners=2):
    """Yield the estimates of simulated contests. means: the true mean of each method."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        easy = queries(rng)
        runs = {
            name: simulated(rng, easy, mean, tuner=tuner, seed=deviation, tuners=tuners) for name, mean in means.items()
        }
        yield Estimates(runs)


def share(flags):
    """Return the share of true values, and two standard errors of a share of .05 for as many simulations."""
    flags = list(flags)
    return np.mean(flags), 2 * np.sqrt(0.05 * 0.95 / len(flags))


@pytest.mark.parametrize(("tuner", "seed"), VARIANCES)
def test_family_wise_errors_of_equal_methods(tuner, seed):
    """At most 5 of 100 contests of equal methods call one better or worse, for any variance as the largest one."""
    many_to_one, pairs = [], []
    for found in contests(400, dict.fromkeys("abcdef", 0.4), 5, tuner, seed):
        many_to_one.append(any(row["verdict"] != "no evidence" for row in found.against("a")))
        pairs.append(any(row["verdict"] != "no evidence" for row in found.pairs()))
    for flags in (many_to_one, pairs):
        error, spare = share(flags)
        assert error <= 0.05 + spare


def test_the_family_wise_error_is_not_far_below_its_level():
    error, _ = share(
        any(row["corrected"] < 0.05 for row in found.against("a"))
        for found in contests(500, dict.fromkeys("abcdef", 0.4), 6, 0.0, 0.0)
    )
    assert error > 0.015, "a test that never rejects has no power"


@pytest.mark.parametrize("margin", [0.005, 0.01])
def test_methods_that_differ_by_the_margin_are_not_called_equal(margin):
    """The true difference is the margin, so equality within it is wrong, in at most 5 of 100 contests."""
    precise = {"tuner": 0.0, "deviation": 0.0}
    means = {"a": 0.4, "b": 0.4 + margin, "c": 0.4 - margin}
    rng_error, spare = share(
        any(row[f"equivalent_{margin}"] < 0.05 for row in found.against("a"))
        for found in contests(600, means, 8, **precise)
    )
    assert rng_error <= 0.05 + spare


def few(rng, mean, own):
    """Return a deterministic method. own: standard deviation of the method on a query."""
    return Runs((mean + rng.normal(0, own, len(FOLD_OF)))[None, None], FOLD_OF)


def test_equivalence_has_its_level_at_the_margin_and_finds_equal_methods():
    """For methods with a small variance, the one-sided test at the margin rejects in 5 of 100 cases."""
    rng = np.random.default_rng(9)
    at_margin, at_zero = [], []
    for _ in range(2000):
        a, b, c = few(rng, 0.41, 0.01), few(rng, 0.40, 0.01), few(rng, 0.40, 0.01)
        found = Estimates({"a": a, "b": b, "c": c})
        at_margin.append(found.of("a", "b").p_equivalent(0.01) < 0.05)
        at_zero.append(found.of("b", "c").p_equivalent(0.01) < 0.05)
    assert np.mean(at_margin) == pytest.approx(0.05, abs=0.015) and np.mean(at_zero) > 0.99


def test_not_worse_by_the_margin_has_its_level():
    """`a` is worse than the best by exactly the margin, so it may be called not worse in 5 of 100 contests."""
    rng = np.random.default_rng(10)
    wrong, right = [], []
    for _ in range(2000):
        runs = {"a": few(rng, 0.40, 0.01), "b": few(rng, 0.405, 0.01), "c": few(rng, 0.41, 0.01)}
        rows = {row["method"]: row for row in Estimates(runs).not_worse()}
        wrong.append(rows["a"]["shown_0.01"] == "yes")
        right.append(rows["c"]["shown_0.01"] == "yes")
    assert np.mean(wrong) <= 0.05 + 0.01 and np.mean(right) > 0.99


@pytest.mark.parametrize(("tuner", "seed"), [(0.0, 0.0), (0.005, 0.01)])
def test_the_detectable_difference_is_detected_in_four_of_five_contests(tuner, seed):
    """The share of significant results is 80% if the true difference is the detectable one of a usual contest."""
    setting = {"tuner": tuner, "deviation": seed, "tuners": 5}
    usual = [found.against("a")[0]["detectable"] for found in contests(60, {"a": 0.4, "b": 0.4}, 11, **setting)]
    means = {"a": 0.4, "b": 0.4 + float(np.median(usual))}
    power, _ = share(found.against("a")[0]["verdict"] == "better" for found in contests(500, means, 12, **setting))
    assert power == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("deviation", [0.005, 0.02, 0.05])
def test_two_seeds_of_one_method_are_not_separated(deviation):
    """Two entries are the same method, trained with other seeds: the queries' values are equal but for the seeds."""
    rng, separated = np.random.default_rng(13), []
    for _ in range(500):
        values = 0.4 + queries(rng) + rng.normal(0, OWN, len(FOLD_OF))
        runs = {}
        for name in "ab":
            shift = rng.normal(0, deviation, (2, 3, FOLDS))
            runs[name] = Runs(values + shift[:, :, FOLD_OF], FOLD_OF)
        separated.append(Estimates(runs).against("a")[0]["verdict"] != "no evidence")
    error, spare = share(separated)
    assert error <= 0.05 + spare


def test_one_hundred_percent_equal_methods_are_equal():
    values = np.random.default_rng(14).random((1, 1, len(FOLD_OF)))
    own = Estimates({"a": Runs(values, FOLD_OF), "b": Runs(values, FOLD_OF)}).of("a", "b")
    assert own.p == 1 and own.p_equivalent(0.005) == 0 and own.difference == 0


def test_expected_best_is_that_of_every_sample():
    values = np.random.default_rng(10).integers(0, 4, 7).astype(float)  # with ties
    for n, expected in enumerate(expected_best(values), start=1):
        assert expected == pytest.approx(np.mean([max(sample) for sample in combinations(values, n)]), abs=1e-12)
    assert np.all(np.diff(expected_best(values)) >= -1e-12)
    assert best_of_weights(31, 16).sum() == pytest.approx(1, abs=1e-12)
