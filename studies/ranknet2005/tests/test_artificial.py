"""The artificial experiments, compared with loops over pairs.

The combination of probabilities has the properties of section 3.1 of the 2005 paper.
"""

from itertools import combinations, islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradrank.base.errors import GradrankError
from gradrank.data.pairs import crucial_pairs as listed_pairs
from gradrank.training.losses.pairwise import pair_cost
from gradrank.training.solvers.stochastic import initial_layers
from studies.ranknet2005.artificial import (
    METHODS,
    PARTS,
    NetTraining,
    Vectors,
    draw_vectors,
    experiments,
    outputs,
    run_boosted,
    run_experiments,
    separated_pairs,
    train_epochs,
    train_net,
)
from studies.ranknet2005.posteriors import chain, combine, figure1_cost, posteriors

SEED = 7
LINEAR = NetTraining(hidden=0)


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


def test_a_linear_share_of_a_third_is_the_text_of_the_paper():
    thirds, text = (draw_vectors("poly", SEED, terms) for terms in (1 / 3, "deviation"))
    assert np.array_equal(thirds.x, text.x) and np.array_equal(thirds.grades, text.grades)
    assert not np.array_equal(draw_vectors("poly", SEED, 0.2).grades, text.grades)


def test_correct_counts_pairs_within_files_and_half_of_equal_scores(data):
    own = data[:150]
    weights = np.zeros(50)
    weights[:2] = 1.0
    coarse = Vectors(np.round(own.x), own.grades)  # many equal scores
    scores = coarse.x @ weights
    points = [(scores[i] > scores[j]) + (scores[i] == scores[j]) / 2 for i, j in crucial_pairs(own.grades)]
    layers = (np.zeros((50, 0)), np.zeros(0), weights)
    assert 0.1 < np.mean(np.array(points) == 0.5) < 0.9
    assert coarse.correct(outputs(layers, coarse.x)) == pytest.approx(100 * np.mean(points))


def test_a_step_per_file_is_the_sum_of_its_pair_gradients(data):
    own = data[:50]
    weights = next(train_epochs(own, LINEAR._replace(steps="file"), SEED)).layers[2]
    # All scores are zero before the first step, so every pair's gradient is (1/2 - 1) (x_better - x_worse).
    gradient = sum(-0.5 * (own.x[i] - own.x[j]) for i, j in crucial_pairs(own.grades))
    np.testing.assert_allclose(weights, -1e-3 * gradient, atol=1e-12)


def test_a_step_per_pair_follows_the_gradient_at_the_current_weights(data):
    own = data[:50]
    weights, cost = np.zeros(50), 0.0
    pairs = listed_pairs(own.grades, own.offsets)
    rng = np.random.default_rng(SEED)
    initial_layers(50, 0, rng)  # draws as many numbers as the training does before its steps
    for pair in rng.permutation(len(pairs)):
        difference = own.x[pairs.better[pair]] - own.x[pairs.worse[pair]]
        gap = difference @ weights
        cost += float(pair_cost(gap))
        weights = weights + 1e-3 / (1 + np.exp(gap)) * difference
    epoch = next(train_epochs(own, LINEAR, SEED))
    np.testing.assert_allclose(epoch.layers[2], weights, rtol=1e-9)
    assert epoch.cost == pytest.approx(cost / len(pairs))


def test_both_kinds_of_steps_agree_to_first_order(data):
    own = data[:50]
    pair, file = (next(train_epochs(own, LINEAR._replace(steps=steps), SEED)).layers[2] for steps in ("pair", "file"))
    assert 0 < np.abs(pair - file).max() < 0.2 * np.abs(file).max()


def test_the_kept_net_has_the_least_validation_error(data):
    found = train_net(data, 100, LINEAR, SEED)
    own, vali, test = data[:100], data[PARTS["vali"]], data[PARTS["test"]]
    scored, costs, errors = [], [], []
    for layers, cost in islice(train_epochs(own, LINEAR, SEED), found["epochs"]):
        scored.append(tuple(part.correct(outputs(layers, part.x)) for part in (vali, test)))
        costs.append(cost)
        errors.append(100 - own.correct(outputs(layers, own.x)))
    best = int(np.argmax([correct for correct, _ in scored]))
    assert (found["vali"], found["test"]) == scored[best] and found["epoch"] == best + 1
    assert found["test"] > 70
    assert found["cost_rises"] == sum(later > earlier for earlier, later in pairwise(costs))
    rises = np.diff(errors)
    assert found["error_rises"] == np.count_nonzero(rises > 0)
    assert found["largest_error_rise"] == pytest.approx(max(0.0, rises.max()))


def test_every_experiment_of_the_paper_takes_steps_per_pair():
    named = [item for target in ("net", "poly") for item in experiments(target, (100,), (100,))]
    assert {item.name for item in named if item.training.steps == "file"} == {"table1_by_file", "zero_error_by_file"}
    table2 = [item for item in named if item.name == "table2"]
    assert {(item.net, item.training.ties) for item in table2} == {("two_layer_10", False), ("two_layer_10", True)}


def test_boosted_scores_order_the_vectors(data):
    runs = run_boosted(data, 100)
    assert [run["net"] for run in runs] == list(METHODS)
    for run in runs:
        assert 60 < run["test"] < 90 and abs(run["test"] - run["vali"]) < 3 and 1 <= run["epoch"] <= 1000


def test_separated_pairs_by_enumeration(data):
    own = data[:150]
    above = own.x[:, 3] > 0.4
    assert separated_pairs(above, own) == sum(above[i] != above[j] for i, j in crucial_pairs(own.grades))
    assert separated_pairs(np.ones(150, bool), own) == 0


def test_part_of_a_file_is_refused():
    settings = {"target": "net", "draw": 1, "sizes": [75], "tie_sizes": [], "boosted_sizes": []}
    with pytest.raises(GradrankError, match="75 training vectors"):
        run_experiments(settings, SEED)


inside = st.floats(1e-6, 1 - 1e-6)
neighbours = st.lists(st.floats(0.1, 0.9), min_size=1, max_size=5)


@given(inside, inside)
def test_formula_as_printed(p, q):
    assert combine(p, q) == pytest.approx(p * q / (1 + 2 * p * q - p - q), rel=1e-6)


@given(inside)
def test_indifference_changes_nothing_and_opposites_cancel(p):
    assert combine(p, 0.5) == pytest.approx(p, rel=1e-14)
    assert combine(p, 1 - p) == pytest.approx(0.5, rel=1e-9)


@given(inside, inside, inside)
def test_order_is_irrelevant(p, q, r):
    assert combine(p, q) == combine(q, p)
    assert combine(combine(p, q), r) == pytest.approx(combine(p, combine(q, r)), rel=1e-9)


def test_contradicting_certainties_are_undefined():
    np.testing.assert_equal(combine([0.0, 1.0], [1.0, 0.0]), [np.nan, np.nan])


@given(st.floats(0.01, 0.99), st.integers(1, 12))
def test_chain_is_repeated_combination_and_its_closed_form(p, n):
    repeated = p
    for _ in range(n - 1):
        repeated = combine(repeated, p)
    odds = (p / (1 - p)) ** n
    assert chain(p, n) == pytest.approx(repeated, rel=1e-9)
    assert chain(p, n) == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert chain(p, 0) == 0.5


@given(st.floats(0.01, 0.99), st.integers(1, 6))
def test_a_longer_chain_is_strictly_farther_from_one_half(p, n):
    near, far = chain(p, n) - 0.5, chain(p, n + 1) - 0.5
    if abs(p - 0.5) < 1e-9:
        assert near == pytest.approx(0.0, abs=1e-8) and far == pytest.approx(0.0, abs=1e-8)
    else:
        assert np.sign(near) == np.sign(far) == np.sign(p - 0.5) and abs(far) > abs(near)


@given(neighbours)
def test_neighbours_determine_a_consistent_whole(adjacent):
    p = posteriors(np.array(adjacent))
    n = len(adjacent) + 1
    np.testing.assert_allclose(np.diagonal(p, 1), adjacent, rtol=1e-12)
    np.testing.assert_allclose(p + p.T, 1.0, rtol=1e-14)
    for i in range(n):
        for j in range(n):
            np.testing.assert_allclose(combine(p[i, j], p[j]), p[i], rtol=1e-6, atol=1e-9)


def test_posteriors_across_a_certain_step():
    """A certain step decides all pairs across it and leaves the others unchanged; no step gives one item."""
    p = posteriors(np.array([0.3, 1.0, 0.4]))
    assert p[0, 1] == pytest.approx(0.3) and p[2, 3] == pytest.approx(0.4)
    assert p[0, 2] == p[0, 3] == p[1, 2] == p[1, 3] == 1.0
    assert np.isnan(posteriors(np.array([1.0, 0.0]))[0, 2])
    assert posteriors(np.array([])).tolist() == [[0.5]]


def test_figure1_cost_has_the_limits_that_the_paper_names():
    """The cost is linear in the wrong direction and vanishes in the right one; for target 1/2 it is even, with log 2
    at 0.
    """
    o, curves = figure1_cost()
    assert o[0] == -5 and o[-1] == 5 and len(o) == 201
    np.testing.assert_allclose(curves[1.0], np.log(1 + np.exp(-o)), rtol=1e-12)
    np.testing.assert_allclose(curves[0.0], curves[1.0][::-1], rtol=1e-9)
    np.testing.assert_allclose(curves[0.5], (curves[0.0] + curves[1.0]) / 2, rtol=1e-12)
    assert curves[0.5].min() == curves[0.5][100] == pytest.approx(np.log(2))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_values_outside_0_and_1_are_refused(wrong):
    for call in (lambda: combine(wrong, 0.5), lambda: chain(wrong, 2), lambda: posteriors([wrong])):
        with pytest.raises(GradrankError, match=r"outside \[0, 1\]"):
            call()
    with pytest.raises(GradrankError, match="-1 steps"):
        chain(0.5, -1)
