"""RankProp: its targets are rankings by grade that the net completes, and regression on them learns."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.models.rankprop import rank_targets


def test_targets_of_a_worked_example():
    """From the lowest: grade 0 with .3 and .8, then grade 1 with .1 and .9, then grade 2."""
    targets = rank_targets(np.array([0.9, 0.8, 0.1, 0.0, 0.3]), np.array([1, 0, 1, 2, 0]), np.array([0, 5]))
    np.testing.assert_array_equal(targets, [0.75, 0.25, 0.5, 1.0, 0.0])


@st.composite
def lists(draw):
    """(scores with ties, labels, offsets) of up to 5 lists of 1 to 8 documents."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    n = sum(sizes)
    scores = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))
    return np.array(scores, dtype=np.float64), np.array(labels), np.r_[0, np.cumsum(sizes)]


@settings(max_examples=200, deadline=None)
@given(lists())
def test_targets_follow_the_grades_and_in_equal_grades_the_scores(given):
    scores, labels, offsets = given
    targets = rank_targets(scores, labels, offsets)
    for a, b in pairwise(offsets):
        s, y, t = scores[a:b], labels[a:b], targets[a:b]
        np.testing.assert_array_equal(np.sort(t), np.arange(b - a) / max(b - a - 1, 1))
        above = t[:, None] > t[None, :]
        assert above[y[:, None] > y[None, :]].all()
        assert above[(y[:, None] == y[None, :]) & (s[:, None] > s[None, :])].all()
