"""RankNet's and LambdaRank's gradients against pair loops, finite differences, autograd and NDCG itself."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from gradrank.data.order import order
from gradrank.training.losses.pairwise import pair_cost, ranknet
from gradrank.training.losses.swap_weighted import lambdarank, ndcg_swap, normalize_by_query
from gradrank.training.ndcg_gains import gains_of


@st.composite
def judged(draw):
    """Queries of 1 to 7 documents with repeated scores and grades: (scores, labels, offsets)."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    n = sum(sizes)
    scores = draw(st.lists(st.sampled_from([-30.0, -1.5, 0.0, 0.25, 2.0, 800.0]), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return np.array(scores), np.array(labels, np.int32), np.r_[0, np.cumsum(sizes)].astype(np.int64)


def drawn(seed=0, sizes=(5, 1, 9, 4)):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    return rng.normal(size=n), rng.integers(0, 3, n).astype(np.int32), np.r_[0, np.cumsum(sizes)]


def ndcg(scores, labels):
    """NDCG of one query over its whole list, 1/log2(1 + rank); equal scores in file order."""

    def dcg(grades):
        return sum((2.0**y - 1.0) / math.log2(1.0 + rank) for rank, y in enumerate(grades, start=1))

    return dcg(labels[np.argsort(-scores, kind="stable")]) / dcg(sorted(labels, reverse=True))


def pair_slope(difference, target, sigma):
    """dC/d(s_i - s_j) = sigma (P - target) (Burges et al. 2005)."""
    return sigma * (expit(sigma * difference) - target)


def pair_by_pair(scores, labels, offsets, sigma=1.0, ties=False, weight=lambda i, j: 1.0):
    """Cost and gradient by a loop over ordered pairs, with the elementary functions."""
    cost, gradient = 0.0, np.zeros(len(scores))
    for a, b in pairwise(offsets):
        for i in range(a, b):
            for j in range(a, b):
                if labels[i] > labels[j] or (ties and labels[i] == labels[j] and i < j):
                    target = 1.0 if labels[i] > labels[j] else 0.5
                    cost += weight(i, j) * pair_cost(scores[i] - scores[j], target, sigma)
                    slope = weight(i, j) * pair_slope(scores[i] - scores[j], target, sigma)
                    gradient[i] += slope
                    gradient[j] -= slope
    return cost, gradient


@pytest.mark.parametrize("target", [0.0, 0.5, 1.0, 0.3])
def test_pair_cost_is_the_cross_entropy(target):
    o = np.linspace(-6, 6, 25)
    p = 1.0 / (1.0 + np.exp(-o))
    expected = -target * np.log(p) - (1.0 - target) * np.log(1.0 - p)
    np.testing.assert_allclose(pair_cost(o, target), expected, rtol=1e-12)


@settings(deadline=None)  # the first call compiles
@given(judged(), st.sampled_from([0.5, 1.0, 2.0]), st.booleans())
def test_gradient_of_grades_is_the_sum_over_pairs(data, sigma, ties):
    cost, gradient = ranknet(*data, sigma=sigma, ties=ties)
    expected_cost, expected = pair_by_pair(*data, sigma=sigma, ties=ties)
    assert cost == pytest.approx(expected_cost, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("width", [0.0, 2.0, 39.9, 40.1, 900.0])
@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_long_queries_whose_cost_is_computed_from_odds(width, sigma):
    _, labels, offsets = drawn(sizes=(70, 11, 12, 1, 40))
    scores = np.random.default_rng(1).uniform(0, width / sigma, len(labels)) - 5e3
    for a, b in pairwise(offsets):
        scores[[a, b - 1]] = -5e3, width / sigma - 5e3
    cost, gradient = ranknet(scores, labels, offsets, sigma=sigma)
    expected_cost, expected = pair_by_pair(scores, labels, offsets, sigma)
    assert cost == pytest.approx(expected_cost, rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-11)


@settings(deadline=None)  # the first call compiles
@given(judged())
def test_swap_weights_are_the_change_of_ndcg(data):
    """Brute force: exchange the scores of i and j, that is their ranks, and evaluate NDCG again."""
    scores, labels, offsets = data
    # Ranks, not scores: equal scores have distinct ranks, in file order.
    ranks = np.concatenate(
        [-np.argsort(np.argsort(-scores[a:b], kind="stable")).astype(float) for a, b in pairwise(offsets)]
    )
    weights = ndcg_swap(gains_of(labels), offsets, order(scores, offsets))
    for q, (a, b) in enumerate(pairwise(offsets)):
        if labels[a:b].max() == 0:
            assert weights.scale[q] == 0.0
            continue
        before = ndcg(ranks[a:b], labels[a:b])
        for i in range(a, b):
            for j in range(a, b):
                swapped = ranks.copy()
                swapped[[i, j]] = ranks[[j, i]]
                weight = weights.scale[q] * abs(weights.gain[i] - weights.gain[j])
                weight *= abs(weights.discount[i] - weights.discount[j])
                assert weight == pytest.approx(abs(ndcg(swapped[a:b], labels[a:b]) - before), abs=1e-12)


@settings(deadline=None)  # the first call compiles
@given(judged(), st.sampled_from([0.5, 1.0, 2.0]))
def test_lambdarank_is_the_weighted_sum_over_pairs(data, sigma):
    scores, labels, offsets = data
    weights = ndcg_swap(gains_of(labels), offsets, order(scores, offsets))
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

    def weight(i, j):
        gain, discount = weights.gain[i] - weights.gain[j], weights.discount[i] - weights.discount[j]
        return weights.scale[query[i]] * abs(gain) * abs(discount)

    cost, gradient = lambdarank(scores, labels, offsets, sigma=sigma)
    expected_cost, expected = pair_by_pair(scores, labels, offsets, sigma, weight=weight)
    assert cost == pytest.approx(expected_cost, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-10)


def test_normalised_queries_have_equal_influence():
    offsets = np.array([0, 2, 5, 7])
    gradient = normalize_by_query(np.array([3.0, -3.0, -8.0, 2.0, 6.0, 0.0, 0.0]), offsets)
    np.testing.assert_array_equal(gradient, [0.5, -0.5, -0.5, 0.125, 0.375, 0.0, 0.0])
