"""`Ranker` passes scikit-learn's own checks of estimators, and works with its tools."""

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

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
    "check_dtype_object": "an object in X raises InputError, a ValueError, and not TypeError",
    "check_sample_weight_equivalence_on_dense_data": "repeated rows form other queries here, so others are held out",
    "check_sample_weight_equivalence_on_sparse_data": "repeated rows form other queries here, so others are held out",
    "check_fit2d_1sample": "the error about a single row names qid: a query of one document has no order",
}


@parametrize_with_checks(
    [QueriesOfTwo(method, random_state=1, rounds=3) for method in ("lambdamart", "mart")],
    expected_failed_checks=lambda estimator: REASONS,
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


# The checks that `Ranker` itself fails, because scikit-learn's checks have no query ids
WITHOUT_QID = dict.fromkeys(
    (
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ),
    "the check calls fit without qid, which is an error: a ranker has to know the queries",
)


def test_the_checks_without_query_ids_fail_with_an_error_that_names_them():
    options = {"expected_failed_checks": WITHOUT_QID, "on_skip": None, "on_fail": None}
    results = check_estimator(Ranker("lambdamart", random_state=1, rounds=3), **options)
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == {*WITHOUT_QID}
    assert {result["status"] for result in results} <= {"passed", "skipped", "xfail"}
    for result in results:
        if result["status"] == "xfail":
            error = result["exception"]
            assert "qid: missing" in f"{error} {error.__context__}", result["check_name"]


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
        ranker.set_params(num_leaves=7).fit(np.eye(4), [0, 1, 0, 1], qid=[1, 1, 2, 2])


@pytest.mark.parametrize("method", ["lambdamart", "regression", "ranksvm"])
def test_every_default_of_a_method_can_be_passed(method):
    assert Ranker(**Ranker(method).get_params()).get_params() == Ranker(method).get_params()


def frames(data):
    pandas = pytest.importorskip("pandas")
    X, _, qid = data
    columns = {f"x{place}": column for place, column in enumerate(X.T)} | {"qid": qid.astype(str)}
    return pandas.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).to_arrow()


def test_a_column_qid_of_a_data_frame_has_the_query_ids(data):
    X, y, qid = data
    given = Ranker("attention_lambdaloss", random_state=1, epochs=1).fit(X, y, qid=qid)
    for frame in frames(data):
        ranker = Ranker("attention_lambdaloss", random_state=1, epochs=1).fit(frame, y)
        assert ranker.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
        assert np.array_equal(ranker.predict(frame), given.predict(X, qid=qid))
        assert ranker.score(frame, y) == given.score(X, y, qid=qid)
        with pytest.raises(ValueError, match=r"qid: given, and X has a column `qid`.*Fix"):
            ranker.predict(frame, qid=qid)


def test_a_cross_validation_without_metadata_routing_names_the_setting(data):
    X, y, qid = data
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        cross_validate(Ranker("regression", random_state=1), X, y, cv=GroupKFold(3), groups=qid)
    with pytest.warns(UserWarning, match="enable_metadata_routing=True"):
        cross_validate(Ranker("regression", random_state=1), X, y, cv=GroupKFold(3), groups=qid, params={"qid": qid})


def test_linear_models_and_trees_have_feature_importances(data):
    X, y, qid = data
    linear = Ranker("regression", random_state=1).fit(X, y, qid=qid)
    weights = np.abs(linear.fold_.model.scoring_form(4).weights)
    assert linear.feature_importances_ == pytest.approx(weights / weights.sum(), abs=1e-12)
    trees = Ranker("lambdamart", random_state=1, rounds=5).fit(X, y, qid=qid)
    assert trees.feature_importances_.sum() == pytest.approx(1) and trees.feature_importances_.argmax() == 0
    net = Ranker("ranknet_two_layer", random_state=1, epochs=1).fit(X, y, qid=qid)
    assert not hasattr(net, "feature_importances_") and not hasattr(Ranker("mart"), "feature_importances_")


def test_the_best_iteration_has_the_highest_value_on_the_validation_data(data):
    X, y, qid = data
    ranker = Ranker("lambdamart", random_state=1, rounds=20).fit(X, y, qid=qid)
    values = ranker.history_["vali_ndcg@10"].to_list()
    assert values[ranker.best_iteration_ - 1] == max(values)


def test_verbose_prints_each_step(data, capsys):
    X, y, qid = data
    Ranker("lambdamart", random_state=1, rounds=3).fit(X, y, qid=qid)
    assert capsys.readouterr().err == ""
    Ranker("lambdamart", random_state=1, rounds=3, verbose=True).fit(X, y, qid=qid)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("  ")[0] for line in lines] == [f"lambdamart: step {step}" for step in (1, 2, 3)]


def test_the_class_is_public():
    assert gradrank.Ranker is Ranker
