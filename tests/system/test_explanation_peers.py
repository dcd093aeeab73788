"""The contributions of trees equal those of the package shap, which computes interventional values of LightGBM."""

import lightgbm
import numpy as np
import pytest

from gradrank.explanations.shapley import tree_shapley
from gradrank.training.solvers.boosting import lightgbm_forms

shap = pytest.importorskip("shap")


@pytest.mark.parametrize("leaves", [2, 8, 63])
def test_contributions_equal_those_of_shap(leaves):
    random = np.random.default_rng(leaves)
    x = random.normal(size=(2000, 12)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + np.abs(x[:, 2]) + random.normal(size=len(x))
    parameters = {"objective": "regression", "num_leaves": leaves, "verbosity": -1, "seed": 1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(x.astype(np.float64), y), 50)
    (form,) = lightgbm_forms(booster)
    background = x[:20]
    explainer = shap.TreeExplainer(booster, background.astype(np.float64), feature_perturbation="interventional")
    expected = explainer.shap_values(x[20:30].astype(np.float64), check_additivity=False)
    assert np.allclose(tree_shapley(form.trees, x[20:30], background), expected, rtol=0, atol=1e-6)
