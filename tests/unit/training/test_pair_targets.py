"""Tests of pairs with given targets and weights: their costs, and training with the listed pairs of the grades."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from gradrank.base.errors import GradrankError
from gradrank.data.pairs import Pairs, PairSource, crucial_pairs
from gradrank.models.frank import FRank
from gradrank.models.ranknet import RankNet2005Linear, RankNet2005TwoLayer, RankNetLinear, RankNetTwoLayer
from gradrank.models.ranknet_kernel import RankNetKernel
from gradrank.models.ranknet_report import RankNetReport
from gradrank.models.ranksvm import RankSVM, RankSVML1Dual, RankSVML2Dual, RankSVMSparse
from gradrank.training.losses.pairwise import pair_cost, ranknet
from gradrank.training.training_queries import with_grades_to_order, with_pairs_to_order
from made_rankings import linear_grades


def drawn(seed=0, queries=12, documents=8):
    part = linear_grades(seed, queries, documents)
    part.labels[:documents] = 0  # a query without a pair
    return part


def with_pairs(train, pairs):
    """Return `train` with `pairs` as the pairs of the user's file."""
    return replace(train, pair_source=PairSource(True, False, lambda: pairs))


def as_list(train, ties=False):
    """Return `train` with the pairs of its grades as a list of the user."""
    own = crucial_pairs(train.labels, train.offsets, ties)
    target = np.ones(len(own)) if own.target is None else own.target
    return with_pairs(train, replace(own, target=target, weight=np.ones(len(own))))


def of_grades(train, ties):
    own = PairSource(False, ties, lambda: crucial_pairs(train.labels, train.offsets, ties))
    return replace(train, pair_source=own)


def soft(train, seed=1, count=150):
    """Random pairs, with targets that no grades imply, and weights."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, train.rows, (count, 2))
    rows = rows[(rows[:, 0] // 8 == rows[:, 1] // 8) & (rows[:, 0] != rows[:, 1])]
    rows = np.array(sorted({(i // 8, i, j) for i, j in rows.tolist() if (i // 8, j, i)}), np.int32)
    target, weight = rng.uniform(0.5, 1.0, len(rows)), rng.uniform(0.2, 3.0, len(rows))
    return Pairs(rows[:, 1], rows[:, 2], rows[:, 0], target, weight)


def test_the_gradient_of_soft_targets_by_finite_differences():
    train = drawn()
    pairs, scores = soft(train), np.random.default_rng(3).normal(size=96)
    cost, gradient = ranknet(scores, pairs, train.offsets, sigma=0.8)
    each = pair_cost(scores[pairs.better] - scores[pairs.worse], pairs.target, 0.8)
    assert cost == pytest.approx(float(pairs.weight @ each), rel=1e-12)
    numeric = approx_fprime(scores, lambda s: ranknet(s, pairs, train.offsets, sigma=0.8)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def fitted(model, train, **params):
    return model.fit(train, drawn(9), model.Params(**params), 0, lambda step, **values: None)


def scored(model, train, **params):
    test = drawn(10)
    return fitted(model, train, **params).score(test.features, test.offsets)


FAST = {
    RankNetLinear: {"l2": (0.1, 0.03)},
    RankNetKernel: {"l2": (0.1, 0.01), "landmarks": 30},
    RankNetTwoLayer: {"epochs": 4, "batch_queries": 3},
    RankNet2005TwoLayer: {"epochs": 4, "updates": "query", "learning_rate": 0.05},
    RankNet2005Linear: {"epochs": 4, "updates": "pair", "learning_rate": 0.01},
    RankSVM: {"C": (0.01, 1.0)},
    RankSVMSparse: {"C": (0.01, 1.0), "weighting": "query"},
    RankSVML2Dual: {"C": (0.01,), "gap": 1e-9},
}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("model", FAST)
def test_a_list_of_what_the_grades_say_trains_the_same(model, ties):
    grades, own = (scored(model, each, **FAST[model]) for each in (of_grades(drawn(), ties), as_list(drawn(), ties)))
    np.testing.assert_allclose(own, grades, rtol=1e-4, atol=1e-5)
    plain = scored(model, drawn(), **FAST[model])
    assert np.array_equal(grades, plain) == (not ties)  # the stage's ties are seen, and without them nothing changes


@pytest.mark.parametrize("model", [RankNetReport, RankSVML1Dual, FRank])
def test_models_that_read_the_list_train_to_the_same_bytes(model):
    params = {RankNetReport: {"epochs": 2, "pairs_per_epoch": 64}, FRank: {"rounds": 5}}.get(model, {"C": (0.1,)})
    grades, own = (scored(model, each, **params) for each in (drawn(), as_list(drawn())))
    np.testing.assert_array_equal(own, grades)


@pytest.mark.parametrize("model", [*FAST, RankNetReport, FRank])
def test_preferences_of_documents_without_grades_are_learned(model):
    """The preferences are opposite to the grades, which are hidden from the model."""
    train = drawn()
    own = crucial_pairs(train.labels, train.offsets)
    against = Pairs(own.worse, own.better, own.query, np.full(len(own), 0.9), np.full(len(own), 0.5))
    order = np.lexsort((against.worse, against.better, against.query))
    against = Pairs(*(each[order] for each in vars(against).values()))
    blank = with_pairs(replace(train, labels=np.zeros_like(train.labels)), against)
    params = FAST.get(model, {"epochs": 2, "learning_rate": 0.1} if model is RankNetReport else {"rounds": 5})
    vali = replace(drawn(9), labels=2 - drawn(9).labels)
    learned = model.fit(blank, vali, model.Params(**params), 0, lambda step, **values: None)
    test = drawn(10)
    scores = learned.score(test.features, test.offsets)
    pairs = test.pairs
    assert (scores[pairs.better] < scores[pairs.worse]).mean() > 0.75


def test_queries_without_a_pair_are_left_out_and_the_others_renumbered():
    train = drawn()
    ends = np.array([[9, 26, 25], [8, 24, 27]], np.int32)
    pairs = Pairs(*ends, np.array([1, 3, 3], np.int32), np.array([0.8, 0.5, 1.0]), np.ones(3))
    kept = with_pairs_to_order(with_pairs(train, pairs), "x")
    assert kept.qids.tolist() == [1, 3] and kept.offsets.tolist() == [0, 8, 16]
    assert kept.pairs.better.tolist() == [1, 10, 9] and kept.pairs.worse.tolist() == [0, 8, 11]
    assert kept.targets.query.tolist() == [0, 1, 1]
    assert with_grades_to_order(with_pairs(train, pairs), "x").qids.tolist() == list(range(1, 12))


def test_pairs_that_order_nothing_are_an_error():
    even = Pairs(*(np.array([row], np.int32) for row in (0, 1, 0)), np.array([0.5]), np.ones(1))
    for model in (RankNetLinear, RankSVM, FRank):
        with pytest.raises(GradrankError, match=f"{model.name}: .*target above 1/2"):
            fitted(model, with_pairs(drawn(), even))
