"""`explain_pair`: contributions sum to the difference of the scores, and equal an enumeration of all subsets."""

from itertools import pairwise

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.explanations import shapley
from gradrank.explanations.pairs import best_two, explain_pair
from gradrank.training.scoring_form import Combined, LinearForm, QuadraticForm, TreesForm
from made_folds import enumerated, fold, random_tree, trees_function

WIDTH, ROWS = 6, 7
RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.normal(size=WIDTH)
MATRIX = RANDOM.normal(size=(WIDTH + 1, WIDTH + 1))
UNIT = RANDOM.uniform(0.5, 2.0, size=WIDTH)
TREES = tuple(random_tree(RANDOM, range(WIDTH - 1), 5) for _ in range(8))  # no tree uses the last feature


def quadratic(x, offsets):
    z = np.column_stack([np.ones(len(x)), UNIT * x])
    return np.einsum("ni,ij,nj->n", z, MATRIX, z)


def smooth(x, offsets):
    return np.tanh(x[:, 0] * x[:, 1] - x[:, 2]) + x[:, 3] * np.abs(x[:, 4])


def among_others(x, offsets):
    """Return scores that depend on the other documents of the query. The last feature has no influence."""
    out = np.empty(len(x))
    for start, end in pairwise(offsets):
        query = smooth(x[start:end], None)
        out[start:end] = query * (1.0 + query.std()) - query.max()
    return out


def sum_of_members(x, offsets):
    return x @ [1.0, 0.5]


def exact_folds():
    linear, trees = LinearForm(WEIGHTS, 0.3), TreesForm(TREES, 0.7)
    of_trees = trees_function(TREES, 0.7)
    both = Combined((linear, trees, QuadraticForm(MATRIX, UNIT)), np.array([2.0, -1.0, 0.1]))
    return {
        "linear": fold(lambda x, o: x @ WEIGHTS + 0.3, WIDTH, linear),
        "linear as a quadratic form": fold(
            lambda x, o: (UNIT * x) @ WEIGHTS + 0.3, WIDTH, QuadraticForm(np.r_[0.3, WEIGHTS][None], UNIT)
        ),
        "quadratic": fold(quadratic, WIDTH, QuadraticForm(MATRIX, UNIT)),
        "trees": fold(of_trees, WIDTH, trees),
        "sum": fold(lambda x, o: 2 * (x @ WEIGHTS + 0.3) - of_trees(x, o) + 0.1 * quadratic(x, o), WIDTH, both),
    }


def sampled_folds():
    members = [fold(smooth, WIDTH), fold(among_others, WIDTH, by_query=True)]
    return {
        "function": fold(smooth, WIDTH),
        "whole query": fold(among_others, WIDTH, by_query=True),
        "fusion": fold(sum_of_members, WIDTH, by_query=True, members=members),
        "trees without a form": fold(trees_function(TREES), WIDTH),
        "logistic trees": fold(
            lambda x, o: 1 / (1 + np.exp(-trees_function(TREES)(x, o))),
            WIDTH,
            Combined((TreesForm(TREES),), np.ones(1), "logistic"),
        ),
    }


EXACT, SAMPLED = exact_folds(), sampled_folds()


def query(rows: int = ROWS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, WIDTH)).astype(np.float32)


def scores_of(trained):
    return lambda features: trained.score(features, np.array([0, len(features)]))


@pytest.mark.parametrize("rows", [2, 3, ROWS])
@pytest.mark.parametrize("name", EXACT)
def test_exact_values_equal_an_enumeration_of_all_subsets(name, rows):
    features = query(rows)
    found = explain_pair(EXACT[name], features, 1, 0)
    expected = enumerated(scores_of(EXACT[name]), features, 1, 0)
    assert np.allclose(found.contributions, expected, rtol=0, atol=1e-6)
    assert not found.errors.any()


def test_missing_values_take_the_branch_of_each_node():
    features = query()
    features[np.random.default_rng(1).random(features.shape) < 0.4] = np.nan
    found = explain_pair(EXACT["trees"], features, 2, 5)
    assert np.allclose(found.contributions, enumerated(scores_of(EXACT["trees"]), features, 2, 5), atol=1e-9)
    sampled = explain_pair(SAMPLED["trees without a form"], features, 2, 5)
    assert np.all(np.abs(sampled.contributions - found.contributions) <= 5 * sampled.errors + 1e-12)


@pytest.mark.parametrize("rows", [2, ROWS])
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_values_are_within_their_error_of_an_enumeration(name, rows):
    features = query(rows, seed=2)
    found = explain_pair(SAMPLED[name], features, 0, 1)
    expected = enumerated(scores_of(SAMPLED[name]), features, 0, 1)
    assert np.all(np.abs(found.contributions - expected) <= 5 * found.errors + 1e-9)
    assert found.errors.any()


def test_the_standard_error_is_that_of_repeated_samples():
    trained, features = SAMPLED["function"], query()
    found = [explain_pair(trained, features, 0, 1, seed=seed) for seed in range(60)]
    contributions = np.array([each.contributions for each in found])
    errors = np.array([each.errors for each in found])
    # A pair of a permutation and its reverse has no error for the features of the second term, which is a product.
    ratio = contributions.std(axis=0, ddof=1)[:3] / np.sqrt(np.square(errors).mean(axis=0))[:3]
    assert np.all((ratio > 0.6) & (ratio < 1.3)), ratio


@pytest.mark.parametrize("name", [*EXACT, *SAMPLED])
def test_contributions_sum_to_the_difference_of_the_scores(name):
    trained, features = (EXACT | SAMPLED)[name], query(seed=4)
    for first, second in ((0, 1), (3, 2), (6, 0)):
        found = explain_pair(trained, features, first, second)
        scores = scores_of(trained)(features)
        assert found.scores == (scores[first], scores[second])
        assert found.contributions.sum() == pytest.approx(found.difference, rel=1e-6, abs=1e-6)
        assert found.frame()["contribution"].sum() == pytest.approx(found.difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["trees", "quadratic", "function", "whole query", "fusion"])
def test_the_reversed_pair_has_the_opposite_contributions(name):
    trained, features = (EXACT | SAMPLED)[name], query()
    there, back = explain_pair(trained, features, 0, 3), explain_pair(trained, features, 3, 0)
    assert np.allclose(there.contributions, -back.contributions, atol=1e-12)


@pytest.mark.parametrize("name", ["trees", *SAMPLED])
def test_a_feature_without_influence_has_exactly_0(name):
    found = explain_pair((EXACT | SAMPLED)[name], query(), 4, 1)
    assert found.contributions[-1] == 0.0
    assert found.errors[-1] == 0.0


@pytest.mark.parametrize("name", ["linear", "trees", "function"])
def test_a_feature_that_is_constant_in_the_query_has_exactly_0(name):
    features = query()
    features[:, 0] = 1.5
    assert explain_pair((EXACT | SAMPLED)[name], features, 4, 1).contributions[0] == 0.0


def test_features_with_equal_roles_and_values_share_equally():
    tree = random_tree(np.random.default_rng(9), [0, 1], 4)
    swapped = type(tree)(
        np.where(tree.feature >= 0, 1 - tree.feature, -1),
        *(getattr(tree, name) for name in ("threshold", "left", "right", "missing_left", "value")),
    )
    features = query()
    features[:, 1] = features[:, 0]
    found = explain_pair(fold(trees_function([tree, swapped]), WIDTH, TreesForm((tree, swapped))), features, 0, 1)
    assert found.contributions[0] == pytest.approx(found.contributions[1], abs=1e-12)


def test_three_ways_agree_on_an_additive_function():
    stumps = [random_tree(np.random.default_rng(seed), [seed % WIDTH], 1) for seed in range(30)]
    features = query(seed=5)
    alone = [trees_function(stumps[feature::WIDTH])(features, None) for feature in range(WIDTH)]
    expected = [values[2] - values[6] for values in alone]
    by_trees = explain_pair(fold(trees_function(stumps), WIDTH, TreesForm(tuple(stumps))), features, 2, 6)
    by_samples = explain_pair(fold(trees_function(stumps), WIDTH), features, 2, 6)
    outputs = np.column_stack(alone).astype(np.float32)
    by_weights = explain_pair(fold(lambda x, o: x.sum(axis=1), WIDTH, LinearForm(np.ones(WIDTH))), outputs, 2, 6)
    for found in (by_trees, by_samples, by_weights):
        assert np.allclose(found.contributions, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["trees", "linear", "function", "whole query"])
def test_contributions_belong_to_the_features_before_the_normalisation_of_the_query(name):
    plain = (EXACT | SAMPLED)[name]
    raw = query() * [1.0, 10.0, 100.0, 0.1, 1.0, 1.0] + 5.0
    raw = raw.astype(np.float32)
    normalised = Normaliser("query")(raw, np.array([0, ROWS]))
    arguments = (plain.model.function, WIDTH, plain.model.form, plain.model.by_query)
    found = explain_pair(fold(*arguments, normalise={"method": "query"}), raw, 1, 2)
    expected = explain_pair(plain, normalised, 1, 2)
    assert np.array_equal(found.contributions, expected.contributions)
    assert np.array_equal(found.values, raw[[1, 2]])


def test_members_with_their_own_normalisation_are_explained_by_their_features():
    linear = fold(lambda x, o: x @ WEIGHTS, WIDTH, normalise={"method": "query"})
    fusion = fold(sum_of_members, WIDTH, by_query=True, members=[linear, fold(lambda x, o: x[:, 0], WIDTH)])
    features = query()
    unit = Normaliser("query")(features, np.array([0, ROWS])).astype(np.float64)
    expected = WEIGHTS * (unit[0] - unit[1])
    expected[0] += 0.5 * (float(features[0, 0]) - float(features[1, 0]))
    assert np.allclose(explain_pair(fusion, features, 0, 1).contributions, expected, atol=1e-5)


def test_the_seed_decides_the_sample():
    trained, features = SAMPLED["function"], query()
    first, again, other = (explain_pair(trained, features, 0, 1, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.contributions, again.contributions)
    assert not np.array_equal(first.contributions, other.contributions)


@pytest.mark.parametrize("name", SAMPLED)
def test_the_size_of_batches_does_not_matter(name, monkeypatch):
    expected = explain_pair(SAMPLED[name], query(), 0, 1)
    monkeypatch.setattr(shapley, "BATCH_VALUES", 100)
    monkeypatch.setattr(shapley, "BATCH_COALITIONS", 50)
    found = explain_pair(SAMPLED[name], query(), 0, 1)
    assert np.allclose(found.contributions, expected.contributions, rtol=0, atol=1e-12)
    assert np.allclose(found.errors, expected.errors, rtol=0, atol=1e-12)


def test_a_form_that_does_not_give_the_scores_is_an_error():
    wrong = fold(lambda x, o: x @ WEIGHTS, WIDTH, LinearForm(2 * WEIGHTS))
    with pytest.raises(GradrankError, match=r"scoring_form.*Formula"):
        explain_pair(wrong, query(), 0, 1)


@pytest.mark.parametrize("rows", [(0, 0), (0, ROWS), (-1, 2)])
def test_rows_that_are_no_pair_of_the_query_are_errors(rows):
    with pytest.raises(GradrankError, match=r"row -?\d+.*Fix"):
        explain_pair(EXACT["linear"], query(), *rows)


def test_the_first_two_documents_of_the_ranking():
    trained = fold(lambda x, o: x[:, 0], 1)
    assert best_two(trained, np.array([[1.0], [3.0], [2.0], [3.0]], np.float32)) == (1, 3)
    with pytest.raises(GradrankError, match="one document"):
        best_two(trained, np.ones((1, 1), np.float32))


def test_the_tables_show_the_largest_contributions_first():
    found = explain_pair(EXACT["linear"], query(), 0, 1)
    assert found.frame().columns == ["feature", "a", "b", "contribution", "error"]
    sizes = found.frame()["contribution"].abs().to_list()
    assert sizes == sorted(sizes, reverse=True)
    assert "exact" in repr(found)
    assert "<table>" in found._repr_html_()
