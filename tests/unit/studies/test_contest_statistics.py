"""The statistics of the contest on simulated runs with known variances, and against brute force."""

from itertools import combinations

import numpy as np
import pytest

from gradrank.evaluation.variance import Runs, half_width, query_term
from gradrank.studies.contest.budget import best_of_weights, expected_best
from gradrank.studies.contest.claims import NOT_SEPARATED, compare, compare_all, mean_run_variance

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


@pytest.mark.parametrize(("tuner", "seed"), [(0.0, 0.0), (0.002, 0.02), (0.01, 0.02), (0.05, 0.01)])
def test_two_equal_methods_are_not_separated(tuner, seed):
    """At most 5 of 100 contests of equal methods separate a pair, for any of the variances as the largest one."""
    rng = np.random.default_rng(5)
    contests = []
    for _ in range(400):
        easy = queries(rng)
        methods = {name: simulated(rng, easy, tuner=tuner, seed=seed) for name in "abcd"}
        contests.append({pair.verdict for pair in compare_all(methods)} == {NOT_SEPARATED})
    assert np.mean(contests) >= 0.95


def test_probability_is_the_share_of_single_runs():
    """For two methods .01 apart, P(A > B) of a contest equals the share of single runs in which A is better."""
    rng = np.random.default_rng(7)
    won, probabilities = [], []
    for _ in range(1500):
        easy = queries(rng)
        a, b = simulated(rng, easy, 0.41, tuners=1, seeds=1), simulated(rng, easy, 0.40, tuners=1, seeds=1)
        won.append(a.mean > b.mean)
    for _ in range(300):
        easy = queries(rng)
        a, b = (simulated(rng, easy, mean, tuners=6) for mean in (0.41, 0.40))
        pair = compare("a", a, "b", b, mean_run_variance([a, b]))
        probabilities.append(pair.probability if pair.first == "a" else 1 - pair.probability)
    assert np.mean(probabilities) == pytest.approx(np.mean(won), abs=0.05)


def test_expected_best_is_that_of_every_sample():
    rng = np.random.default_rng(10)
    validation = rng.integers(0, 4, 7).astype(float)  # with ties, of which the earlier is chosen
    test = rng.random(7)
    for n, expected in enumerate(expected_best(validation, test), start=1):
        chosen = [max(sample, key=lambda i: (validation[i], -i)) for sample in combinations(range(7), n)]
        assert expected == pytest.approx(np.mean(test[chosen]), abs=1e-12)
    assert np.all(np.diff(expected_best(validation, validation)) >= -1e-12)
    assert best_of_weights(31, 16).sum() == pytest.approx(1, abs=1e-12)
