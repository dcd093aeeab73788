"""The format xgboost-json: dumps in the shapes that XGBoost and the plug-ins know, and malformed dumps."""

import json

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.export.format import ExportedModel
from gradrank.export.lookup import find_format
from gradrank.training.scoring_form import Combined, Tree, TreesForm

XGBOOST = find_format("xgboost-json")
OFFSETS = np.array([0, 4])
FEATURES = np.array([[0.5, 1.0], [0.25, 1.0], [np.nan, -3.0], [0.0, np.nan]], np.float32)  # columns: title, body
INNER = {
    **{"nodeid": 1, "depth": 1, "split": "body", "split_condition": -2, "yes": 3, "no": 4, "missing": 3},
    "children": [{"nodeid": 3, "leaf": 10}, {"depth": 2, "leaf": -4.0, "nodeid": 4}],
}
TREE = {
    "children": [INNER, {"nodeid": 2, "leaf": 0.5}],
    **{"split_condition": 0.5, "split": "title", "no": 2, "yes": 1, "missing": 1, "depth": 0, "nodeid": 0},
}
LEAF = {"nodeid": 0, "leaf": 0.25}


def read(dump, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(dump if isinstance(dump, str) else json.dumps(dump), encoding="utf-8")
    return XGBOOST.read(path)


@pytest.mark.parametrize(
    "dump", [[TREE, LEAF], {"splits": [TREE, LEAF]}, {"objective": "rank:ndcg", "splits": [TREE, LEAF]}]
)
def test_a_value_below_the_threshold_takes_the_first_child(dump, tmp_path):
    reader = read(dump, tmp_path)
    assert reader.names == ("title", "body")
    # Document 1 is at the threshold of the title. Document 3 has no title, and document 4 has no body.
    assert reader.scores(FEATURES, OFFSETS).tolist() == [0.75, -3.75, 10.25, 10.25]


def test_missing_as_zero(tmp_path):
    reader = read({"splits": [TREE, LEAF], "missing_as_zero": True}, tmp_path)
    assert reader.scores(FEATURES, OFFSETS).tolist() == [0.75, -3.75, 10.25, -3.75]


def test_an_objective_may_be_a_probability(tmp_path):
    reader = read({"objective": "binary:logistic", "splits": [TREE, LEAF]}, tmp_path)
    expected = 1.0 / (1.0 + np.exp([-0.75, 3.75, -10.25, -10.25]))
    np.testing.assert_allclose(reader.scores(FEATURES, OFFSETS), expected, rtol=1e-7)


def stump(threshold, missing_left):
    none = np.array([-1, -1])
    return Tree(
        np.array([0, *none]),
        np.array([threshold, 0.0, 0.0]),
        np.array([1, *none]),
        np.array([2, *none]),
        np.array([missing_left, False, False]),
        np.array([0.0, -1.0, 1.0]),
    )


@pytest.mark.parametrize("missing_left", [False, True])
def test_the_condition_is_the_next_larger_float32(missing_left, tmp_path):
    (path,) = XGBOOST.write(
        ExportedModel(TreesForm((stump(0.1, missing_left),)), ("title",), None, takes_missing=True), tmp_path / "m.json"
    )
    (tree,) = json.loads(path.read_text(encoding="utf-8"))
    assert tree["split"] == "title"
    assert tree["split_condition"] == np.float32(0.1)  # the float64 0.1 is below the float32 0.1
    assert tree["missing"] == (tree["yes"] if missing_left else tree["no"])
    assert [child["nodeid"] for child in tree["children"]] == [tree["yes"], tree["no"]]
    assert [child["leaf"] for child in tree["children"]] == [-1.0, 1.0]


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 3e38, -1e300, 1e300])
def test_a_missing_value_is_zero_if_the_model_takes_none(threshold, tmp_path):
    form = TreesForm((stump(threshold, False), stump(threshold, True)))
    (path,) = XGBOOST.write(ExportedModel(form, ("title",)), tmp_path / "m.json")
    zero, missing = XGBOOST.read(path).scores(np.array([[0.0], [np.nan]], np.float32), np.array([0, 2]))
    assert zero == missing == (-2.0 if threshold >= 0.0 else 2.0)


def test_the_logistic_function_of_a_sum_is_an_objective(tmp_path):
    form = Combined((TreesForm((stump(0.0, True),)),), np.ones(1), "logistic")
    (path,) = XGBOOST.write(ExportedModel(form, ("title",)), tmp_path / "m.json")
    expected = 1.0 / (1.0 + np.exp([-1.0, 1.0]))
    found = XGBOOST.read(path).scores(np.array([[1.0], [-1.0]], np.float32), np.array([0, 2]))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def changed(**values):
    return [{**TREE, **values}]


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ("", "JSON"),
        ("[", "JSON"),
        ("[" * 100_000, "deep"),
        ("1" * 5000, "model.json"),
        ('[{"nodeid": 0, "leaf": NaN}]', "NaN"),
        ('[{"nodeid": 0, "leaf": -Infinity}]', "Infinity"),
        ('[{"nodeid": 0, "leaf": 1, "leaf": 2}]', "twice"),
        ('[{"nodeid": 0, "leaf": 1e999}]', "float32"),
        (f'[{{"nodeid": 0, "leaf": {10**400}}}]', "float32"),
        ([], "list of trees"),
        ("null", "list of trees"),
        ({}, "list of trees"),
        ({"splits": []}, "list of trees"),
        ({"splits": [LEAF], "trees": 1}, "unknown keys"),
        ({"splits": [LEAF], "objective": "reg:squarederror"}, "objective"),
        ({"splits": [LEAF], "objective": ["rank:ndcg"]}, "objective"),
        ({"splits": [LEAF], "missing_as_zero": 1}, "list of trees"),
        ([7], "node"),
        ([[TREE]], "node"),
        ([{"nodeid": 0, "leaf": "1"}], "leaf"),
        ([{"nodeid": 0, "leaf": True}], "leaf"),
        ([{"nodeid": 0}], "node"),
        (changed(split_condition=[1, 2]), "split_condition"),
        (changed(split_condition=None), "split_condition"),
        (changed(split=3), "name"),
        (changed(yes=2, no=1), "children"),
        (changed(yes="1"), "yes"),
        (changed(children=[LEAF]), "children"),
        (changed(children=[INNER, INNER]), "children"),
        (changed(children={"0": INNER}), "children"),
        (changed(children=[1, 2]), "children"),
        (changed(missing=0), "missing"),
        (changed(gain=3.5), "gain"),
    ],
)
def test_a_malformed_dump_is_refused(dump, message, tmp_path):
    with pytest.raises(GradrankError, match=message) as error:
        read(dump, tmp_path)
    assert "model.json" in str(error.value)
