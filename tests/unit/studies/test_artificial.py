"""The artificial experiments, compared with loops over pairs."""

from itertools import combinations, islice

import numpy as np
import pytest

from gradrank.studies.ranknet2005.artificial import PARTS, Vectors, draw_vectors, train_epochs, train_net

SEED = 7


@pytest.fixture(scope="module")
def data() -> Vectors:
    return draw_vectors("net", SEED)


def crucial_pairs(grades):
    """(better, worse) within each file of 50."""
    return [
        (i, j) if grades[i] > grades[j] else (j, i)
        for start in range(0, len(grades), 50)
        for i, j in combinations(range(start, start + 50), 2)
        if grades[i] != grades[j]
    ]


def test_a_draw_is_1000_files_of_six_equal_grades(data):
    assert data.x.shape == (50_000, 50) and np.abs(data.x).max() <= 1
    counts = np.bincount(data.grades)
    assert len(counts) == 6 and np.ptp(counts) <= 1
    covered = np.concatenate([np.arange(50_000)[rows] for rows in PARTS.values()])
    assert np.array_equal(covered, np.arange(50_000))


def test_correct_counts_pairs_within_files_and_half_of_equal_scores(data):
    own = data[:150]
    weights = np.zeros(50)
    weights[:2] = 1.0
    coarse = Vectors(np.round(own.x), own.grades)  # many equal scores
    scores = coarse.x @ weights
    points = [(scores[i] > scores[j]) + (scores[i] == scores[j]) / 2 for i, j in crucial_pairs(own.grades)]
    layers = (np.zeros((50, 0)), np.zeros(0), weights)
    assert 0.1 < np.mean(np.array(points) == 0.5) < 0.9
    assert coarse.correct(layers) == pytest.approx(100 * np.mean(points))


def test_a_step_is_the_sum_of_the_files_pair_gradients(data):
    own = data[:50]
    weights = next(train_epochs(own, 0, False, SEED, halve=True))[2]
    # All scores are zero before the first step, so every pair's gradient is (1/2 - 1) (x_better - x_worse).
    gradient = sum(-0.5 * (own.x[i] - own.x[j]) for i, j in crucial_pairs(own.grades))
    np.testing.assert_allclose(weights, -1e-3 * gradient, atol=1e-12)


def test_the_kept_net_has_the_least_validation_error(data):
    found = train_net(data, 100, 0, False, SEED)
    own, vali, test = data[:100], data[PARTS["vali"]], data[PARTS["test"]]
    scored = []
    for layers in islice(train_epochs(own, 0, False, SEED, halve=True), found["epochs"]):
        scored.append((vali.correct(layers), test.correct(layers)))
    best = int(np.argmax([correct for correct, _ in scored]))
    assert (found["vali"], found["test"]) == scored[best] and found["epoch"] == best + 1
    assert found["test"] > 70
