"""The contract of scoring forms, tested for every registered model like the contract in test_models.

The scores that are computed from the scoring form of a model are those of the model, on random documents and on
documents whose values are thresholds of the form or neighbours of them, and with missing values if the model accepts
them. A model without a form says why.
"""

import numpy as np
import pytest

from gradrank.training.contract.test_models import case, every_model, fit, fitted, random_part, with_gaps
from gradrank.training.form_scores import form_scores
from gradrank.training.registry import models
from gradrank.training.scoring_form import Combined, LinearForm, NoScoringForm, TreesForm

WITHOUT_FORM = {"gradrank.models.fusion", "gradrank.models.ranknet_report"}  # modules of gradrank
FLOAT32 = {"xgboost_ndcg": 1e-6}  # tolerance of models that add the values of leaves in float32
SPECIAL = np.array([0.0, -0.0, 1e-35, -1e-35, 1e-38, -1e-38, 1e-45, 3e38, -3e38], np.float32)


def form_of(model, features=5):
    """Return the scoring form of a model. The test is skipped if the model rightly has none."""
    try:
        return model.scoring_form(features)
    except NoScoringForm as error:
        module = type(model).__module__
        assert str(error) and (not module.startswith("gradrank.") or module in WITHOUT_FORM), module
        pytest.skip(str(error))


def trees_of(form):
    parts = form.forms if isinstance(form, Combined) else (form,)
    return [tree for part in parts if isinstance(part, TreesForm) for tree in part.trees]


def near_thresholds(form, seed=0, most=500):
    """Return random documents with one value each that is special or the float32 below, at or above a threshold."""
    rng = np.random.default_rng(seed)
    splits = [(f, t) for tree in trees_of(form) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0]
    splits = [splits[i] for i in rng.permutation(len(splits))[:most]]
    values = [(f, value) for f in range(5) for value in SPECIAL]
    for feature, threshold in splits:
        value = np.float32(threshold)
        values += [(feature, v) for v in (np.nextafter(value, -np.inf), value, np.nextafter(value, np.inf))]
    features = rng.uniform(0.0, 1.0, (len(values), 5)).astype(np.float32)
    features[np.arange(len(values)), [f for f, _ in values]] = [v for _, v in values]
    return features


def assert_equal_scores(model, form, features, offsets=None):
    offsets = np.array([0, len(features)]) if offsets is None else offsets
    expected = model.score(features, offsets)
    tolerance = FLOAT32.get(model.name, 1e-9)
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(form_scores(form, features, offsets), expected, rtol=tolerance, atol=tolerance * size)


@every_model
def test_the_form_has_the_scores_of_the_model(cls):
    model, test = fitted(cls), random_part(3, sizes=(12, 1, 7, 20))
    assert_equal_scores(model, form_of(model), test.features, test.offsets)


@every_model
def test_the_form_has_the_scores_of_the_model_at_its_thresholds(cls):
    model = fitted(cls)
    form = form_of(model)
    features = near_thresholds(form)
    if not trees_of(form):
        features = np.clip(features, -10.0, 10.0)  # kernels and quadratic forms overflow
    assert_equal_scores(model, form, features)


@pytest.mark.parametrize("cls", [case(cls) for cls in models().values() if cls.takes_missing])
@pytest.mark.parametrize("trained_with", ["without missing values", "with missing values"])
def test_the_form_has_the_scores_of_the_model_for_missing_values(cls, trained_with):
    model = fitted(cls)
    if trained_with == "with missing values":
        model = fit(cls, *(with_gaps(random_part(seed)) for seed in (1, 2)))
    form = form_of(model)
    features = np.concatenate([near_thresholds(form), random_part(3).features])
    rng = np.random.default_rng(0)
    features[rng.random(features.shape) < 0.3] = np.nan
    features[0] = np.nan
    assert_equal_scores(model, form, features)


@every_model
def test_the_form_has_only_numbers_of_the_features(cls):
    form = form_of(fitted(cls))
    for tree in trees_of(form):
        inner = tree.feature >= 0
        assert tree.feature.max(initial=-1) < 5 and np.isfinite(tree.threshold).all() and np.isfinite(tree.value).all()
        children = np.concatenate([tree.left[inner], tree.right[inner]])
        assert sorted(children) == list(range(1, len(inner)))  # each node but the root has one parent
    if isinstance(form, LinearForm):
        assert form.weights.shape == (5,) and form.weights.dtype == np.float64
