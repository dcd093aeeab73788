"""Variance components of runs with several tuners and seeds, on values drawn from known components."""

import numpy as np
import pytest

from gradrank.comparison.variance import Runs

TUNERS, SEEDS, FOLDS, QUERIES = 6, 4, 2, 10
TUNING, SEED = 0.04, 0.09  # variances of the value of one run; every fold has its own draw of the seed


def drawn(rng: np.random.Generator, tuning: float) -> Runs:
    """Runs in which the tuner adds a number to all folds, and the seed another number to each fold."""
    tuner = rng.normal(0, np.sqrt(tuning), (TUNERS, 1, 1))
    seed = rng.normal(0, np.sqrt(SEED * FOLDS), (TUNERS, SEEDS, FOLDS))
    return Runs(np.repeat(tuner + seed, QUERIES, axis=2), np.repeat(np.arange(1, FOLDS + 1), QUERIES))


@pytest.fixture(scope="module")
def components() -> list:
    rng = np.random.default_rng(3)
    return [drawn(rng, TUNING).variances for _ in range(3000)]


def test_the_mean_variance_of_a_seed_is_the_true_one(components):
    assert np.mean([each.seed.variance for each in components]) == pytest.approx(SEED, rel=0.03)


def test_the_variance_between_tuners_contains_a_share_of_the_seeds_which_tuning_lacks(components):
    assert np.mean([each.between.variance for each in components]) == pytest.approx(TUNING + SEED / SEEDS, rel=0.03)
    for each in components:
        assert each.tuning == pytest.approx(max(0.0, each.between.variance - each.seed.variance / SEEDS))
    # Values below 0 are raised to 0, so the mean is a little too large.
    assert TUNING <= np.mean([each.tuning for each in components]) <= TUNING * 1.15


def test_the_variance_of_the_overall_mean_covers_tuners_and_seeds():
    rng = np.random.default_rng(4)
    runs = [drawn(rng, TUNING) for _ in range(3000)]
    true = np.var([each.mean for each in runs])
    assert np.mean([each.variances.chance_of_mean.variance for each in runs]) == pytest.approx(true, rel=0.1)
