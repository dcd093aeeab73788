"""The format solr: the three classes of models, their normalizers, and malformed files."""

import json

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.normalisation import Normaliser
from gradrank.export.format import ExportedModel, NotExpressible
from gradrank.export.lookup import find_format
from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import Combined, LinearForm, NetForm, Tree, TreesForm
from random_forms import OFFSETS, WIDTH, random_features, random_forms, random_net, random_normaliser

SOLR = find_format("solr")
PACKAGE = "org.apache.solr.ltr"
NAMES = tuple("abcde")


def written(form, tmp_path, normaliser=None, takes_missing=False, names=NAMES):
    """Return the content of the model file and of the feature store, and the reader."""
    model, store = SOLR.write(ExportedModel(form, names, normaliser, takes_missing), tmp_path / "shop.json")
    return *(json.loads(path.read_text(encoding="utf-8")) for path in (model, store)), SOLR.read(model)


def read(entry, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(entry if isinstance(entry, str) else json.dumps(entry), encoding="utf-8")
    return SOLR.read(path)


def entry(kind, params, features=("title", "body"), **others):
    listed = [feature if isinstance(feature, dict) else {"name": feature} for feature in features]
    return {"class": f"{PACKAGE}.model.{kind}", "name": "m", "features": listed, "params": params} | others


def norm(kind, **params):
    return {"name": "body", "norm": {"class": f"{PACKAGE}.norm.{kind}", "params": params}}


def scores(reader, rows):
    return reader.scores(np.array(rows, np.float32), np.array([0, len(rows)])).tolist()


TREES = {
    "trees": [
        {
            "weight": "2f",
            "root": {
                **{"feature": "title", "threshold": "0.5f", "missing": "right", "left": {"value": "-7"}},
                "right": {"feature": "body", "threshold": "4", "left": {"value": "1.5"}, "right": {"value": 3}},
            },
        },
        {"weight": 1, "root": {"value": "0.25"}},
        {"weight": "3", "root": {"feature": "unknown", "threshold": "0", "left": {}, "right": {"value": "1"}}},
    ]
}


def test_trees_add_a_slack_to_each_threshold(tmp_path):
    reader = read(entry("MultipleAdditiveTreesModel", TREES), tmp_path)
    assert reader.names == ("title", "body")
    rows = [[0.5, 0], [0.5000009, 0], [0.5000011, 4], [1, 4.01], [np.nan, 99]]
    assert scores(reader, rows) == [-13.75, -13.75, 3.25, 6.25, -13.75]


def test_trees_with_branches_for_missing_values(tmp_path):
    params = json.loads(json.dumps(TREES))
    params["trees"][0]["root"]["right"]["missing"] = "left"
    params["trees"].pop()
    reader = read(entry("MultipleAdditiveTreesModel", params | {"isNullSameAsZero": False}), tmp_path)
    assert scores(reader, [[np.nan, np.nan], [np.nan, 5], [0, np.nan]]) == [3.25, 6.25, -13.75]


def test_a_linear_model_with_normalizers(tmp_path):
    for feature, value in [
        ("body", 7.0),
        (norm("IdentityNormalizer"), 7.0),
        (norm("StandardNormalizer", avg="3", std=2.0), 2.0),
        (norm("MinMaxNormalizer", min="-1", max="7"), 1.0),
    ]:
        reader = read([entry("LinearModel", {"weights": {"title": 0.5, "body": -1}}, ("title", feature))], tmp_path)
        assert scores(reader, [[4.0, 7.0]]) == [2.0 - value]


def test_the_activations_of_nets(tmp_path):
    names = ["identity", "relu", "leakyrelu", "tanh", "sigmoid"]
    for name, low, high in zip(
        names,
        [-2, 0, -0.02, np.tanh(-2.0), 1 / (1 + np.exp(2.0))],
        [2, 2, 2, np.tanh(2.0), 1 / (1 + np.exp(-2.0))],
        strict=True,
    ):
        hidden = {"matrix": [[1.0, 0.0], [0.0, 0.5]], "bias": [1.0, 0.0], "activation": name}
        last = {"matrix": [[10.0, 1.0]], "bias": [0.25], "activation": "identity"}
        reader = read(entry("NeuralNetworkModel", {"layers": [hidden, last]}), tmp_path)
        assert scores(reader, [[-3.0, 4.0]]) == pytest.approx([10 * low + high + 0.25], rel=1e-6)


@pytest.mark.parametrize("method", [None, "global"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("rule", [None, "sum", "logistic"])
def test_nets_are_written_with_their_standardisation(rule, activation, method, tmp_path):
    net = NetForm(random_net(np.random.default_rng(0), 3 if rule else 1, activation=activation))
    form = Combined((net,), np.array([0.5, -2.0, 1.0]), rule) if rule else net
    normaliser, features = random_normaliser(method), random_features(3, 4.0)
    _, _, reader = written(form, tmp_path, normaliser)
    expected = form_scores(form, normaliser(features, OFFSETS) if normaliser else features, OFFSETS)
    np.testing.assert_allclose(reader.scores(features, OFFSETS), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("rule", ["sum", "logistic"])
def test_a_combination_of_linear_functions_is_a_net(rule, tmp_path):
    rng = np.random.default_rng(0)
    lines = tuple(LinearForm(rng.normal(size=WIDTH), float(rng.normal())) for _ in range(3))
    form, features, normaliser = (
        Combined(lines, np.array([2.0, -1.0, 0.5]), rule),
        random_features(),
        random_normaliser("global"),
    )
    _, _, reader = written(form, tmp_path, normaliser)
    expected = form_scores(form, normaliser(features, OFFSETS), OFFSETS)
    np.testing.assert_allclose(reader.scores(features, OFFSETS), expected, rtol=0, atol=1e-6)


def test_a_large_mean_costs_no_digits(tmp_path):
    features = (random_features() + 16_777_215 / 3).astype(np.float32)
    normaliser = Normaliser.of_training_part(features)
    form = LinearForm(np.arange(1.0, WIDTH + 1))
    _, _, reader = written(form, tmp_path, normaliser)
    expected = form_scores(form, normaliser(features, OFFSETS), OFFSETS)
    np.testing.assert_allclose(reader.scores(features, OFFSETS), expected, atol=1e-5)


def test_a_normaliser_may_only_shift(tmp_path):
    normaliser = Normaliser("global", np.array([5.0, 0.0, 0.0, -1.0, 0.0]), np.array([1.0, 1.0, 2.0, 1.0, 1.0]))
    model, _, reader = written(LinearForm(np.ones(WIDTH)), tmp_path, normaliser)
    assert [feature["name"] for feature in model["features"] if "norm" in feature] == ["a", "c", "d"]
    assert scores(reader, [[5.0, 1.0, 4.0, 0.0, 0.0]]) == [4.0]


def test_a_linear_function_is_a_linear_model_or_a_net_with_one_layer(tmp_path):
    weights = np.array([1.0, -2.0, 0.0, 1e-9, 3.0])
    model, store, _ = written(LinearForm(weights), tmp_path)
    assert model["class"] == f"{PACKAGE}.model.LinearModel"
    found = [np.float32(model["params"]["weights"][name]) for name in NAMES]
    assert found == np.float32(weights).tolist()
    assert model["features"] == [{"name": name} for name in NAMES]
    assert model["name"] == "shop"
    assert {feature["store"] for feature in store} == {model["store"]}
    assert [feature["name"] for feature in store] == list(NAMES)
    model, _, reader = written(LinearForm(weights, 0.5), tmp_path)
    assert model["class"] == f"{PACKAGE}.model.NeuralNetworkModel"
    assert scores(reader, [[1.0, 1.0, 1.0, 0.0, 1.0]]) == [2.5]


def stump(threshold, feature=0, missing_left=True):
    none = np.array([-1, -1])
    return Tree(
        np.array([feature, *none]),
        np.array([threshold, 0.0, 0.0]),
        np.array([1, *none]),
        np.array([2, *none]),
        np.array([missing_left, False, False]),
        np.array([0.0, -1.0, 1.0]),
    )


@pytest.mark.parametrize("thresholds", [[0.5, 100.0, -3.25], [1e-35, 0.5, 1e6], [-1e-35, 1e-9, 1e300], [1.5e-45, 60.0]])
def test_only_features_whose_thresholds_need_it_are_scaled(thresholds, tmp_path):
    trees = TreesForm((*map(stump, thresholds), stump(0.0, 1), stump(2.5, 1)))
    model, _, reader = written(trees, tmp_path)
    scaled, *others = (feature.get("norm") for feature in model["features"])
    assert others == [None] * 4
    assert (scaled is None) == (thresholds[0] == 0.5)
    if scaled is not None:
        assert np.frexp(np.float32(scaled["params"]["std"]))[0] == 0.5  # a power of two
    at = np.float32(np.minimum(thresholds, 3e38))
    rows = np.zeros((3 * len(at), WIDTH), np.float32)
    rows[:, 0] = np.concatenate([at, np.nextafter(at, np.float32(1e38)), np.nextafter(at, np.float32(-1e38))])
    np.testing.assert_array_equal(scores(reader, rows), form_scores(trees, rows, np.array([0, len(rows)])))


def test_thresholds_that_are_too_far_apart_are_refused(tmp_path):
    with pytest.raises(NotExpressible, match="feature a have"):
        written(TreesForm((stump(1e-35), stump(1e30))), tmp_path)
    assert not any(tmp_path.iterdir())


def test_the_setting_for_missing_values_is_written_if_it_changes_a_score(tmp_path):
    for missing_left, is_needed in [(True, False), (False, True)]:
        trees = TreesForm((stump(2.0, missing_left=missing_left),))
        model, store, _ = written(trees, tmp_path, takes_missing=True)
        assert ("isNullSameAsZero" in model["params"]) == is_needed
        assert ("defaultValue" in store[0]["params"]) == is_needed


@pytest.mark.parametrize("kind", ["net with logarithms", "steps", "attention"])
def test_nets_with_other_parts_are_refused(kind, tmp_path):
    with pytest.raises(NotExpressible):
        written(random_forms()[kind], tmp_path)


def test_standard_deviations_outside_of_float32_are_refused(tmp_path):
    for deviation in (1e-60, 1e60):
        with pytest.raises(NotExpressible, match="deviation"):
            written(
                LinearForm(np.ones(WIDTH)), tmp_path, Normaliser("global", np.zeros(WIDTH), np.full(WIDTH, deviation))
            )


LINEAR = entry("LinearModel", {"weights": {"title": 1.0, "body": 1.0}})
LAYER = {"matrix": [[1.0, 2.0]], "bias": [0.0], "activation": "identity"}


def net_with(*layers):
    return entry("NeuralNetworkModel", {"layers": list(layers)})


def trees_with(root, **params):
    return entry("MultipleAdditiveTreesModel", {"trees": [{"weight": "1", "root": root}]} | params)


NODE = {"feature": "title", "threshold": "0", "left": {"value": "1"}, "right": {"value": "2"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "JSON"),
        ("[]", "model"),
        ([LINEAR, LINEAR], "model"),
        (LINEAR | {"class": "RankSVM"}, "class"),
        (LINEAR | {"class": ["x"]}, "class"),
        (LINEAR | {"features": []}, "no features"),
        (LINEAR | {"features": [{"name": "title"}] * 2}, "same name"),
        (LINEAR | {"features": ["title"]}, "feature"),
        (LINEAR | {"params": None}, "params"),
        (entry("LinearModel", {"weights": {"title": 1.0}}), "weight"),
        (entry("LinearModel", {"weights": {"title": 1.0, "body": "x"}}), "weight"),
        (entry("LinearModel", {"weights": [1.0, 2.0]}), "weights"),
        (entry("LinearModel", LINEAR["params"], ("title", norm("StandardNormalizer", std="0"))), "std"),
        (entry("LinearModel", LINEAR["params"], ("title", norm("MinMaxNormalizer", min="2", max="2"))), "equal"),
        (entry("LinearModel", LINEAR["params"], ("title", norm("MinMaxNormalizer", min="2"))), "max"),
        (entry("LinearModel", LINEAR["params"], ("title", norm("LogNormalizer"))), "LogNormalizer"),
        (net_with(), "outputs"),
        (net_with(LAYER | {"activation": "gelu"}), "gelu"),
        (net_with(LAYER | {"activation": {}}), "activation"),
        (net_with(LAYER | {"bias": [0.0, 1.0]}), "row"),
        (net_with(LAYER | {"matrix": [[1.0]]}), "row"),
        (net_with(LAYER | {"matrix": [[1.0, None]]}), "matrix"),
        (net_with(LAYER | {"matrix": [[1.0, 1e60]]}), "float32"),
        (net_with(LAYER, LAYER), "row"),
        (net_with({**LAYER, "matrix": [[1.0, 2.0]] * 2, "bias": [0.0, 0.0]}), "outputs"),
        (entry("MultipleAdditiveTreesModel", {}), "trees"),
        (entry("MultipleAdditiveTreesModel", {"trees": [{"root": {"value": "1"}}]}), "weight"),
        (entry("MultipleAdditiveTreesModel", {"trees": [{"weight": "1"}]}), "node"),
        (trees_with({key: value for key, value in NODE.items() if key != "right"}), "right"),
        (trees_with({key: value for key, value in NODE.items() if key != "threshold"}), "threshold"),
        (trees_with({key: value for key, value in NODE.items() if key != "feature"}), "no feature"),
        (trees_with(NODE | {"threshold": "NaN"}), "threshold"),
        (trees_with(NODE | {"left": {"value": "1e60"}}), "float32"),
        (trees_with(NODE, isNullSameAsZero=False), "missing"),
        (trees_with(NODE, isNullSameAsZero="false"), "isNullSameAsZero"),
    ],
)
def test_a_malformed_file_is_refused(content, message, tmp_path):
    with pytest.raises(GradrankError, match=message) as error:
        read(content, tmp_path)
    assert "model.json" in str(error.value)
