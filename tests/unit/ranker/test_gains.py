"""The parameter `gain` of Ranker: labels that are gains, against the libraries' own calls with the same gains."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import gradrank
from gradrank import Ranker
from gradrank.base.conventions import Convention
from gradrank.base.errors import InputError
from gradrank.training.model import Model
from gradrank.training.registry import find_loss, models
from gradrank.training.selection import Criterion

RNG = np.random.default_rng(5)
QUERIES, DOCUMENTS = 40, 15
QID = np.repeat(np.arange(QUERIES), DOCUMENTS)
LABELS = np.array([0.0, 0.01, 0.1, 1.0])  # gains of an e-commerce table
CODES = RNG.choice(4, size=len(QID), p=[0.5, 0.25, 0.15, 0.1])
X = (RNG.normal(size=(len(QID), 4)) + CODES[:, None] * [0.5, 0.2, 0.0, 0.0]).astype(np.float32)
Y = LABELS[CODES]
VALI = QID >= 30
PARTS = {"X": X[~VALI], "y": Y[~VALI], "qid": QID[~VALI], "eval_set": (X[VALI], Y[VALI], QID[VALI])}
GROUP = np.full(30, DOCUMENTS)


def test_lambdamart_equals_lightgbm_with_the_same_label_gain():
    import lightgbm

    settings = {"learning_rate": 0.1, "num_leaves": 7, "min_data_in_leaf": 5, "bagging_fraction": 1.0}
    ranker = Ranker("lambdamart", gain="linear", random_state=3, rounds=15, **settings).fit(**PARTS)
    fixed = {"deterministic": True, "force_row_wise": True, "feature_pre_filter": False, "verbosity": -1, "seed": 3}
    objective = {"objective": "lambdarank", "label_gain": LABELS.tolist(), "num_threads": 1}
    data = lightgbm.Dataset(X[~VALI], CODES[~VALI], group=GROUP)
    booster = lightgbm.train(settings | objective | fixed, data, ranker.best_iteration_)
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(X))


@pytest.mark.parametrize("gain", ["linear", [0.0, 1.0, 4.0, 5.0]])
def test_xgboost_ndcg_equals_xgboost_with_gains_as_labels(gain):
    xgboost = pytest.importorskip("xgboost")
    grades = CODES if isinstance(gain, list) else Y
    labels = np.array(gain)[CODES] if isinstance(gain, list) else Y
    ranker = Ranker("xgboost_ndcg", gain=gain, random_state=3, rounds=10, subsample=1.0)
    ranker.fit(X[~VALI], grades[~VALI], qid=QID[~VALI], eval_set=(X[VALI], grades[VALI], QID[VALI]))
    own = {name: value for name, value in ranker.get_params().items() if name in XGBOOST}
    data = xgboost.DMatrix(X[~VALI], labels[~VALI])
    data.set_group(GROUP)
    settings = own | {"objective": "rank:ndcg", "ndcg_exp_gain": False, "seed": 3, "tree_method": "hist", "nthread": 1}
    booster = xgboost.train(settings, data, ranker.best_iteration_)
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(xgboost.DMatrix(X)).astype(np.float64))


XGBOOST = ("learning_rate", "max_depth", "min_child_weight", "subsample", "reg_lambda")


def test_yetirank_equals_catboost_with_gains_as_targets():
    catboost = pytest.importorskip("catboost")
    ranker = Ranker("yetirank", gain="linear", random_state=3, rounds=5).fit(**PARTS)
    settings = {"loss_function": "YetiRank", "iterations": ranker.best_iteration_, "random_seed": 3}
    settings |= {"learning_rate": 0.1, "depth": 4, "l2_leaf_reg": 3.0, "thread_count": 1}
    trees = catboost.CatBoost(settings | {"allow_writing_files": False, "logging_level": "Silent"})
    trees.fit(catboost.Pool(X[~VALI], Y[~VALI], group_id=QID[~VALI]))
    np.testing.assert_allclose(ranker.predict(X), trees.predict(X), rtol=1e-9)


def test_regression_predicts_the_labels_themselves():
    from sklearn.linear_model import Ridge

    ranker = Ranker("regression", gain="linear", l2=(1.0,)).fit(**PARTS)
    expected = Ridge(alpha=1.0).fit(X[~VALI].astype(np.float64), Y[~VALI]).coef_
    np.testing.assert_allclose(ranker.fold_.model.weights, expected, rtol=1e-8)


@pytest.mark.parametrize("method", ["lambdamart", "adarank_ndcg", "lambdaloss_trees", "lambdarank_faithful"])
def test_the_same_gains_in_two_forms_give_the_same_model(method):
    few = {"rounds": 5} if method != "lambdarank_faithful" else {"epochs": 3}
    as_labels = Ranker(method, gain="linear", random_state=1, **few).fit(X, Y, qid=QID)
    as_list = Ranker(method, gain=LABELS.tolist(), random_state=1, **few).fit(X, CODES, qid=QID)
    as_function = Ranker(method, gain=lambda grade: LABELS[int(grade)], random_state=1, **few).fit(X, CODES, qid=QID)
    for other in (as_list, as_function):
        np.testing.assert_array_equal(as_labels.predict(X), other.predict(X))
        assert other.score(X, CODES, qid=QID) == as_labels.score(X, Y, qid=QID)
    explicit = Ranker(method, gain="exponential", random_state=1, **few).fit(X, CODES, qid=QID)
    default = Ranker(method, random_state=1, **few).fit(X, CODES, qid=QID)
    np.testing.assert_array_equal(explicit.predict(X), default.predict(X))


def test_score_is_the_ndcg_of_the_gains():
    ranker = Ranker("lambdamart", gain="linear", random_state=1, rounds=5).fit(X, Y * 10_000, qid=QID)
    scores, values = ranker.predict(X), []
    for query in range(QUERIES):
        rows = query == QID
        values.append(ndcg_score([Y[rows] * 10_000], [scores[rows]], k=10))  # the mean over the orders of equal scores
    assert ranker.score(X, Y * 10_000, qid=QID) == pytest.approx(np.mean(values))


@pytest.mark.parametrize("k", [1, 5, 10])
def test_the_criterion_of_the_selection_is_the_ndcg_of_the_gains(k):
    scores, gains = RNG.normal(size=len(QID)), np.array([0.0, 3.0, 3.5, 9.0])
    convention = Convention("mine", "", gain=gains.tolist())
    offsets = np.arange(QUERIES + 1) * DOCUMENTS
    per_query = Criterion(f"ndcg@{k}", CODES, offsets, convention).per_query(scores)
    for query, value in enumerate(per_query):
        rows = query == QID
        assert value == pytest.approx(ndcg_score([gains[CODES[rows]]], [scores[rows]], k=k))


@pytest.mark.parametrize("name", ["lambdarank", "lambdaloss", "yeti", "approx_ndcg", "softrank", "pirank", "xe_ndcg"])
def test_a_loss_with_the_default_gains_as_a_list_is_the_default_loss(name):
    offsets, scores = np.arange(QUERIES + 1) * DOCUMENTS, RNG.normal(size=len(QID))
    loss = find_loss(name)
    for found, expected in zip(
        loss(scores, CODES, offsets, gains=2.0 ** np.arange(4) - 1.0), loss(scores, CODES, offsets), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert loss(scores, CODES, offsets, gains=LABELS)[0] != loss(scores, CODES, offsets)[0]


@pytest.mark.parametrize(
    ("method", "reason"),
    [("mcrank", "few ordered grades"), ("prank", "few ordered grades"), ("xendcg", "2.grade - 1"), ("arsm", "2.grade")],
)
def test_a_method_that_cannot_use_the_labels_says_why_and_names_those_that_can(method, reason):
    with pytest.raises(InputError, match=f"{method}: cannot use labels .*{reason}.*Fix: .*lambdamart"):
        Ranker(method, gain="linear").fit(X, Y, qid=QID)


def test_labels_that_are_no_grades_need_a_gain():
    with pytest.raises(InputError, match="grade of row"):
        Ranker("lambdamart").fit(X, Y, qid=QID)
    with pytest.raises(InputError, match="grade of row"):
        Ranker("lambdamart", gain="exponential").fit(X, CODES * 1000, qid=QID)
    with pytest.raises(InputError, match="gain: 2 values, but the data have the grade 3"):
        Ranker("lambdamart", gain=[0, 1]).fit(X, CODES, qid=QID)


def test_a_saved_ranker_has_its_gain(tmp_path):
    ranker = Ranker("regression", gain=[0.0, 1.0, 2.0, 9.0]).fit(X, CODES, qid=QID)
    ranker.save(tmp_path / "model")
    loaded = gradrank.load(tmp_path / "model")
    assert loaded.score(X, CODES, qid=QID) == ranker.score(X, CODES, qid=QID) and loaded.gain == [0.0, 1.0, 2.0, 9.0]
    with pytest.raises(InputError, match="gain: a function cannot be saved"):
        Ranker("regression", gain=np.sqrt).fit(X, CODES, qid=QID).save(tmp_path / "other")


def test_the_table_of_models_says_which_accept_gains():
    table = {row["name"]: row["accepts"] for row in gradrank.models().iter_rows(named=True)}
    for name, cls in models().items():
        assert issubclass(cls, Model)
        assert ("gains" in table[name]) == (cls.label_reading(cls.Params()) not in ("grades", "exponential"))


@pytest.mark.parametrize("method", ["lambdamart", "ranksvm"])
def test_unjudged_documents_are_ranked_but_not_learned_from(method):
    few = {"rounds": 5, "min_data_in_leaf": 5} if method == "lambdamart" else {}
    is_judged = RNG.random(len(QID)) < 0.7
    is_judged[::DOCUMENTS] = True  # the order of the queries is that of their first rows
    is_judged[QID == 3] = False
    y = np.where(is_judged, CODES, -1)
    mixed = np.arange(len(QID)).reshape(QUERIES, DOCUMENTS).T.ravel()
    weights = 1.0 + QID % 2
    vali = (X[VALI], CODES[VALI], QID[VALI])

    def fitted(rows, labels, **params):
        rows = rows[~VALI[rows]]
        ranker = Ranker(method, random_state=1, **few, **params)
        return ranker.fit(X[rows], labels[rows], qid=QID[rows], sample_weight=weights[rows], eval_set=vali)

    with_unjudged = fitted(mixed, y, unjudged=-1)
    judged_only = fitted(mixed[is_judged[mixed]], CODES)
    np.testing.assert_array_equal(with_unjudged.predict(X), judged_only.predict(X))
    expected = judged_only.score(X[is_judged], CODES[is_judged], qid=QID[is_judged])
    assert with_unjudged.score(X, y, qid=QID) == pytest.approx(expected)


def test_an_invalid_label_of_unjudged_documents_is_refused(tmp_path):
    for value in (0, 1, "none"):
        with pytest.raises(InputError, match=r"unjudged: .*Fix: "):
            Ranker("regression", unjudged=value).fit(X, CODES, qid=QID)
    with pytest.raises(InputError, match=r"y: the grade of row .* is -1.*unjudged"):
        Ranker("regression").fit(X, CODES - 1, qid=QID)
    with pytest.raises(InputError, match=r"y: no document is judged"):
        Ranker("regression", unjudged=-1).fit(X, np.full(len(QID), -1), qid=QID)
    Ranker("regression", unjudged=-1).fit(X, CODES - 1, qid=QID).save(tmp_path / "model")
    assert gradrank.load(tmp_path / "model").unjudged == -1


def test_refit_values_labels_that_are_gains_as_the_gains_of_grades():
    draw = np.random.default_rng(0)
    X, qid = draw.normal(size=(400, 3)), np.repeat(np.arange(40), 10)
    grades = np.clip(np.round(X[:, 0] + draw.normal(scale=0.3, size=400) + 1), 0, 4).astype(int)
    settings = {"random_state": 1, "rounds": 5, "min_data_in_leaf": 5}
    by_grade = gradrank.Ranker("lambdamart", **settings).refit(X, grades, qid=qid).fold_.spec["refit"]
    by_gain = gradrank.Ranker("lambdamart", gain="linear", **settings).refit(X, 2.0**grades - 1, qid=qid)
    assert by_gain.fold_.spec["refit"]["folds"] == by_grade["folds"]
