"""ClickRanker: textbook facts on simulated logs, equality with LightGBM and XGBoost, gradients, and invalid input."""

import warnings
from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import gradrank
from gradrank import ClickRanker, Ranker
from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.clicks import ClickLog, debias, relevance_probabilities, simulate
from gradrank.clicks.debias import document_table
from gradrank.clicks.dual_learning import DualSoftmax
from gradrank.clicks.pairwise_debiasing import PairwiseDebiasing
from gradrank.clicks.session_lists import session_lists

DRAW = np.random.default_rng(0)
QUERIES, DOCUMENTS = 60, 10
QID = np.repeat(np.arange(QUERIES), DOCUMENTS)
TREES = {"rounds": 60, "min_data_in_leaf": 10, "bagging_fraction": 1.0}


def made_documents(queries):
    X = DRAW.normal(size=(queries * DOCUMENTS, 4))
    return X, np.digitize(2 * X[:, 0] + X[:, 1], [0.5, 2, 3.5])


X, Y = made_documents(QUERIES)
X_TEST, Y_TEST = made_documents(300)
QID_TEST = np.repeat(np.arange(300), DOCUMENTS)
GAMMA = relevance_probabilities(Y)
LOGGING = X[:, 2] + 0.2 * X[:, 0]  # mostly a feature that has nothing to do with relevance


@cache
def log_of(eta, users="position_based", exploration="swap", sessions=20_000):
    return simulate(Y, LOGGING, qid=QID, sessions=sessions, seed=1, eta=eta, exploration=exploration, users=users)


def fitted(method, correction, made, propensity=None, **params):
    propensity = made.propensities if propensity is None and correction != "none" else propensity
    beta = made.beta if correction == "affine" else None
    propensity = made.alpha if correction == "affine" else propensity
    ranker = ClickRanker(method, correction=correction, random_state=1, **params)
    return ranker.fit(X, made.log, qid=QID, propensity=propensity, beta=beta)


def test_values(ranker):
    """Return the NDCG@10 of the test queries."""
    scores = ranker.predict(X_TEST)
    return gradrank.evaluate(Y_TEST, scores, qid=QID_TEST, metrics=["ndcg@10"]).per_query["ndcg@10"].to_numpy()


test_values.__test__ = False


def interval(differences):
    half = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean() - half, differences.mean() + half


METHODS = [("regression", {}), ("ranksvm", {}), ("lambdamart", TREES)]


@cache
def values_of_true_relevance(method):
    """Return the test values of the method on the true probabilities of relevance."""
    params = dict(METHODS)[method]
    if method == "ranksvm":  # it reads only the order of labels, and the order of probabilities is that of grades
        return test_values(Ranker(method, random_state=1, **params).fit(X, Y, qid=QID))
    return test_values(Ranker(method, random_state=1, gain="linear", **params).fit(X, GAMMA, qid=QID))


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_inverse_propensities_reach_the_value_of_true_relevance(method, params):
    made = log_of(2.0, sessions=200_000)
    lowest, _ = interval(test_values(fitted(method, "ips", made, **params)) - values_of_true_relevance(method))
    assert lowest > -0.02


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_clicks_without_a_correction_do_not_under_strong_bias(method, params):
    corrected, naive = (test_values(fitted(method, name, log_of(2.0), **params)) for name in ("ips", "none"))
    assert interval(corrected - naive)[0] > 0.05
    assert interval(naive - values_of_true_relevance(method))[1] < -0.05


@pytest.mark.parametrize(("method", "params"), METHODS)
def test_without_position_bias_no_correction_gains(method, params):
    corrected, naive = (fitted(method, name, log_of(0.0), **params) for name in ("ips", "none"))
    np.testing.assert_array_equal(corrected.predict(X_TEST), naive.predict(X_TEST))


def test_a_model_replaces_the_clicks_on_documents_that_are_shown_rarely():
    made = log_of(2.0, exploration="none")  # the last positions are hardly seen
    options = {"random_state": 1, "clip": 0.3}
    ips = ClickRanker("regression", **options).fit(X, made.log, qid=QID, propensity=made.propensities)
    robust = ClickRanker("regression", correction="dr", **options)
    robust.fit(X, made.log, qid=QID, propensity=made.propensities, relevance=GAMMA)
    assert interval(test_values(robust) - test_values(ips))[0] > 0


def test_trust_bias_needs_the_affine_correction():
    made = log_of(1.0, "trust_bias", sessions=100_000)
    affine, ips = (test_values(fitted("regression", name, made)) for name in ("affine", "ips"))
    assert interval(affine - values_of_true_relevance("regression"))[0] > -0.01
    assert interval(affine - ips)[0] > 0


@pytest.mark.parametrize(
    ("method", "correction", "params"),
    [
        ("lambdamart", "pairwise", TREES | {"regularization": 0.0}),
        ("lambdamart", "position", TREES),
        ("xgboost_ndcg", "pairwise", {"rounds": 60, "max_depth": 3, "subsample": 1.0}),
        ("softmax", "dual", {"scorer": "linear", "epochs": 3, "learning_rate": 0.01}),
    ],
)
def test_learned_bias_is_better_than_none(method, correction, params):
    if method == "xgboost_ndcg":
        pytest.importorskip("xgboost")
    if method == "softmax":
        pytest.importorskip("torch")
    learned, naive = (test_values(fitted(method, name, log_of(2.0), **params)) for name in (correction, "none"))
    assert interval(learned - naive)[0] > 0


def test_dual_learning_finds_the_propensities():
    pytest.importorskip("torch")
    made = log_of(1.0, exploration="shuffle")
    ranker = fitted("softmax", "dual", made, scorer="linear", epochs=10, learning_rate=0.01)
    np.testing.assert_allclose(ranker.propensities_, made.propensities, atol=0.15)


def lists_of(made):
    return session_lists(made.log, document_table(made.log, QID))


def trained_on_all(method, correction, made, **params):
    """Return a ranker of all queries and all rounds, because no propensities are identified."""
    with pytest.warns(GradrankWarning, match="all rounds"):
        ranker = ClickRanker(method, correction=correction, random_state=1, **params)
        return ranker.fit(X, made.log, qid=QID, eval_set=(X_TEST, Y_TEST, QID_TEST))


FIXED = log_of(1.0, exploration="none", sessions=2_000)


def test_position_is_that_of_lightgbm():
    import lightgbm

    lists = lists_of(FIXED)
    settings = {"objective": "lambdarank", "label_gain": [0, 1], "learning_rate": 0.05, "num_leaves": 15}
    settings |= {"min_data_in_leaf": 10, "deterministic": True, "force_row_wise": True, "num_threads": 1}
    settings |= {"lambdarank_position_bias_regularization": 2.0, "verbosity": -1, "feature_pre_filter": False}
    data = lightgbm.Dataset(
        X[lists.rows].astype(np.float32),
        lists.clicks,
        weight=lists.weights,
        group=np.bincount(lists.lists),
        position=lists.places,
        params=settings,
    )
    expected = lightgbm.train(settings, data, num_boost_round=20)
    params = TREES | {"rounds": 20, "regularization": 2.0}
    ranker = trained_on_all("lambdamart", "position", FIXED, **params)
    np.testing.assert_array_equal(ranker.predict(X_TEST), expected.predict(X_TEST.astype(np.float32)))


def test_pairwise_is_that_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    lists = lists_of(FIXED)
    settings = {"objective": "rank:ndcg", "lambdarank_unbiased": True, "ndcg_exp_gain": False, "tree_method": "hist"}
    settings |= {"learning_rate": 0.05, "max_depth": 3, "min_child_weight": 5.0, "nthread": 1, "seed": 1}
    first = np.r_[0, np.flatnonzero(np.diff(lists.lists)) + 1]
    data = xgboost.DMatrix(X[lists.rows].astype(np.float32), lists.clicks, nthread=1)
    data.set_group(np.bincount(lists.lists))
    data.set_weight(lists.weights[first])
    expected = xgboost.train(settings, data, 20).predict(xgboost.DMatrix(X_TEST.astype(np.float32)))
    params = {"rounds": 20, "max_depth": 3, "subsample": 1.0}
    np.testing.assert_array_equal(trained_on_all("xgboost_ndcg", "pairwise", FIXED, **params).predict(X_TEST), expected)


@pytest.mark.parametrize("normalize", [False, True])
def test_the_first_tree_of_pairwise_is_that_of_lambdamart(normalize):
    params = TREES | {"rounds": 1, "normalize": normalize}
    lists = lists_of(FIXED)
    pairwise = trained_on_all("lambdamart", "pairwise", FIXED, **params)
    plain = Ranker("lambdamart", random_state=1, **params).fit(
        X[lists.rows], lists.clicks, qid=lists.lists, sample_weight=lists.weights, eval_set=(X_TEST, Y_TEST, QID_TEST)
    )
    # LightGBM reads the logistic function from a table.
    np.testing.assert_allclose(pairwise.predict(X_TEST), plain.predict(X_TEST), rtol=1e-3)


CLICKS = np.array([1, 0, 0, 1, 0, 1, 0, 0])
PLACES = np.array([0, 1, 2, 3, 0, 1, 2, 3])
OFFSETS = np.array([0, 4, 8])


def finite_differences(cost, values):
    steps = 1e-6 * np.eye(len(values))
    return np.array([(cost(values + step) - cost(values - step)) / 2e-6 for step in steps])


def test_gradients_of_dual_learning_are_finite_differences():
    scores, loss = DRAW.normal(size=8), DualSoftmax(4)
    labels, weights = loss.codes(CLICKS, PLACES), np.array([2.0, 3.0])
    logits = DRAW.normal(size=4)

    def cost(scores):
        loss.logits = logits
        return loss.derivatives(scores, labels, OFFSETS, weights)[0]

    loss.logits = logits
    _, gradient, slopes = loss.derivatives(scores, labels, OFFSETS, weights)
    np.testing.assert_allclose(gradient, finite_differences(cost, scores), atol=1e-6)

    def cost_of_propensities(values):  # the ratios of relevance are constants
        ratio = CLICKS * np.repeat(weights, 4) * np.exp(np.repeat(scores[[0, 4]], 4) - scores)
        normed = values - np.log(np.exp(values).sum())
        return -(ratio * normed[PLACES]).sum() / 2

    np.testing.assert_allclose(slopes, finite_differences(cost_of_propensities, logits), atol=1e-6)


def test_derivatives_of_pairwise_debiasing_are_finite_differences():
    scores = DRAW.normal(size=8)
    objective = PairwiseDebiasing(CLICKS, PLACES, OFFSETS, np.ones(2), sigma=1.3)
    objective.plus, objective.minus = np.array([1.0, 0.7, 0.5, 0.2]), np.array([1.0, 0.9, 0.8, 0.6])

    def cost(scores):  # each pair counts as loss / (t+ t-)
        return objective.derivatives(scores)[2][0] @ (1 / objective.plus)

    slopes, curvatures, losses = objective.derivatives(scores)
    np.testing.assert_allclose(slopes, finite_differences(cost, scores), atol=1e-6)
    change = finite_differences(lambda values: objective.derivatives(values)[0], scores)
    np.testing.assert_allclose(curvatures, np.diag(change), atol=1e-6)
    assert losses[0] @ (1 / objective.plus) == pytest.approx(losses[1] @ (1 / objective.minus))


def test_factors_follow_the_losses_of_the_positions():
    objective = PairwiseDebiasing(CLICKS, PLACES, OFFSETS, np.ones(2), regularization=1.0)
    losses = objective.derivatives(np.zeros(8))[2]
    objective(np.zeros(8))
    np.testing.assert_allclose(objective.plus, np.maximum(np.sqrt(losses[0] / losses[0, 0]), 1e-3))
    np.testing.assert_allclose(objective.minus, np.maximum(np.sqrt(losses[1] / losses[1, 0]), 1e-3))


def test_equal_sessions_are_one_list_with_a_weight():
    rows = {"session": [1, 1, 2, 2, 3, 3], "qid": [0] * 6, "docid": [0, 1] * 3, "position": [1, 2] * 3}
    log = ClickLog(pl.DataFrame(rows | {"clicks": [1, 0, 1, 0, 0, 0], "impressions": [1] * 6}))
    lists = session_lists(log, document_table(log, [0, 0]))
    assert lists.rows.tolist() == [0, 1] and lists.clicks.tolist() == [1, 0] and lists.weights.tolist() == [2, 2]


def test_columns_and_a_log_give_the_same_model():
    made = log_of(1.0)
    rows = made.log.rows
    columns = {name: rows[name].to_numpy() for name in ("docid", "position", "session")}
    ranker = ClickRanker("regression", random_state=1).fit(
        X[columns["docid"]],
        rows["clicks"].to_numpy(),
        qid=rows["qid"].to_numpy(),
        propensity=made.propensities,
        **columns,
    )
    expected = fitted("regression", "ips", made)
    np.testing.assert_allclose(ranker.predict(X_TEST), expected.predict(X_TEST), atol=1e-6)


def test_rows_without_document_ids_are_lists_of_their_own():
    rows = log_of(1.0).log.rows.head(2_000)
    found = ClickRanker("regression", random_state=1).fit(
        X[rows["docid"]],
        rows["clicks"],
        qid=rows["qid"],
        session=rows["session"],
        position=rows["position"],
        propensity=1 / np.arange(1, 11),
    )
    assert found.score(X_TEST, Y_TEST, qid=QID_TEST) > 0.6


def test_a_log_with_the_columns_of_another_program():
    made = log_of(1.0, sessions=2_000)
    text = pl.col("docid").cast(pl.String)
    # Names as in Baidu-ULTR; its rows of one result page have a common number.
    frame = made.log.rows.select(
        serp="session", query_md5="qid", url_md5=text, rank_position="position", is_clicked="clicks"
    )
    log = ClickLog.read(frame, {"session": "serp", "position": "rank_position", "clicks": "is_clicked"})
    ranker = ClickRanker("regression", random_state=1)
    ranker.fit(X, log, qid=QID, docid=np.arange(len(X)).astype(str), propensity=made.propensities)
    expected = fitted("regression", "ips", made)
    np.testing.assert_allclose(ranker.predict(X_TEST), expected.predict(X_TEST), atol=1e-6)


def test_estimated_propensities_by_name():
    ranker = fitted("regression", "ips", log_of(1.0, sessions=100_000), propensity="harvest")
    np.testing.assert_allclose(ranker.propensities_, 1 / np.arange(1, 11), atol=0.05)


def test_the_model_is_a_ranker_that_can_be_saved(tmp_path):
    ranker = fitted("lambdamart", "pairwise", FIXED, **TREES)
    ranker.ranker_.save(tmp_path / "model")
    np.testing.assert_array_equal(gradrank.load(tmp_path / "model").predict(X_TEST), ranker.predict(X_TEST))
    assert clone(ranker).get_params() == ranker.get_params() and len(ranker.held_out_qid_) == QUERIES // 5


def test_features_can_be_a_frame():
    made = log_of(1.0)
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    ranker = ClickRanker("regression", random_state=1).fit(frame, made.log, qid=QID, propensity=made.propensities)
    np.testing.assert_allclose(ranker.predict(frame), fitted("regression", "ips", made).predict(X), atol=1e-6)


def test_the_model_is_selected_by_the_clicks_of_the_held_out_queries():
    made = log_of(1.0)
    ranker = fitted("lambdamart", "ips", made, **TREES)
    held_out = np.isin(QID, ranker.held_out_qid_)
    found = debias(made.log, made.propensities, qid=QID)
    value = ranker.ranker_.score(X[held_out], found.labels[held_out], qid=QID[held_out])
    assert ranker.ranker_.history_["vali_ndcg@10"].max() == pytest.approx(value)


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({"correction": "magic"}, {}, "unknown correction"),
        ({}, {"propensity": None}, "propensity: missing"),
        ({"correction": "affine"}, {}, "beta: goes with"),
        ({"correction": "dr"}, {}, "relevance: goes with"),
        ({}, {"propensity": [0.5]}, "one per position"),
        ({}, {"position": [1]}, "ClickLog, which has them"),
        ({"correction": "position", "method": "regression"}, {}, "does not exist for regression"),
        ({"method": "nothing"}, {}, "nothing"),
        ({"rounds": 3}, {}, "no such parameter"),
        ({"correction": "pairwise", "method": "lambdamart"}, {"clicks": FIXED.log.aggregated()}, "has counts"),
        ({}, {"clicks": [1, 0], "qid": [1, 1]}, "position: missing"),
        ({}, {"clicks": [2, 0], "qid": [1, 1], "position": [1, 2]}, "more clicks than impressions .1 rows: 1"),
        ({}, {"clicks": [1, 0], "qid": [1, 1], "position": [1, 1]}, "position twice .2 rows: 1, 2"),
        ({}, {"qid": QID[:-1]}, "documents that X lacks"),
        ({"method": "prank"}, {}, "prank"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, arguments, message):
    given = {"clicks": FIXED.log, "qid": QID, "propensity": FIXED.propensities} | arguments
    features = X[: len(given["qid"])]
    with pytest.raises(GradrankError, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore", GradrankWarning)
        ClickRanker(**({"method": "regression"} | changes)).fit(features, given.pop("clicks"), **given)
