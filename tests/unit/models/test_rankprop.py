"""RankProp: its targets are rankings by grade that the net completes, and regression on them learns."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradrank.data.collection import Collection
from gradrank.learning.selection import measure
from gradrank.models.rankprop import RankProp, rank_targets


def collection(seed: int, queries=40, documents=20, levels=4) -> Collection:
    """Grades are quantiles of a form with a product in it, which a linear scorer cannot follow."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (queries * documents, 4)).astype(np.float32)
    value = 2 * x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(0, 0.1, len(x))
    labels = np.digitize(value, np.quantile(value, np.arange(1, levels) / levels)).astype(np.int32)
    return Collection(x, labels, np.arange(queries + 1) * documents, np.arange(queries))


def fit(train, vali, seed=0, **params):
    history: list[dict[str, float]] = []
    model = RankProp.fit(train, vali, RankProp.Params(**params), seed, lambda step, **v: history.append(v))
    return model, history


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


@settings(max_examples=100, deadline=None)
@given(lists())
def test_targets_are_the_scores_of_a_net_that_is_done(given):
    """A perfect net with evenly spaced outputs is a fixed point: there is no error left to train on."""
    _, labels, offsets = given
    done = rank_targets(np.zeros(len(labels)), labels, offsets)
    np.testing.assert_array_equal(rank_targets(done, labels, offsets), done)


@pytest.mark.parametrize("ranks", ["global", "query"])
def test_it_learns_what_no_linear_scorer_can(ranks):
    train, vali, test = (collection(seed) for seed in (1, 2, 3))
    model, history = fit(train, vali, ranks=ranks, batch_documents=100)
    reached = measure("ndcg@10", model.score(test.features, test.offsets), test.labels, test.offsets)
    linear = measure("ndcg@10", test.features[:, 2], test.labels, test.offsets)  # no linear form is better
    assert reached > linear + 0.1
    assert history[-1]["train_loss"] < history[0]["train_loss"] / 3
