"""Gradient descent as of 2005: its steps against sums over pairs, the halving of its rate, its two forms."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from gradrank.data.order import order
from gradrank.data.pairs import crucial_pairs
from gradrank.models.lambdarank import LambdaRankFaithful
from gradrank.models.ranknet import RankNet2005Linear, RankNet2005TwoLayer
from gradrank.training.losses.pairwise import pair_cost
from gradrank.training.losses.swap_weighted import ndcg_swap
from gradrank.training.ndcg_gains import gains_of
from gradrank.training.solvers.stochastic import initial_layers, update_by_group, update_by_pair
from made_rankings import linear_grades


def layers_of(hidden, features=4, seed=0):
    """Weights away from the initial zeros, at which most gradients vanish."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(features, hidden)), rng.normal(size=hidden), rng.normal(size=hidden or features))


def forward(x, weights, biases, output):
    return (np.tanh(x @ weights + biases) if len(biases) else x) @ output


def pair_by_pair(x, labels, layers, sigma, ties, weight):
    """Gradients of one query's weighted pair costs, each pair passed backward on its own."""
    weights, biases, output = layers
    total = [np.zeros_like(layer) for layer in layers]
    scores = forward(x, *layers)
    for i in range(len(x)):
        for j in range(len(x)):
            if labels[i] > labels[j] or (ties and labels[i] == labels[j] and i < j):
                target = 1.0 if labels[i] > labels[j] else 0.5
                slope = weight(i, j) * sigma * (expit(sigma * (scores[i] - scores[j])) - target)
                for row, sign in ((i, slope), (j, -slope)):
                    if len(biases) == 0:
                        total[2] += sign * x[row]
                        continue
                    hidden = np.tanh(x[row] @ weights + biases)
                    delta = sign * output * (1.0 - hidden**2)
                    total[0] += np.outer(x[row], delta)
                    total[1] += delta
                    total[2] += sign * hidden
    return total


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("by_ndcg", [False, True])
def test_a_step_is_the_sum_over_pairs(hidden, ties, by_ndcg):
    if ties and by_ndcg:
        pytest.skip("pairs of equal grade have no |dNDCG|")
    part = linear_grades(0, 1, 12)
    x, sigma, rate = part.features.astype(np.float64), 1.3, 0.01
    before, after = layers_of(hidden), layers_of(hidden)
    swap = ndcg_swap(gains_of(part.labels), part.offsets, order(forward(x, *before), part.offsets))

    def weight(i, j):
        if not by_ndcg:
            return 1.0
        return swap.scale[0] * abs((swap.gain[i] - swap.gain[j]) * (swap.discount[i] - swap.discount[j]))

    expected = pair_by_pair(x, part.labels, before, sigma, ties, weight)
    one, rows = np.array([0]), np.arange(len(x))
    update_by_group(x, part.labels, rows, part.offsets, one, *after, rate, sigma, ties, by_ndcg)
    for old, new, gradient in zip(before, after, expected, strict=True):
        np.testing.assert_allclose((old - new) / rate, gradient, rtol=0, atol=1e-10)


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("ties", [False, True])
def test_a_step_a_pair_is_that_pairs_gradient_one_after_the_other(hidden, ties):
    part = linear_grades(0, 2, 6)
    x, sigma, rate = part.features.astype(np.float64), 1.3, 0.05
    pairs = crucial_pairs(part.labels, part.offsets, ties)
    targets = np.where(part.labels[pairs.better] > part.labels[pairs.worse], 1.0, 0.5)
    assert set(targets) == ({0.5, 1.0} if ties else {1.0})
    expected, found = layers_of(hidden), layers_of(hidden)
    steps, cost = np.random.default_rng(1).permutation(len(pairs)), 0.0
    for step in steps:
        rows = np.array([pairs.better[step], pairs.worse[step]])
        scores = forward(x[rows], *expected)
        cost += pair_cost(scores[0] - scores[1], targets[step], sigma)
        slopes = pair_by_pair(x[rows], part.labels[rows], expected, sigma, ties, lambda i, j: 1.0)
        for layer, slope in zip(expected, slopes, strict=True):
            layer -= rate * slope
    summed = update_by_pair(x, pairs.better, pairs.worse, targets, np.ones(len(pairs)), steps, *found, rate, sigma)
    assert summed == pytest.approx(cost)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)


def test_initial_weights_are_those_of_the_paper():
    weights, biases, output = initial_layers(7, 1000, np.random.default_rng(0))
    assert not weights.any() and not biases.any()
    assert -0.1 <= output.min() < -0.09 and 0.09 < output.max() <= 0.1
    assert not initial_layers(7, 0, np.random.default_rng(0))[2].any()


@pytest.mark.parametrize("model", [RankNet2005Linear, RankNet2005TwoLayer, LambdaRankFaithful])
def test_the_rate_halves_after_an_epoch_whose_cost_rose(model):
    seen = []
    params = model.Params(learning_rate=0.3, epochs=40)
    model.fit(linear_grades(1, 20, 8), linear_grades(2, 20, 8), params, 0, lambda step, **values: seen.append(values))
    rates, costs = ([values[name] for values in seen] for name in ("learning_rate", "train_loss"))
    assert rates[:2] == [0.3, 0.3]
    rose = [after > before for before, after in pairwise(costs)]
    assert any(rose) and not all(rose)
    assert [b / a for a, b in pairwise(rates[1:])] == [0.5 if up else 1.0 for up in rose[:-1]]
