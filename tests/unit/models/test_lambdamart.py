"""Boosted trees against their formulas, and early stopping against our own measure."""

import re

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.registry import get_model
from gradrank.training.selection import measure
from gradrank.training.solvers.boosting import QUERY_LIMIT

RANKING = ("lambdamart", "lambdamart_faithful", "xendcg", "dart")
FOLLOWING = ("lambdaloss_trees", "lambdamart_stochastic", "yeti_trees")  # derivatives of our own
TREES = (*RANKING, *FOLLOWING, "mart", "random_forest", "mcrank")


def collection(sizes, highest=2, seed=0, features=4) -> Collection:
    rng = np.random.default_rng(seed)
    rows = sum(sizes)
    labels = rng.integers(0, highest + 1, rows)
    values = rng.random((rows, features))
    values[:, 0] += 0.3 * labels
    return Collection(
        features=values.astype(np.float32),
        labels=labels.astype(np.int32),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
        qids=np.arange(len(sizes)),
    )


def fit(name, train, vali=None, seed=0, **params):
    """The model and its history, with one row of values per round."""
    history: list[dict] = []
    cls = get_model(name)
    model = cls.fit(train, vali or train, cls.Params(**params), seed, lambda step, **values: history.append(values))
    return model, history


def lambdas(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Burges 2010, section 7: (-lambda, second derivative) of one query with all scores 0, in file order."""
    gain = 2.0**labels - 1.0
    discount = 1.0 / np.log2(np.arange(len(labels)) + 2.0)
    ideal = np.sort(gain)[::-1] @ discount
    force, curve = np.zeros(len(labels)), np.zeros(len(labels))
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                delta = (gain[i] - gain[j]) * abs(discount[i] - discount[j]) / ideal
                force[i] += delta / 2.0
                force[j] -= delta / 2.0
                curve[[i, j]] += delta / 4.0
    return force, curve


def test_the_faithful_first_tree_holds_burges_lambdas():
    """With one document per leaf, the first tree's output is sum lambda / sum of second derivatives.

    The query comes three times, because LightGBM puts no fewer than three rows into a feature's bin.
    """
    labels = np.array([0, 2, 1, 0, 4, 1], dtype=np.int32)
    features = np.arange(6, dtype=np.float32)[:, None]
    data = Collection(np.tile(features, (3, 1)), np.tile(labels, 3), np.arange(0, 19, 6), np.arange(3))
    leaves = {"num_leaves": 6, "min_data_in_leaf": 1}
    model, _ = fit("lambdamart_faithful", data, rounds=1, learning_rate=1.0, **leaves)
    force, curve = lambdas(labels)
    np.testing.assert_allclose(model.score(features, np.array([0, 6])), force / curve, rtol=1e-5)


def test_without_mu_and_noise_the_first_tree_is_faithful_lambdamart_s():
    data = collection([12, 9, 15], highest=3, seed=3)
    same = {"rounds": 1, "bagging_fraction": 1.0, "min_data_in_leaf": 3}
    ours, _ = fit("lambdaloss_trees", data, mu=0.0, **same)
    theirs, _ = fit("lambdamart_faithful", data, **same)
    np.testing.assert_allclose(*(each.score(data.features, data.offsets) for each in (ours, theirs)), rtol=1e-4)


def test_a_dart_is_kept_as_it_was_in_its_best_round():
    """Later rounds scale earlier trees: only what was trained no longer has the same text."""
    train, vali = collection([20] * 8, seed=1), collection([15, 8, 20], seed=2)
    common = {"drop_rate": 0.5, "skip_drop": 0.0, "min_data_in_leaf": 5}
    kept, history = fit("dart", train, vali, rounds=30, **common)
    best = kept.boosters[0].current_iteration()
    assert 1 < best < len(history) == 30
    again, _ = fit("dart", train, vali, rounds=best, **common)
    assert kept.texts == again.texts


def test_mart_with_a_document_a_leaf_returns_the_grades():
    data = collection([6, 6], seed=1)
    model, _ = fit("mart", data, rounds=1, learning_rate=1.0, num_leaves=12, min_data_in_leaf=1, max_bin=255)
    np.testing.assert_allclose(model.score(data.features, data.offsets), data.labels, atol=1e-6)


@pytest.mark.parametrize("form", ["multiclass", "ordinal"])
def test_mcrank_scores_are_expected_grades(form):
    """A constant feature leaves only the grades' shares: the expected grade is their mean."""
    data = collection([300], highest=3)
    constant = Collection(np.ones((300, 1), np.float32), data.labels, data.offsets, data.qids)
    model, _ = fit("mcrank", constant, form=form, rounds=3)
    scores = model.score(constant.features, constant.offsets)
    np.testing.assert_allclose(scores, data.labels.mean(), atol=1e-4)


@pytest.mark.parametrize("name", TREES)
def test_the_best_round_on_validation_is_kept(name):
    """LightGBM's running validation output is what the saved trees predict; extra rounds are cut off."""
    train, vali = collection([20] * 8, seed=1), collection([15, 1, 8, 20], seed=2)
    model, history = fit(name, train, vali, rounds=30, patience=8, min_data_in_leaf=5)
    values = [row["vali_map"] if "vali_map" in row else row["vali_ndcg@10"] for row in history]
    best = int(np.argmax(values)) + 1
    assert len(values) == min(best + 8, 30)
    scores = model.score(vali.features, vali.offsets)
    criterion = next(iter(history[0])).removeprefix("vali_")
    assert measure(criterion, scores, vali.labels, vali.offsets) == max(values)
    assert {booster.current_iteration() for booster in model.boosters} == {best}


def test_a_query_over_the_limit_is_refused_only_where_lightgbm_refuses_it():
    data = collection([QUERY_LIMIT + 1, 5])
    small = collection([20, 20])
    for name in RANKING:
        with pytest.raises(GradrankError, match=r"10,001.*10,000"):
            fit(name, data, small)
    _, history = fit("mart", data, small, rounds=2)
    assert len(history) == 2
    _, history = fit("lambdamart", small, data, rounds=2, min_data_in_leaf=5)
    assert len(history) == 2


def test_a_file_with_a_tree_that_goes_round_is_refused(tmp_path):
    model, _ = fit("mart", collection([30] * 6), rounds=2, patience=1, num_leaves=4, min_data_in_leaf=2)
    model.save(tmp_path)
    path = tmp_path / "trees0.txt"
    text = path.read_text()
    assert get_model("mart").load(tmp_path).texts == [text]
    for other in ("left_child=0 ", "left_child=7 ", "left_child=-99 "):
        path.write_text(re.sub(r"left_child=\S+ ", other, text, count=1))
        with pytest.raises(GradrankError, match=r"trees0\.txt"):
            get_model("mart").load(tmp_path)
