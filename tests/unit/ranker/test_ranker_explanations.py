"""`Ranker.importance` and `Ranker.explain`."""

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from gradrank import Ranker, evaluate
from gradrank.base.errors import GradrankError
from gradrank.explanations.pairs import explain_pair
from gradrank.training.scoring_form import TreesForm
from gradrank.training.solvers.boosting import lightgbm_forms
from made_folds import fold

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(240, 4)).astype(np.float32)
QID = np.repeat(np.arange(30), 8)
Y = np.clip(np.round(X @ [1.0, 0.5, 0.0, -0.5] + 0.5 * X[:, 0] * X[:, 1] + 1), 0, 2).astype(int)
SMALL = {"rounds": 15, "min_data_in_leaf": 5}


@pytest.fixture(scope="module")
def ranker():
    return Ranker("lambdamart", random_state=1, **SMALL).fit(X, Y, qid=QID)


def test_contributions_sum_to_the_difference_of_the_predictions(ranker):
    scores = ranker.predict(X, qid=QID)
    found = ranker.explain(X, qid=QID, pair=(11, 9))
    assert found.contributions.sum() == pytest.approx(scores[11] - scores[9], abs=1e-9)
    assert (found.documents, found.query) == (("11", "9"), "1")
    assert np.array_equal(found.values, X[[11, 9]])
    assert "exact" in found.method


def test_without_a_pair_the_first_two_documents_are_explained(ranker):
    scores = ranker.predict(X, qid=QID)
    found = ranker.explain(X, qid=QID, query=2)
    assert [int(row) for row in found.documents] == (16 + np.argsort(-scores[16:24], kind="stable")[:2]).tolist()
    alone = ranker.explain(X[16:24])
    assert np.array_equal(alone.contributions, found.contributions)


def test_the_order_of_the_rows_does_not_matter(ranker):
    rows = RANDOM.permutation(len(X))
    found = ranker.explain(X, qid=QID, pair=(3, 6))
    places = np.argsort(rows)
    shuffled = ranker.explain(X[rows], qid=QID[rows], pair=(places[3], places[6]))
    assert np.allclose(found.contributions, shuffled.contributions, atol=1e-12)


def test_columns_of_a_data_frame_name_the_features():
    frame = pl.DataFrame(X, schema=["bm25", "links", "age", "spam"])
    ranker = Ranker("regression", random_state=1).fit(frame, Y, qid=QID)
    assert set(ranker.explain(frame, qid=QID, query=0).features) == set(frame.columns)
    found = ranker.importance(frame, Y, qid=QID, groups={"text": ["bm25"], "rest": ["links", "age", "spam"]})
    assert set(found.frame()["feature"]) == {"text", "rest"}
    with pytest.raises(GradrankError, match="did you mean 'links'"):
        ranker.importance(frame, Y, qid=QID, groups={"rest": ["lniks"]})
    with pytest.raises(GradrankError, match="list of feature names"):
        ranker.importance(frame, Y, qid=QID, groups={"rest": "links"})


def test_the_importance_is_the_drop_of_the_score(ranker):
    found = ranker.importance(X, Y, qid=QID, repeats=3)
    assert found.mean == pytest.approx(evaluate(Y, ranker.predict(X), qid=QID).per_query["ndcg@10"].mean())
    table = found.frame()
    assert table.columns == ["feature", "drop", "low", "high"]
    assert table["feature"][0] == "f1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": QID}, "query: missing.*30 queries"),
        ({"qid": QID, "query": 30}, "no row has the query id '30'"),
        ({"qid": QID, "pair": (0, 8)}, "not in query 0"),
        ({"qid": QID, "query": 1, "pair": (0, 1)}, "not in query 1"),
        ({"qid": QID, "pair": (0, 240)}, "from 0 to 239"),
        ({"qid": QID, "pair": (0, 1, 2)}, "not a pair"),
        ({"qid": QID, "pair": (0.5, 1)}, "not a pair"),
        ({"qid": QID, "pair": (4, 4)}, "both are row"),
        ({"qid": QID[:5]}, "qid"),
    ],
)
def test_arguments_without_a_pair_of_documents_are_errors(ranker, arguments, message):
    with pytest.raises(ValueError, match=message):
        ranker.explain(X, **arguments)


def test_a_query_with_one_document_has_no_pair(ranker):
    with pytest.raises(GradrankError, match="one document"):
        ranker.explain(X[:1])


def test_an_estimator_that_is_not_fitted_explains_nothing():
    with pytest.raises(NotFittedError):
        Ranker("regression").explain(X)
    with pytest.raises(NotFittedError):
        Ranker("regression").importance(X, Y, qid=QID)


def test_stumps_have_the_contributions_of_lightgbm():
    """For trees with one split, the values of LightGBM do not depend on the background, and so can be compared."""
    import lightgbm

    parameters = {"objective": "regression", "num_leaves": 2, "min_data_in_leaf": 5, "verbosity": -1, "seed": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X.astype(np.float64), Y), 40)
    (form,) = lightgbm_forms(booster)
    assert isinstance(form, TreesForm)
    trained = fold(lambda x, offsets: booster.predict(x), 4, form)
    found = explain_pair(trained, X[:8], 2, 5)
    of_lightgbm = booster.predict(X[:8].astype(np.float64), pred_contrib=True)[:, :-1]
    assert np.allclose(found.contributions, of_lightgbm[2] - of_lightgbm[5], atol=1e-12)
