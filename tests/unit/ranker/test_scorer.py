"""The scorer for servers: the scores of `predict`, from several threads, and refusals by name."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import gradrank
from gradrank.base.errors import InputError
from gradrank.ranker.scorer import Scorer
from gradrank.training.trained_fold import TrainedFold

NAMES = ["price", "text match", "age"]
METHODS = {
    "lambdamart": {"rounds": 10, "min_data_in_leaf": 5},
    "ranknet_two_layer": {"epochs": 2, "hidden": (8,)},
    "ranksvm": {},
    "prank": {},
}


def data(missing: float = 0.0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=400) + 1), 0, 4).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, np.repeat(np.arange(40), 10)


def fitted(method: str, missing: float = 0.0) -> tuple[gradrank.Ranker, np.ndarray]:
    X, y, qid = data(missing)
    ranker = gradrank.Ranker(method, random_state=1, **METHODS[method])
    return ranker.fit(pl.DataFrame(X, schema=NAMES), y, qid=qid), X


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_predict_for_arrays_and_for_mappings(method):
    ranker, X = fitted(method)
    expected = ranker.predict(pl.DataFrame(X[:10], schema=NAMES), qid=[1] * 10)
    scorer = ranker.scorer()
    rows = [dict(zip(NAMES[::-1], row[::-1], strict=True)) for row in X[:10].tolist()]
    for documents in (X[:10], X[:10].astype(np.float64), rows, tuple(rows)):
        np.testing.assert_array_equal(scorer(documents), expected)


@pytest.mark.parametrize("method", METHODS)
def test_threads_get_the_scores_of_predict(method, tmp_path):
    ranker, X = fitted(method)
    ranker.save(tmp_path / "model")
    scorer = gradrank.load(tmp_path / "model").scorer()
    queries = [X[start : start + 10] for start in range(0, 400, 10)] * 20
    expected = [ranker.predict(pl.DataFrame(query, schema=NAMES), qid=[1] * 10) for query in queries[:40]] * 20
    with ThreadPoolExecutor(8) as pool:
        np.testing.assert_array_equal(list(pool.map(scorer, queries)), expected)


def test_missing_values_are_none_or_nan():
    ranker, X = fitted("lambdamart", missing=0.3)
    rows = [{name: None if np.isnan(x) else x for name, x in zip(NAMES, row, strict=True)} for row in X.tolist()]
    expected = ranker.predict(pl.DataFrame(X, schema=NAMES))
    np.testing.assert_array_equal(ranker.scorer()(rows), expected)
    np.testing.assert_array_equal(ranker.scorer()(X), expected)


@pytest.mark.parametrize(("missing", "filled"), [("zero", 0.0), ("least", 0.25), ("mean", 0.5)])
def test_missing_values_are_replaced_as_in_the_training_data(missing, filled):
    ranker, _ = fitted("ranksvm")
    fold = TrainedFold(ranker.fold_.model, ranker.fold_.spec | {"missing": missing})
    rows = np.array([[0.25, 0, 0], [0.75, 0, 0], [np.nan, 0, 0]])
    scores = Scorer(fold)(rows)
    np.testing.assert_array_equal(scores, Scorer(fold)(np.where(np.isnan(rows), filled, rows)))
    assert np.isnan(rows[2, 0])  # the argument is not changed


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"price": 1, "text match": 2}], r"document 0.*lacks the features 'age'.*Fix: give the features price"),
        ([{"price": 1, "text match": 2, "agee": 3}], r"lacks.*'age' and has 'agee'.*did you mean 'age'"),
        ([{"price": 1, "text match": 2, "age": 3, "qid": 4}], r"has 'qid', which the model was not trained on"),
        ([{"price": 1, "text match": 2, "age": 3}, {}], r"document 1, counted from 0, lacks"),
        ([{"price": 1, "text match": 2, "age": "3"}], r"'age' of document 0, counted from 0, is '3'"),
        ([{"price": 1, "text match": 2, "age": None}], r"takes only finite numbers"),
        ([{"price": 1, "text match": 2, "age": 1e39}], r"'age'.*inf"),
        ([{"price": 1, "text match": 2, "age": 10**400}], r"exceeds the range of floats"),
        ([[1.0, 2.0, 3.0]], r"document 0, counted from 0, is list"),
        (np.zeros((2, 4)), r"shape \(2, 4\).*expected numbers of shape \(n, 3\)"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([["1", "2", "3"]]), r"type <U1"),
    ],
)
def test_wrong_documents_are_refused_by_name(documents, message):
    ranker, _ = fitted("ranksvm")
    with pytest.raises(InputError, match=message):
        ranker.scorer()(documents)


def test_categories_are_the_levels_of_the_table():
    rng = np.random.default_rng(5)
    brands, stores = np.array(["Acme", "Nord", "Zen"]), rng.integers(0, 5, 400)
    brand, price = rng.integers(0, 3, 400), rng.normal(size=400)
    y = np.clip(np.round(price + 2.0 * (brand == 1) + 0.5 * stores), 0, 4).astype(int)
    columns = {"price": price, "brand": brands[brand], "store": pl.Series(stores.astype(str), dtype=pl.Categorical)}
    ranker = gradrank.Ranker("lambdamart", random_state=1, **METHODS["lambdamart"])
    ranker.fit(pl.DataFrame(columns), y, qid=data()[2])
    scorer = ranker.scorer()
    values = [("Nord", "3"), ("Zen ", "0"), ("unknown", "7"), (None, None)]
    table = pl.DataFrame([(0.5, *row) for row in values], schema=["price", "brand", "store"], orient="row")
    expected = ranker.predict(table)
    assert len(np.unique(expected[:2])) == 2
    rows = table.to_dicts()
    np.testing.assert_array_equal(scorer(rows), expected)
    for store in (3, 3.0, np.int64(3), " 3"):  # a number in JSON may be the name of a level
        np.testing.assert_array_equal(scorer([{**rows[0], "store": store}]), expected[:1])
    np.testing.assert_array_equal(scorer([{**rows[3], "store": float("nan")}]), expected[3:])
    with pytest.raises(InputError, match=r"\['Nord'\] is not a category"):
        scorer([{**rows[0], "brand": ["Nord"]}])


def test_a_missing_value_does_not_hide_a_wrong_one():
    ranker, _ = fitted("lambdamart")
    missing = {"price": None, "text match": 2, "age": 3}
    for wrong, message in (("3", "'age' of document 1"), (10**400, "exceeds the range")):
        with pytest.raises(InputError, match=message):
            ranker.scorer()([missing, {"price": 1, "text match": 2, "age": wrong}])


def test_no_documents_have_no_scores_and_one_feature_works():
    ranker, X = fitted("ranksvm")
    assert len(ranker.scorer()([])) == 0
    one = gradrank.Ranker("ranksvm", random_state=1).fit(X[:, :1], data()[1], qid=data()[2])
    np.testing.assert_array_equal(one.scorer()([{"f1": float(x)} for x in X[:5, 0]]), one.predict(X[:5, :1]))
