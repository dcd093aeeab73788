"""Tests of the properties that all losses have. New losses are found by name and tested without further changes."""

from itertools import pairwise

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.training.registry import find_loss, loss_names

# Settings other than the defaults that execute other branches of the code.
SETTINGS = {
    "approx_ndcg": [{"temperature": 1.0}],
    "gumbel_approx_ndcg": [{"draws": 2, "temperature": 1.0}],
    "lambdaloss": [{"weighting": w, "cutoff": 4} for w in ("loss1", "loss2", "loss2++", "arp1", "arp2")],
    "lambdarank": [{"sigma": 2.0}],
    "listmle": [{"positions": True}],
    "listnet": [{"temperature": 0.5, "sigma": 2.0}],
    "neural_ndcg": [{"temperature": 0.3, "cutoff": 3}],
    "pirank": [{"temperature": 1.0, "cutoff": 3}],
    "rankcosine": [{"centred": True}],
    "ranknet": [{"sigma": 2.0, "ties": True}],
    "smoothrank": [{"temperature": 0.2, "cutoff": 3}],
    "softrank": [{"delta": 0.3, "cutoff": 3}],
    "yeti": [{"measure": "mrr"}, {"cutoff": 2, "draws": 1}],
}
# Properties that some losses have by their formulas. A new loss is tested for them if it is listed here.
SHIFT_INVARIANT = [
    "approx_ndcg",
    "frank",
    "gumbel_approx_ndcg",
    "lambdaloss",
    "lambdarank",
    "listmle",
    "listnet",
    "mdprank",
    "neural_ndcg",
    "pairwise_hinge",
    "pairwise_mse",
    "pirank",
    "query_rmse",
    "ranknet",
    "smoothrank",
    "softmax",
    "softrank",
    "unique_softmax",
    "xe_ndcg",
    "yeti",
]
ZERO_WITHOUT_RELEVANT = [
    "approx_ndcg",
    "frank",
    "gumbel_approx_ndcg",
    "lambdaloss",
    "lambdarank",
    "mdprank",
    "neural_ndcg",
    "pairwise_hinge",
    "pirank",
    "ranknet",
    "smoothrank",
    "softmax",
    "softrank",
    "unique_softmax",
    "yeti",
]

every_loss = pytest.mark.parametrize("name", loss_names())
every_setting = pytest.mark.parametrize(
    ("name", "settings"), [(name, settings) for name in loss_names() for settings in [{}, *SETTINGS.get(name, [])]]
)


def drawn(name, seed=0, sizes=(5, 1, 9, 0, 4), grades=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, grades, sum(sizes)).astype(np.int32)
    width = find_loss(name).outputs(labels)
    scores = rng.normal(size=len(labels) if width == 1 else (len(labels), width))
    return scores, labels, np.r_[0, np.cumsum(sizes)].astype(np.int64)


def value(name, data, settings=None, seed=3):
    return find_loss(name)(*data, rng=np.random.default_rng(seed), **(settings or {}))


@every_setting
def test_gradient_by_finite_differences(name, settings):
    """Both sides use the same random draws, and the steps are too small to change ranks and their weights."""
    scores, labels, offsets = drawn(name)
    cost, gradient = value(name, (scores, labels, offsets), settings)
    assert np.isfinite(cost) and gradient.shape == scores.shape and gradient.any()
    for at, step in zip(np.ndindex(scores.shape), np.eye(scores.size) * 1e-6, strict=True):
        moved = step.reshape(scores.shape)
        up = value(name, (scores + moved, labels, offsets), settings)[0]
        down = value(name, (scores - moved, labels, offsets), settings)[0]
        assert gradient[at] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-6)


@every_setting
def test_equal_seeds_give_equal_values_and_nothing_is_written_to(name, settings):
    data = drawn(name)
    before = [array.copy() for array in data]
    cost, gradient = value(name, data, settings)
    again, same = value(name, data, settings)
    assert again == cost
    np.testing.assert_array_equal(same, gradient)
    for array, untouched in zip(data, before, strict=True):
        np.testing.assert_array_equal(array, untouched)


@every_loss
def test_queries_do_not_see_each_other(name):
    scores, labels, offsets = drawn(name)
    cost, gradient = find_loss(name)(scores, labels, offsets)
    parts = [find_loss(name)(scores[a:b], labels[a:b], np.array([0, b - a])) for a, b in pairwise(offsets)]
    assert cost == pytest.approx(sum(part[0] for part in parts), rel=1e-12)
    np.testing.assert_allclose(gradient, np.concatenate([part[1] for part in parts]), rtol=1e-12, atol=1e-14)


@every_loss
def test_gradient_follows_the_documents(name):
    scores, _, offsets = drawn(name)
    labels = np.concatenate([np.arange(b - a) for a, b in pairwise(offsets)]).astype(np.int32) % 7
    if name == "ordinal":
        scores = np.random.default_rng(0).normal(size=(len(labels), 6))
    cost, gradient = find_loss(name)(scores, labels, offsets)
    rows = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(offsets)])
    if name == "listmle":  # equal grades are taken in file order
        labels, rows = labels[: offsets[1]], np.arange(offsets[1])[::-1]
        scores, offsets = scores[: offsets[1]], offsets[:2]
        cost, gradient = find_loss(name)(scores, labels, offsets)
    again, moved = find_loss(name)(scores[rows], labels[rows], offsets)
    assert again == pytest.approx(cost, rel=1e-10)
    np.testing.assert_allclose(moved, gradient[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SHIFT_INVARIANT)
def test_a_constant_per_query_does_not_change_the_cost(name):
    scores, labels, offsets = drawn(name)
    shift = np.repeat(np.arange(len(offsets) - 1) - 2.0, np.diff(offsets))
    cost, gradient = value(name, (scores, labels, offsets))
    again, same = value(name, (scores + shift, labels, offsets))
    assert again == pytest.approx(cost, rel=1e-10)
    np.testing.assert_allclose(same, gradient, rtol=1e-9, atol=1e-12)
    for a, b in pairwise(offsets):
        assert gradient[a:b].sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("name", ZERO_WITHOUT_RELEVANT)
def test_a_query_without_relevant_documents_has_no_cost_and_gradient(name):
    scores, labels, offsets = drawn(name)
    cost, gradient = value(name, (scores, np.zeros_like(labels), offsets))
    assert cost == 0.0 and not gradient.any()


@every_setting
def test_scores_far_apart_or_equal_and_high_grades_stay_finite(name, settings):
    _, labels, offsets = drawn(name, grades=31)
    width = find_loss(name).outputs(labels)
    rng = np.random.default_rng(1)
    for values in ([0.0], [-3e4, 0.0, 3e4], [0.0, 1e-9, 700.0]):
        scores = rng.choice(values, size=len(labels) if width == 1 else (len(labels), width))
        cost, gradient = value(name, (scores, labels, offsets), settings)
        assert np.isfinite(cost) and np.isfinite(gradient).all()


def test_an_unknown_loss_is_refused_with_the_nearest_name():
    with pytest.raises(GradrankError, match="did you mean 'listmle'"):
        find_loss("listmlee")
    for name, settings in (("lambdaloss", {"weighting": "loss3"}), ("yeti", {"measure": "map"})):
        with pytest.raises(GradrankError, match="unknown"):
            find_loss(name)(*drawn(name), **settings)


@pytest.mark.parametrize("name", loss_names())
def test_the_weight_of_a_query_multiplies_its_cost_and_its_gradient(name):
    """A weight of 2 counts like two copies of the query. Losses that draw random numbers have equal weights here."""
    function, rng = find_loss(name), np.random.default_rng(3)
    sizes, labels = [4, 7, 5], rng.integers(0, 3, 16)
    offsets = np.r_[0, np.cumsum(sizes)]
    outputs = function.outputs(labels)
    scores = rng.normal(size=(16, outputs) if outputs > 1 else 16)
    weights = np.full(3, 2.0) if function.uses_rng else np.array([2.0, 0.5, 2.0])
    cost, gradient = function(scores, labels, offsets, rng=np.random.default_rng(0), weights=weights)
    if function.uses_rng:
        plain, slopes = function(scores, labels, offsets, rng=np.random.default_rng(0))
        expected, expected_slopes = 2.0 * plain, 2.0 * slopes
    else:
        alone = [function(scores[a:b], labels[a:b], np.array([0, b - a])) for a, b in pairwise(offsets)]
        expected = sum(weight * own for weight, (own, _) in zip(weights, alone, strict=True))
        expected_slopes = np.concatenate([weight * own for weight, (_, own) in zip(weights, alone, strict=True)])
    np.testing.assert_allclose(cost, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected_slopes, rtol=1e-9, atol=1e-15)
