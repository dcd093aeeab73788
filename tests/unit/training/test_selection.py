"""The criterion of the selection equals the reported metric under the same convention, also for early stopping."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.measures.conventions import CONVENTIONS, resolve
from gradrank.training.registry import get_model
from gradrank.training.selection import Criterion

# Choices that no named convention combines.
OTHERS = {
    "empty queries dropped": resolve("standard", empty=np.nan),
    "dropped, short queries 0": resolve("letor4", empty=np.nan),
    "empty queries 1, short queries 0": resolve("letor4", empty=1.0),
    "linear gain, discount of LETOR": resolve("trec", discount="letor", empty=1.0),
}
ALL = CONVENTIONS | OTHERS
ROUNDS = 15
MEASURES = ("map", "ndcg@1", "ndcg@3", "ndcg@10")


def reported(scores, labels, offsets, convention, measures=MEASURES) -> list[float]:
    """Return the means that `gradrank.evaluate` reports in expectation over ties; 0 if no query has a value."""
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    expected = convention.in_expectation()
    result = gradrank.evaluate(labels, scores, qid=qid, metrics=measures, convention=expected)
    return result.means["mean"].fill_null(0.0).to_list()


def selected(scores, labels, offsets, convention) -> list[float]:
    return [Criterion(measure, labels, offsets, convention).mean(scores) for measure in MEASURES]


def short_lists(queries: int, seed: int = 0, grades: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw features, grades and offsets. Every other query has fewer than ten documents, and some have only grade 0."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(queries) % 2, rng.integers(1, 10, queries), rng.integers(10, 30, queries))
    offsets = np.r_[0, np.cumsum(sizes)]
    query = np.repeat(np.arange(queries), sizes)
    features = rng.normal(size=(len(query), 5)).round(1).astype(np.float32)
    value = features @ [1.0, 0.7, 0.4, 0.0, 0.0] + rng.normal(size=len(query))
    labels = np.digitize(value, np.quantile(value, np.linspace(0.5, 0.95, grades))).astype(np.int32)
    return features, np.where(query % 7 == 3, 0, labels).astype(np.int32), offsets


@st.composite
def rankings(draw):
    """Draw scores, grades and offsets with many ties, short queries and queries without relevant documents."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=1, max_size=6))
    n = sum(sizes)
    labels = draw(st.lists(st.integers(0, draw(st.integers(0, 4))), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-2.5, -0.0, 0.0, 1 / 3, 7.0]), min_size=n, max_size=n))
    return np.array(scores), np.array(labels), np.cumsum([0, *sizes])


@settings(max_examples=100, deadline=None)
@given(data=rankings(), name=st.sampled_from(sorted(ALL)))
def test_the_criterion_is_the_reported_mean(name, data):
    np.testing.assert_allclose(selected(*data, ALL[name]), reported(*data, ALL[name]), atol=1e-13)


@pytest.mark.parametrize("queries", [40, 400, 4000])
def test_the_criterion_is_the_reported_mean_on_short_lists(queries):
    features, labels, offsets = short_lists(queries)
    data = features[:, 0], labels, offsets  # one decimal, so that there are many ties
    for name, convention in ALL.items():
        np.testing.assert_allclose(selected(*data, convention), reported(*data, convention), atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_the_rows_has_no_influence(name):
    features, labels, offsets = short_lists(40)
    query = np.repeat(np.arange(40), np.diff(offsets))
    rows = np.lexsort((-labels, query))  # the best grades first, which would be ideal in file order
    values = selected(features[:, 0], labels, offsets, ALL[name])
    np.testing.assert_allclose(selected(features[rows, 0], labels[rows], offsets, ALL[name]), values, atol=1e-13)


@pytest.mark.parametrize("queries", [40, 400, 4000])
def test_early_stopping_finds_the_round_that_a_direct_computation_finds(queries):
    """The scores after every round come from LightGBM, and the values from `gradrank.evaluate`."""
    features, labels, offsets = short_lists(queries, seed=8)
    train = Collection(features, labels, offsets, np.arange(queries))
    features, labels, offsets = short_lists(queries, seed=108)
    vali = Collection(features, labels, offsets, np.arange(queries))
    direct = lightgbm.LGBMRanker(
        n_estimators=ROUNDS, learning_rate=0.3, num_leaves=15, min_child_samples=3, random_state=4, n_jobs=1,
        verbosity=-1, deterministic=True, force_row_wise=True, label_gain=[2**grade - 1 for grade in range(6)],
        min_sum_hessian_in_leaf=1e-3, lambdarank_truncation_level=30, feature_pre_filter=False,
    ).fit(train.features, train.labels, group=np.diff(train.offsets))  # fmt: skip
    rounds = [direct.predict(features, raw_score=True, num_iteration=number) for number in range(1, ROUNDS + 1)]
    cls, chosen = get_model("lambdamart"), {}
    params = {"rounds": ROUNDS, "patience": ROUNDS, "learning_rate": 0.3, "num_leaves": 15, "min_data_in_leaf": 3}
    params["bagging_fraction"] = 1.0
    for name in ("letor4", "standard", "trec", "empty queries dropped"):
        convention = ALL[name]
        values = [reported(scores, labels, offsets, convention, ["ndcg@10"])[0] for scores in rounds]
        parts = [replace(part, convention=convention) for part in (train, vali)]
        history: list[dict] = []
        model = cls.fit(*parts, cls.Params(**params), 4, lambda step, history=history, **row: history.append(row))
        np.testing.assert_allclose([row["vali_ndcg@10"] for row in history], values, atol=1e-12, err_msg=name)
        chosen[name] = model.boosters[0].current_iteration()
        assert chosen[name] == 1 + int(np.argmax(np.round(values, 12))), name
    if queries == 40:
        assert len(set(chosen.values())) > 1, "the convention decides"


def test_a_ranker_selects_and_scores_under_its_convention():
    features, labels, offsets = short_lists(60)
    qid = np.repeat(np.arange(60), np.diff(offsets))
    data = features, labels, qid
    for convention in ("standard", "letor4", "trec"):
        ranker = gradrank.Ranker("lambdamart", random_state=1, rounds=20, convention=convention)
        ranker.fit(*data[:2], qid=qid, eval_set=data)
        scores = ranker.predict(features)
        best = ranker.history_["vali_ndcg@10"].max()
        assert [best] == pytest.approx(reported(scores, labels, offsets, resolve(convention), ["ndcg@10"]), abs=1e-12)
        evaluation = gradrank.evaluate(labels, scores, qid=qid, metrics="ndcg@10", convention=convention)
        assert ranker.score(*data[:2], qid=qid) == pytest.approx(evaluation.means["mean"][0], abs=1e-12)
    default = gradrank.Ranker().convention
    assert gradrank.evaluate(labels, scores, qid=qid).convention.name == default
    with pytest.raises(GradrankError, match="did you mean 'standard'"):
        gradrank.Ranker("regression", convention="standart").fit(*data[:2], qid=qid)
