"""`Ranker` passes scikit-learn's own checks of estimators, and works with its tools."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gradrank
from gradrank import Ranker


class QueriesOfTwo(Ranker):
    """A ranker for scikit-learn's checks, which have no query ids and any numbers as targets.

    Two successive rows are a query. The grade of a row is the rank of its target among the distinct targets.
    """

    def fit(self, X, y, qid=None, sample_weight=None, eval_set=None):
        return super().fit(X, grades_of(y), qid=pairs_of_rows(y), sample_weight=sample_weight)

    def score(self, X, y, qid=None, sample_weight=None):
        return super().score(X, grades_of(y), qid=pairs_of_rows(y))


def pairs_of_rows(y):
    return None if y is None else np.arange(len(np.asarray(y))) // 2


def grades_of(y):
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        return y
    return np.minimum(np.unique(values, return_inverse=True)[1], 31)


REASONS = {
    "check_no_attributes_set_in_init": "the parameters of the method are keyword arguments, because methods differ",
    "check_do_not_raise_errors_in_init_or_set_params": "an unknown method is refused at once",
    "check_dtype_object": "an object in X raises InputError, a ValueError, and not TypeError",
    "check_sample_weight_equivalence_on_dense_data": "repeated rows form other queries here, so others are held out",
    "check_fit2d_1sample": "the error about a single row names qid: a query of one document has no order",
}


@parametrize_with_checks(
    [QueriesOfTwo(method, random_state=1, rounds=3) for method in ("lambdamart", "mart")],
    expected_failed_checks=lambda estimator: REASONS,
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.clip(np.round(X[:, 0] + rng.normal(scale=0.5, size=600) + 1), 0, 4).astype(int)
    return X, y, np.repeat(np.arange(60), 10)


def test_a_grid_search_over_whole_queries_sets_the_parameters_of_the_method(routing, data):
    X, y, qid = data
    grid = {"l2": [(1e-3,), (1e5,)], "method": ["regression"]}
    search = GridSearchCV(Ranker("regression", random_state=1), grid, cv=GroupKFold(3), error_score="raise")
    search.fit(X, y, groups=qid, qid=qid)
    best = Ranker("regression", random_state=1, l2=search.best_params_["l2"]).fit(X, y, qid=qid)
    assert np.array_equal(search.predict(X), best.predict(X, qid=qid))
    for train, test in GroupKFold(3).split(X, y, qid):
        fitted = Ranker("regression", random_state=1, l2=(1e5,)).fit(X[train], y[train], qid=qid[train])
        assert fitted.score(X[test], y[test], qid=qid[test]) in np.array(
            [search.cv_results_[f"split{i}_test_score"][1] for i in range(3)]
        )


def test_a_pipeline_passes_the_query_ids_on(routing, data):
    X, y, qid = data
    pipeline = make_pipeline(StandardScaler(), Ranker("ranksvm", random_state=1)).fit(X, y, qid=qid)
    scaled = StandardScaler().fit_transform(X)
    alone = Ranker("ranksvm", random_state=1).fit(scaled, y, qid=qid)
    assert np.array_equal(pipeline.predict(X, qid=qid), alone.predict(scaled, qid=qid))
    values = cross_validate(pipeline, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3), error_score="raise")
    assert (values["test_score"] > 0.8).all()


def test_clone_and_get_params_cover_the_parameters_of_the_method():
    ranker = Ranker("lambdamart", random_state=3, num_leaves=7)
    copy = clone(ranker)
    assert copy.get_params() == ranker.get_params()
    assert copy.get_params()["num_leaves"] == 7 and copy.get_params()["learning_rate"] == 0.05
    assert repr(copy) == repr(ranker) == "Ranker('lambdamart', random_state=3, num_leaves=7)"
    copy.set_params(num_leaves=9, random_state=None)
    assert ranker.get_params()["num_leaves"] == 7 and copy.get_params()["random_state"] is None


def test_a_new_method_starts_with_its_defaults():
    ranker = Ranker("lambdamart", num_leaves=7, random_state=3).set_params(method="regression")
    assert ranker.get_params() == Ranker("regression", random_state=3).get_params()
    with pytest.raises(ValueError, match="num_leaves"):
        ranker.set_params(num_leaves=7)
    assert ranker.get_params() == Ranker("regression", random_state=3).get_params()


@pytest.mark.parametrize("method", ["lambdamart", "regression", "ranksvm"])
def test_every_default_of_a_method_can_be_passed(method):
    assert Ranker(**Ranker(method).get_params()).get_params() == Ranker(method).get_params()


def test_the_class_is_public():
    assert gradrank.Ranker is Ranker
