"""Categories and missing values of data frames, for methods that take them and for others."""

import lightgbm
import numpy as np
import polars as pl
import pytest

import gradrank
from gradrank import Ranker
from gradrank.base.errors import GradrankError
from gradrank.training.registry import get_model
from gradrank.training.solvers.boosting import lightgbm_settings

pd = pytest.importorskip("pandas")
ROWS = 600
DRAW = np.random.default_rng(0)
COLORS = ["red", "green", "blue"]  # not sorted
COLOR, CITY = DRAW.integers(0, 3, ROWS), DRAW.integers(0, 30, ROWS)
EFFECT = DRAW.normal(size=30)
NUMBER = DRAW.normal(size=ROWS)
Y = np.clip(np.round(NUMBER + np.array([2.0, 0.0, 1.0])[COLOR] + EFFECT[CITY]), 0, 4).astype(int)
QID = np.repeat(np.arange(ROWS // 10), 10)
PANDAS = pd.DataFrame(
    {
        "number": NUMBER.astype(np.float32),
        "color": pd.Categorical.from_codes(COLOR, COLORS),
        "city": [f"city{code:02}" for code in CITY],
    }
)
PANDAS.loc[3, "number"] = np.nan
PANDAS.loc[5, "city"] = None
POLARS = pl.DataFrame(
    {
        "number": PANDAS["number"].to_numpy(),
        "color": pl.Series([COLORS[code] for code in COLOR], dtype=pl.Enum(COLORS)),
        "city": [None if row == 5 else city for row, city in enumerate(PANDAS["city"])],
    }
)
IS_VALI = QID % 5 == 0
METHODS = {"lambdamart": {}, "mart": {}, "regression": {"missing": "mean"}, "ranksvm": {"missing": "indicator"}}


@pytest.fixture(scope="module", params=METHODS)
def ranker(request):
    return Ranker(request.param, random_state=1, **METHODS[request.param]).fit(PANDAS, Y, qid=QID)


def test_a_frame_of_polars_gives_the_scores_of_pandas(ranker):
    again = Ranker(ranker.method, random_state=1, missing=ranker.missing).fit(POLARS, Y, qid=QID)
    np.testing.assert_array_equal(again.predict(POLARS, qid=QID), ranker.predict(PANDAS, qid=QID))
    np.testing.assert_array_equal(ranker.predict(POLARS, qid=QID), ranker.predict(PANDAS, qid=QID))


def test_a_saved_ranker_has_equal_scores(ranker, tmp_path):
    ranker.save(tmp_path / "model")
    loaded = gradrank.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(PANDAS, qid=QID), ranker.predict(PANDAS, qid=QID))


def test_the_order_of_the_categories_of_new_data_does_not_matter(ranker):
    other = PANDAS.assign(color=PANDAS["color"].cat.set_categories(["blue", "purple", "red", "green"]))
    np.testing.assert_array_equal(ranker.predict(other, qid=QID), ranker.predict(PANDAS, qid=QID))


def test_an_unknown_level_is_a_missing_one(ranker):
    rows = PANDAS.iloc[:10].astype({"color": object})
    unknown, missing = (rows.assign(color=value) for value in ("purple", None))
    np.testing.assert_array_equal(ranker.predict(unknown, qid=QID[:10]), ranker.predict(missing, qid=QID[:10]))


def test_categories_are_learned(ranker):
    assert ranker.score(PANDAS, Y, qid=QID) > 0.9
    importance = ranker.importance(PANDAS, Y, qid=QID, repeats=2)
    assert {*importance.features} == {"number", "color", "city"}


def test_explanations_are_about_the_columns_of_the_frame(ranker):
    found = ranker.explain(PANDAS[:10], qid=QID[:10])
    assert len(found.contributions) == 3


@pytest.mark.parametrize("method", ["lambdamart", "mart"])
def test_trees_are_those_of_a_direct_call_of_lightgbm(method):
    train, vali = PANDAS[~IS_VALI], PANDAS[IS_VALI]
    fit = {"X": train, "y": Y[~IS_VALI], "qid": QID[~IS_VALI], "eval_set": (vali, Y[IS_VALI], QID[IS_VALI])}
    ranker = Ranker(method, random_state=1, rounds=20, patience=20).fit(**fit)
    cls = get_model(method)
    params = cls.Params(rounds=20, patience=20)
    frame = train.assign(city=train["city"].astype("category"))
    collection = gradrank_collection(Y[~IS_VALI])
    ((target, settings),) = cls.objectives(collection, params)
    settings = lightgbm_settings(params, collection, ranker.seed_) | settings
    groups = np.unique(QID[~IS_VALI], return_counts=True)[1]
    booster = lightgbm.Booster(settings, lightgbm.Dataset(frame, target, group=groups, params=settings))
    for _ in range(ranker.best_iteration_):
        booster.update()
    direct = booster.predict(vali.assign(city=vali["city"].astype(frame["city"].dtype)))
    np.testing.assert_array_equal(ranker.predict(vali, qid=QID[IS_VALI]), direct)


def gradrank_collection(labels):
    from gradrank.data.collection import Collection

    return Collection(np.zeros((len(labels), 3), np.float32), labels, np.array([0, len(labels)]), np.array([1]))


def test_a_method_without_missing_values_refuses_them_unless_they_are_replaced():
    with pytest.raises(GradrankError, match="is NaN"):
        Ranker("regression").fit(PANDAS, Y, qid=QID)
    with pytest.raises(GradrankError, match="missing: 'zero' is unknown"):
        Ranker("regression", missing="zero").fit(PANDAS, Y, qid=QID)


def test_a_method_that_takes_missing_values_gets_them():
    scores = [
        Ranker("lambdamart", random_state=1, missing=fill).fit(PANDAS, Y, qid=QID).predict(PANDAS, qid=QID)
        for fill in (None, "mean")
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([f"title {row}" for row in range(ROWS)], "may be an id or free text"),
        ([str(row % 7) for row in range(ROWS)], "text of numbers"),
    ],
)
def test_text_that_is_no_category_is_refused(values, message):
    for frame in (PANDAS.assign(title=values), POLARS.with_columns(title=pl.Series(values))):
        with pytest.raises(GradrankError, match=f"'title'.*{message}"):
            Ranker("lambdamart").fit(frame, Y, qid=QID)


@pytest.mark.parametrize("missing", ["mean", "median", "indicator"])
def test_onnx_carries_the_encoding(missing, tmp_path):
    pytest.importorskip("onnxruntime")
    ranker = Ranker("regression", random_state=1, missing=missing).fit(PANDAS, Y, qid=QID)
    new = PANDAS.assign(color=PANDAS["color"].cat.set_categories(["red", "purple", "green"]))  # without blue
    (path,) = ranker.export(tmp_path / "model.onnx", to="onnx", check=(new, QID))
    assert path.is_file()
    with pytest.raises(GradrankError, match=r"has encoded categories or replaced missing values.*onnx"):
        ranker.export(tmp_path / "weights.csv", to="linear")


def test_trees_of_xgboost_with_categories_are_exported_by_no_format(tmp_path):
    pytest.importorskip("xgboost")
    ranker = Ranker("xgboost_ndcg", random_state=1, rounds=20).fit(PANDAS, Y, qid=QID)
    with pytest.raises(GradrankError, match="split of a categorical feature"):
        ranker.export(tmp_path / "model.onnx", to="onnx")


def test_trees_of_xgboost_are_those_of_a_direct_call():
    xgboost = pytest.importorskip("xgboost")
    train, vali = PANDAS[~IS_VALI], PANDAS[IS_VALI]
    ranker = Ranker("xgboost_ndcg", random_state=1, rounds=20, subsample=1.0)
    ranker.fit(train, Y[~IS_VALI], qid=QID[~IS_VALI], eval_set=(vali, Y[IS_VALI], QID[IS_VALI]))
    city = train["city"].astype("category")
    data = xgboost.DMatrix(train.assign(city=city), Y[~IS_VALI], enable_categorical=True)
    data.set_group(np.unique(QID[~IS_VALI], return_counts=True)[1])
    settings = {"learning_rate": 0.05, "max_depth": 4, "min_child_weight": 5, "tree_method": "hist", "nthread": 1}
    booster = xgboost.Booster(settings | {"objective": "rank:ndcg", "seed": 1}, [data])
    for number in range(ranker.best_iteration_):
        booster.update(data, number)
    new = vali.assign(city=vali["city"].astype(city.dtype))
    direct = booster.predict(xgboost.DMatrix(new, enable_categorical=True))
    np.testing.assert_array_equal(ranker.predict(vali, qid=QID[IS_VALI]), direct.astype(np.float64))


@pytest.mark.parametrize("method", ["xgboost_ndcg", "yetirank"])
def test_models_of_other_libraries_have_equal_scores_after_saving(method, tmp_path):
    pytest.importorskip({"xgboost_ndcg": "xgboost", "yetirank": "catboost"}[method])
    ranker = Ranker(method, random_state=1, rounds=20).fit(PANDAS, Y, qid=QID)
    ranker.save(tmp_path / "model")
    scores = ranker.predict(PANDAS, qid=QID)
    np.testing.assert_array_equal(gradrank.load(tmp_path / "model").predict(PANDAS, qid=QID), scores)
    assert ranker.score(PANDAS, Y, qid=QID) > 0.9
