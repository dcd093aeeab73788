"""ListNet's loss against its definition, finite differences and its optimum; the models' promises."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gradrank.training.losses.listwise import listnet, top_one
from gradrank.training.solvers.linear import l2_path
from made_rankings import linear_grades


@st.composite
def judged(draw):
    """Queries of 1 to 6 documents: (scores, labels, offsets)."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n = sum(sizes)
    scores = draw(arrays(np.float64, n, elements=st.floats(-8.0, 8.0)))
    labels = draw(arrays(np.int32, n, elements=st.integers(0, 4)))
    return scores, labels, np.r_[0, np.cumsum(sizes)]


@settings(deadline=None)  # the first call compiles
@given(judged(), st.sampled_from([0.5, 1.0, 3.0]))
def test_cost_is_the_cross_entropy_as_the_paper_writes_it(data, temperature):
    scores, labels, offsets = data
    expected = 0.0
    for a, b in pairwise(offsets):
        wanted = np.exp(labels[a:b] / temperature) / np.exp(labels[a:b] / temperature).sum()
        found = np.exp(scores[a:b]) / np.exp(scores[a:b]).sum()
        expected -= wanted @ np.log(found)
    assert listnet(scores, labels, offsets, temperature=temperature)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_least_cost_is_the_entropy_of_the_grades():
    labels, offsets = np.array([2, 0, 1, 1, 0], np.int32), np.array([0, 3, 5])
    cost, gradient = listnet(labels / 0.7 + [5.0, 5.0, 5.0, -9.0, -9.0], labels, offsets, temperature=0.7)
    target = top_one(labels / 0.7, offsets)
    assert cost == pytest.approx(-(target @ np.log(target)), rel=1e-12)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


def test_linear_listnet_is_at_the_optimum():
    """There the gradient of the whole objective vanishes, as far as an objective known to 1e-9 tells."""
    train, l2 = linear_grades(0, 30, 10), 0.01
    x = train.features.astype(np.float64)
    ((weights, _),) = l2_path(x, train.labels, train.offsets, listnet, (l2,))
    unranked, at_zero = listnet(np.zeros(len(x)), train.labels, train.offsets)
    _, gradient = listnet(x @ weights, train.labels, train.offsets)
    left = x.T @ gradient / unranked + l2 * weights
    assert np.abs(left).max() < 1e-3 * np.abs(x.T @ at_zero / unranked).max()
