"""Export of trees that split by categories: equal scores, the levels next to the file, and refusals."""

import json

import numpy as np
import polars as pl
import pytest

import gradrank
from gradrank.base.errors import GradrankError
from gradrank.export import category_trees
from gradrank.export.category_trees import numeric_form
from gradrank.training.scoring_form import NoScoringForm, ScoringForm, TreesForm
from gradrank.training.solvers.boosting import LIGHTGBM

ROWS, CITIES = 600, 30
COLORS = ["red", "green", "blue"]  # not sorted


def shop(seed: int = 0) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Return a table with categories and missing values, grades and query ids."""
    rng = np.random.default_rng(seed)
    color, city, price = rng.integers(0, 3, ROWS), rng.integers(0, CITIES, ROWS), rng.normal(size=ROWS)
    effect = np.random.default_rng(1).normal(size=CITIES)
    grades = np.clip(np.round(price + np.array([2.0, 0.0, 1.0])[color] + effect[city]), 0, 4).astype(int)
    table = pl.DataFrame(
        {
            "price": np.where(rng.random(ROWS) < 0.2, np.nan, price),
            "color": pl.Series([COLORS[code] for code in color], dtype=pl.Enum(COLORS)),
            "city": [None if rng.random() < 0.1 else f"city{code:02}" for code in city],
        }
    )
    return table, grades, np.repeat(np.arange(ROWS // 10), 10)


@pytest.fixture(scope="module")
def ranker():
    table, grades, qid = shop()
    return gradrank.Ranker("lambdamart", random_state=1, rounds=20, min_data_in_leaf=5).fit(table, grades, qid=qid)


@pytest.mark.parametrize("to", ["lightgbm", "onnx", "solr", "xgboost-json"])
def test_every_format_with_trees_has_the_scores_of_splits_by_categories(to, ranker, tmp_path):
    if to == "onnx":
        pytest.importorskip("onnxruntime")
    table, _, qid = shop(seed=2)  # with other missing values than the training data
    files = ranker.export(tmp_path / "model", to, check=(table, qid))
    levels = [path for path in files if path.name == "model.levels.json"]
    if to == "onnx":
        assert not levels  # they are in the metadata
    else:
        assert json.loads(levels[0].read_text())["color"] == COLORS


@pytest.mark.parametrize("engine", ["opensearch@3.3", "opensearch@3.6", "solr@9.2", "vespa"])
def test_engines_that_tell_missing_from_zero_get_the_file(engine, ranker, tmp_path):
    table, _, qid = shop(seed=3)
    assert ranker.export(tmp_path / "model.json", engine=engine, check=(table, qid))


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch@2", "solr@9.1"])
def test_engines_in_which_missing_is_the_first_level_are_refused(engine, ranker, tmp_path):
    with pytest.raises(GradrankError, match="Fix: "):
        ranker.export(tmp_path / "model.json", engine=engine)
    assert not [*tmp_path.iterdir()]


def test_the_refusal_of_a_format_lists_those_that_carry_the_model(ranker, tmp_path):
    with pytest.raises(GradrankError, match=r"ranklib.*Fix: .*lightgbm, onnx, solr, xgboost-json"):
        ranker.export(tmp_path / "model.txt", "ranklib")


def test_levels_have_the_given_names(ranker, tmp_path):
    table, _, qid = shop()
    ranker.export(tmp_path / "model.json", "xgboost-json", names=["a", "b", "c"], check=(table, qid))
    assert [*json.loads((tmp_path / "model.levels.json").read_text())] == ["b", "c"]


def scores(form: ScoringForm, features: np.ndarray) -> np.ndarray:
    """Return the sums of the leaves that (n, d) features reach."""
    assert isinstance(form, TreesForm)
    total = np.zeros(len(features))
    for tree in form.trees:
        node = np.zeros(len(features), int)
        while (inner := tree.feature[node] >= 0).any():
            value = features[np.arange(len(node)), tree.feature[node]].astype(np.float64)
            left = np.where(np.isnan(value), tree.missing_left[node], value <= tree.threshold[node])
            node = np.where(inner, np.where(left, tree.left[node], tree.right[node]), node)
        total += tree.value[node]
    return total


def test_codes_outside_of_the_levels_are_those_of_no_set(ranker):
    model = ranker.fold_.model
    form = numeric_form(model, 3)
    rng = np.random.default_rng(4)
    features = np.c_[rng.normal(size=2000), rng.integers(-2, 6, 2000), rng.integers(-2, 40, 2000)].astype(np.float32)
    features[rng.random(features.shape) < 0.1] = np.nan
    expected = model.score(features, np.array([0, len(features)]))
    np.testing.assert_allclose(scores(form, features), expected, rtol=0, atol=1e-12)


def test_a_classifier_with_categories_is_exported(tmp_path):
    pytest.importorskip("onnxruntime")
    table, grades, qid = shop()
    ranker = gradrank.Ranker("mcrank", random_state=1, rounds=5).fit(table, grades, qid=qid)
    assert ranker.export(tmp_path / "model.onnx", "onnx", check=(table, qid))


def test_trees_that_become_too_large_are_refused(ranker, monkeypatch):
    monkeypatch.setattr(category_trees, "MOST_SPLITS", 100)
    with pytest.raises(NoScoringForm, match="more than 100"):
        numeric_form(ranker.fold_.model, 3)


def test_without_categories_the_form_is_that_of_the_model():
    table, grades, qid = shop()
    ranker = gradrank.Ranker("mart", random_state=1, rounds=5, **LIGHTGBM).fit(table.select("price"), grades, qid=qid)
    model = ranker.fold_.model
    features = table.select("price").to_numpy().astype(np.float32)
    np.testing.assert_array_equal(scores(numeric_form(model, 1), features), scores(model.scoring_form(1), features))
