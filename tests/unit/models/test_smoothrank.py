"""SmoothRank: it starts from regression, stays there under a strong penalty, and ends at NDCG itself."""

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.measures.metrics import ndcg_at
from gradrank.models.regression import Regression
from gradrank.models.smoothrank import annealed
from gradrank.training.losses.smooth_ndcg import smoothrank
from gradrank.training.registry import get_model


def collection(seed, queries=30, documents=12):
    rng = np.random.default_rng(seed)
    x = rng.random((queries * documents, 4)).astype(np.float32)
    value = x @ [2.0, 1.0, -1.0, 0.0] + rng.normal(0.0, 0.5, len(x))
    labels = np.digitize(value, np.quantile(value, [0.6, 0.85])).astype(np.int32)
    return Collection(x, labels, np.arange(0, len(x) + 1, documents), np.arange(queries))


def fit(train, vali, **params):
    cls, history = get_model("smoothrank"), []
    model = cls.fit(train, vali, cls.Params(**params), 0, lambda step, **values: history.append(values))
    return model, history


def test_a_strong_penalty_leaves_the_regression_as_it_is():
    train, vali = collection(1), collection(2)
    model, _ = fit(train, vali, l2=[1e9])
    cls = get_model("regression")
    ridge = cls.fit(train, vali, cls.Params(), 0, lambda step, **values: None)
    mine, theirs = (each.score(vali.features, vali.offsets) for each in (model, ridge))
    np.testing.assert_allclose(mine - mine.mean(), theirs - theirs.mean(), atol=1e-5)


def test_a_cold_loss_is_ndcg_and_training_raises_it():
    train = collection(3)
    start = Regression.fit(train, train, Regression.Params(), 0, lambda step, **values: None).weights
    steps = list(annealed(train, smoothrank, start, 0.0, [1.0, 0.1, 1e-2, 1e-3, 1e-7]))
    weights, cost, temperature = steps[-1]
    values = ndcg_at(train.features @ weights, train.labels, train.offsets, k=12, convention="standard", empty=0.0)
    assert temperature == 1e-7 and -cost == pytest.approx(values.mean(), abs=1e-3)
    before = ndcg_at(train.features @ start, train.labels, train.offsets, k=12, convention="standard", empty=0.0)
    assert values.mean() > before.mean()


def test_every_temperature_under_every_penalty_is_a_candidate():
    _, history = fit(collection(4), collection(5), l2=[1.0, 0.1], warmest=2, coldest=-2)
    told = [(each["l2"], each["temperature"]) for each in history]
    assert told == [(l2, 2.0**e) for l2 in (1.0, 0.1) for e in (2, 1, 0, -1, -2)]
