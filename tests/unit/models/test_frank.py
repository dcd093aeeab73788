"""FRank's sums against their definition over explicit pairs, its step against every stump there is."""

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.models.frank import FRankParams, boost, pair_weights
from gradrank.training.losses.pairwise import frank
from gradrank.training.solvers.weighted_terms import PERFECT, stump_thresholds

SIGMOID = lambda h: 1.0 / (1.0 + np.exp(-h))  # noqa: E731


def collection(seed, queries=8, documents=9, features=3):
    rng = np.random.default_rng(seed)
    offsets = np.arange(0, queries * documents + 1, documents)
    x = rng.integers(0, 7, (offsets[-1], features)).astype(np.float32)
    labels = np.digitize(x[:, 0] + x[:, 1] * 0.5 + rng.normal(0.0, 2.0, len(x)), [4.0, 6.5]).astype(np.int32)
    return Collection(x, labels, offsets, np.arange(queries))


def by_query(data):
    """D: every query weighs alike, and within it every pair."""
    counts = np.bincount(data.pairs.query, minlength=data.queries)
    return 1.0 / counts[data.pairs.query] / np.count_nonzero(counts)


def test_weights_are_twice_the_slopes_of_the_fidelity_loss():
    h, shares, step = np.linspace(-8.0, 8.0, 33), np.linspace(0.1, 1.0, 33), 1e-5
    weights, loss = pair_weights(h, shares)
    assert loss == pytest.approx((shares * (1.0 - np.sqrt(SIGMOID(h)))).sum(), rel=1e-12)
    up, down = (1.0 - np.sqrt(SIGMOID(h + sign * step)) for sign in (1, -1))
    np.testing.assert_allclose(weights, -2.0 * shares * (up - down) / (2.0 * step), rtol=1e-6, atol=1e-12)


def test_the_loss_of_scores_is_the_loss_function_s():
    data = collection(1)
    scores = np.random.default_rng(2).normal(size=data.rows)
    pairs = data.pairs
    _, loss = pair_weights(scores[pairs.better] - scores[pairs.worse], np.ones(len(pairs)))
    assert loss == pytest.approx(frank(scores, data.labels, data.offsets)[0], rel=1e-12)


def every_stump(data, scores, shares):
    """(loss, feature, threshold, alpha) of every stump, by its definition."""
    pairs = data.pairs
    h = scores[pairs.better] - scores[pairs.worse]
    weights = shares * np.sqrt(SIGMOID(h)) * (1.0 - SIGMOID(h))
    for feature, column in enumerate(data.features.T):
        for threshold in stump_thresholds(column, 256):
            above = (column > threshold).astype(float)
            moved = above[pairs.better] - above[pairs.worse]
            right, wrong = weights[moved > 0].sum(), weights[moved < 0].sum()
            r = (right - wrong) / (right + wrong)
            alpha = np.arctanh(np.clip(r, -PERFECT, PERFECT))  # 1/2 ln(right / wrong)
            loss = (shares * (1.0 - np.sqrt(SIGMOID(h + alpha * moved)))).sum()
            yield loss, feature, float(threshold), alpha


@pytest.mark.parametrize("seed", range(6))
def test_a_round_adds_the_stump_that_lowers_the_loss_most(seed):
    data = collection(seed)
    shares, scores = by_query(data), np.zeros(data.rows)
    for term, loss in boost(data, FRankParams(rounds=5)):
        least = min(every_stump(data, scores, shares))
        assert loss == pytest.approx(least[0], rel=1e-9)
        mine = [each for each in every_stump(data, scores, shares) if each[1:3] == (term.feature, term.threshold)]
        assert mine[0][3] == pytest.approx(term.weight, rel=1e-9) and mine[0][0] == pytest.approx(loss, rel=1e-9)
        scores += term(np.ascontiguousarray(data.features.T))
