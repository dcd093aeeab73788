"""Error rates of the contest's tests in simulated contests of equal methods whose means depend on the training queries.

All methods have the same expected value over training queries. In one contest, with one set of training queries, their
expected values differ.
"""

from itertools import combinations

import numpy as np
import pytest

from gradrank.bench.report.readme import contest_best
from gradrank.comparison.statistics import LEVEL, holm
from gradrank.comparison.variance import Runs, Term
from studies.contest.comparisons import Estimates
from studies.contest.training_variance import EstimatesOverTrainings, TrainingVariance

METHODS, DIVISIONS, CONTESTS = "abcdef", 10, 300
FOLDS, QUERIES, TUNERS, SEEDS = 5, 60, 2, 2
FOLD_OF = np.repeat(np.arange(FOLDS), QUERIES)
# Standard deviations of a method on a query, of its mean over training queries, and of its mean over seeds.
OWN, TRAINING, SEED = 0.03, 0.0015, 0.0005


def contest(rng) -> tuple[dict[str, Runs], TrainingVariance]:
    """Return the runs and the divisions of equal methods."""
    runs, means = {}, {}
    for name in METHODS:
        of_fold = rng.normal(0, SEED * FOLDS**0.5, (TUNERS, SEEDS, FOLDS))
        values = 0.4 + rng.normal(0, OWN, len(FOLD_OF)) + rng.normal(0, TRAINING) + of_fold[:, :, FOLD_OF]
        runs[name] = Runs(values, FOLD_OF)
        means[name] = 0.4 + rng.normal(0, TRAINING, DIVISIONS) + rng.normal(0, SEED, DIVISIONS)
    return runs, TrainingVariance(means, {name: own.variances.seed.variance for name, own in runs.items()})


def is_wrong(estimates: Estimates, runs: dict[str, Runs]) -> tuple[bool, bool]:
    """Return whether the confidence set excludes a method, and whether a method differs from the baseline `a`."""
    rows = [{"method": name, "ndcg@10": own.mean} for name, own in runs.items()]
    pairs = [{"first": a, "second": b} | estimates.of(a, b)._asdict() for a, b in combinations(METHODS, 2)]
    best = contest_best({"results_x": rows, "pairs_x": pairs}, "x")
    corrected = holm([estimates.of(other, METHODS[0]).p for other in METHODS[1:]])
    return any(own.p < LEVEL for own in best.values()), bool(corrected.min() < LEVEL)


@pytest.fixture(scope="module")
def rates() -> dict[str, np.ndarray]:
    """Return the shares of contests with a wrong exclusion and with a wrong difference, by kind of estimate."""
    rng, wrong = np.random.default_rng(3), {"with": [], "without": []}
    for _ in range(CONTESTS):
        runs, training = contest(rng)
        wrong["with"].append(is_wrong(EstimatesOverTrainings(runs, training), runs))
        wrong["without"].append(is_wrong(Estimates(runs), runs))
    return {kind: np.mean(flags, axis=0) for kind, flags in wrong.items()}


def test_with_the_variance_over_divisions_the_errors_are_at_their_level(rates):
    """Holm's correction keeps the error below its level if the comparisons with one baseline are correlated."""
    excluded, different = rates["with"]
    assert excluded == pytest.approx(0.05, abs=0.02) and 0.01 < different < 0.07


def test_without_it_equal_methods_are_told_apart_too_often(rates):
    excluded, different = rates["without"]
    assert excluded > 0.15 and different > 0.12


def test_the_seeds_are_subtracted_and_the_variance_is_not_negative():
    rng = np.random.default_rng(4)
    found, noise = [], []
    for _ in range(2000):
        means = {name: rng.normal(0, TRAINING, DIVISIONS) + rng.normal(0, SEED, DIVISIONS) for name in "ab"}
        training = TrainingVariance(means, {"a": SEED**2, "b": SEED**2})
        found.append(training.of_difference("a", "b").variance)
        only_seeds = {name: rng.normal(0, SEED, DIVISIONS) for name in "ab"}
        noise.append(TrainingVariance(only_seeds, {"a": SEED**2, "b": SEED**2}).of_difference("a", "b"))
    assert np.mean(found) == pytest.approx(2 * TRAINING**2, rel=0.05)
    assert min(term.variance for term in noise) == 0 and np.median([term.variance for term in noise]) < 0.2 * SEED**2


def test_the_term_has_one_degree_of_freedom_fewer_than_divisions():
    training = TrainingVariance({"a": np.array([1.0, 2.0, 3.0])}, {"a": 0.25, "b": 0.0})
    assert training.of("a") == Term(0.75, 2)
    assert training.of("b") is None and training.of_difference("a", "b") is None
