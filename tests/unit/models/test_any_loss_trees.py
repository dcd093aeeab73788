"""Boosted trees on the gradient of any loss."""

import numpy as np
import pytest

from gradrank.base.errors import GradrankError
from gradrank.training.contract.test_models import collection
from gradrank.training.registry import find_loss, get_model


def part(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(200, 4))
    grades = np.clip(np.round(features[:, 0] + 0.5 * rng.normal(size=200) + 1), 0, 2)
    return collection(features, grades, [10] * 20)


def silent(step, **values):
    pass


def fitted(loss, **params):
    cls = get_model("any_loss_trees")
    train, vali = part(0), part(1)
    chosen = {"rounds": 3, "min_data_in_leaf": 2, "bagging_fraction": 1.0, "learning_rate": 0.5} | params
    return cls.fit(train, vali, cls.Params(loss=loss, **chosen), 1, silent), train


def test_squared_error_is_the_regression_of_lightgbm():
    """The gradient of squared error is 2 (s - y), so the first tree is that of LightGBM's own objective, scaled."""
    own, train = fitted("squared_error", rounds=1)
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(train.features, train.labels, params={"verbose": -1, "min_data_in_leaf": 2})
    settings = {"objective": "regression", "boost_from_average": False, "learning_rate": 0.5, "num_leaves": 15}
    settings |= {"min_data_in_leaf": 2, "verbose": -1, "lambda_l2": 0.0, "num_threads": 1}
    expected = lightgbm.train(settings, data, num_boost_round=1).predict(train.features)
    found = own.score(train.features, train.offsets)
    scale = np.sqrt(np.mean(train.labels.astype(float) ** 2))
    np.testing.assert_allclose(found * scale, expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["ranknet", "softmax", "lambdarank", "lambdaloss", "approx_ndcg", "xe_ndcg"])
def test_the_cost_falls(loss):
    model, train = fitted(loss, rounds=1)
    scores = model.score(train.features, train.offsets)
    before, after = (find_loss(loss)(own, train.labels, train.offsets)[0] for own in (np.zeros(train.rows), scores))
    assert after < before


def test_losses_with_several_outputs_are_refused():
    with pytest.raises(GradrankError, match=r"'ordinal' needs .* outputs per document.*Fix: "):
        fitted("ordinal")
