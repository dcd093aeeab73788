"""The format onnx: ONNX Runtime computes the scores of the form, for every kind of form and normalisation."""

import json

import gradrank

gradrank.pin()

# isort: split
import numpy as np
import pytest

from gradrank.export.format import ExportedModel, is_computed_in_float32
from gradrank.export.lookup import find_format
from gradrank.training.form_scores import form_scores
from gradrank.training.scoring_form import Combined, NetForm, TreesForm
from random_forms import (
    OFFSETS,
    WIDTH,
    random_features,
    random_forms,
    random_net,
    random_normaliser,
    random_tree,
    random_trees,
)

onnx = pytest.importorskip("onnx", reason="needs gradrank[onnx]")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs gradrank[onnx]")

NAMES = tuple("abcde")
METHODS = [None, "global", "query"]


def exported(form, path, normaliser=None, takes_missing=False):
    """Return the reader of a form that was written to a file."""
    model_format = find_format("onnx")
    (written,) = model_format.write(ExportedModel(form, NAMES, normaliser, takes_missing), path)
    return model_format.read(written)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", random_forms())
def test_onnx_runtime_computes_the_scores_of_a_form(kind, method, tmp_path):
    form, normaliser, features = random_forms()[kind], random_normaliser(method), random_features()
    normalised = features if normaliser is None else normaliser(features, OFFSETS)
    expected = form_scores(form, normalised, OFFSETS)
    scores = exported(form, tmp_path / "model.onnx", normaliser).scores(features, OFFSETS)
    tolerance = 1e-5 if is_computed_in_float32(form) else 1e-12
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))
    assert scores.dtype == np.float64


def thresholds_of(form):
    parts = form.forms if isinstance(form, Combined) else (form,)
    return [
        (feature, threshold)
        for part in parts
        for tree in part.trees
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True)
        if feature >= 0
    ]


@pytest.mark.parametrize("are_float32", [True, False])
def test_values_at_thresholds_and_next_to_them_take_the_same_branch(are_float32, tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=20)
    values = np.r_[values, 0.0, -0.0, 1e-35, 1e-45, 3e38]
    form = random_trees(rng, 20, values.astype(np.float32).astype(float) if are_float32 else values)
    rows = []
    for feature, threshold in thresholds_of(form):
        near = np.float32(threshold)
        for value in (np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))):
            rows.append(rng.normal(size=WIDTH).astype(np.float32))
            rows[-1][feature] = value
    features, offsets = np.array(rows), np.array([0, len(rows)])
    scores = exported(form, tmp_path / "model.onnx").scores(features, offsets)
    np.testing.assert_allclose(scores, form_scores(form, features, offsets), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_take_the_branch_of_the_tree(method, tmp_path):
    rng = np.random.default_rng(4)
    form, normaliser, features = random_trees(rng, 20), random_normaliser(method), random_features()
    features[rng.random(features.shape) < 0.4] = np.nan
    features[0] = np.nan
    features[OFFSETS[2] : OFFSETS[3], 1] = np.nan  # a feature that no document of a query has
    normalised = features if normaliser is None else normaliser(features, OFFSETS)
    scores = exported(form, tmp_path / "model.onnx", normaliser, True).scores(features, OFFSETS)
    np.testing.assert_allclose(scores, form_scores(form, normalised, OFFSETS), rtol=0, atol=1e-12)


def test_a_deep_tree(tmp_path):
    """A chain of 3,000 nodes has the depth that gradrank's trees cannot exceed by much."""
    rng, m = np.random.default_rng(5), 3000
    feature, left, right = np.full(2 * m + 1, -1), np.full(2 * m + 1, -1), np.full(2 * m + 1, -1)
    feature[: 2 * m : 2], left[: 2 * m : 2], right[: 2 * m : 2] = 0, np.arange(1, 2 * m, 2), np.arange(2, 2 * m + 1, 2)
    threshold = np.where(feature >= 0, np.arange(2 * m + 1) / m - 1.0, 0.0)
    tree = type(random_tree(rng))(
        feature, threshold, left, right, feature >= 0, np.where(feature < 0, rng.normal(size=2 * m + 1), 0.0)
    )
    features, form = random_features(), TreesForm((tree,))
    scores = exported(form, tmp_path / "model.onnx").scores(features, OFFSETS)
    np.testing.assert_array_equal(scores, form_scores(form, features, OFFSETS))


def test_the_file_describes_its_input(tmp_path):
    """Programs without gradrank find the names of the features, and whether one run takes one query."""
    forms = random_forms()
    axes = {}
    for kind, method in (("trees", None), ("trees", "global"), ("trees", "query"), ("attention", None)):
        exported(forms[kind], tmp_path / "model.onnx", random_normaliser(method))
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        (given,), (output,) = session.get_inputs(), session.get_outputs()
        axes[kind, method] = given.shape[0]
        metadata = session.get_modelmeta().custom_metadata_map
        assert (given.name, given.type, given.shape[1]) == ("features", "tensor(float)", WIDTH)
        assert (output.name, output.type, output.shape) == ("scores", "tensor(double)", [given.shape[0], 1])
        assert json.loads(metadata["feature_names"]) == list(NAMES) and metadata["rows"] == given.shape[0]
    assert axes == {
        ("trees", None): "documents",
        ("trees", "global"): "documents",
        ("trees", "query"): "documents_of_one_query",
        ("attention", None): "documents_of_one_query",
    }


def test_equal_models_are_written_as_equal_bytes(tmp_path):
    for number in (1, 2):
        exported(random_forms()["attention"], tmp_path / f"{number}.onnx", random_normaliser("global"))
    assert (tmp_path / "1.onnx").read_bytes() == (tmp_path / "2.onnx").read_bytes()


def test_large_features_do_not_overflow(tmp_path):
    """Features are clipped after the normalisation, as gradrank does."""
    form, normaliser = NetForm(random_net(np.random.default_rng(6), log_limit=30.0)), random_normaliser("global")
    features = np.full((2, WIDTH), np.finfo(np.float32).max)
    features[1] *= -1.0
    offsets = np.array([0, 2])
    scores = exported(form, tmp_path / "model.onnx", normaliser).scores(features, offsets)
    expected = form_scores(form, normaliser(features, offsets), offsets)
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
