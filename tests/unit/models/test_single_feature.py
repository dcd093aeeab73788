"""The single-feature baseline against a search written with the metrics."""

import numpy as np
import pytest

from gradrank.data.collection import Collection
from gradrank.models.single_feature import SingleFeature


def collection(features: np.ndarray, labels: np.ndarray, sizes: list[int]) -> Collection:
    return Collection(
        features=np.asarray(features, dtype=np.float32),
        labels=np.asarray(labels, dtype=np.int32),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
        qids=np.arange(len(sizes)),
    )


def average_precision(order: np.ndarray, labels: np.ndarray) -> float:
    relevant = labels[order] > 0
    precisions = np.cumsum(relevant) / np.arange(1, len(labels) + 1)
    return float(precisions[relevant].mean()) if relevant.any() else 0.0


def fit(data: Collection, vali: Collection) -> tuple[SingleFeature, list[dict]]:
    history: list[dict] = []
    model = SingleFeature.fit(data, vali, SingleFeature.Params(), 0, lambda step, **v: history.append(v))
    return model, history


def test_every_feature_and_direction_is_measured_on_validation():
    rng = np.random.default_rng(3)
    sizes = [4, 9, 1, 6]
    vali = collection(rng.random((20, 5)), rng.integers(0, 3, 20), sizes)
    train = collection(rng.random((20, 5)), rng.integers(0, 3, 20), sizes)
    model, history = fit(train, vali)
    found = {}
    for values in history:
        feature, sign = abs(values["feature"]) - 1, np.sign(values["feature"])
        keys = -sign * vali.features[:, feature]
        value = np.mean(
            [
                average_precision(np.argsort(keys[a:b], kind="stable"), vali.labels[a:b])
                for a, b in zip(vali.offsets, vali.offsets[1:], strict=False)
            ]
        )
        assert values["vali_map"] == pytest.approx(value, abs=1e-12)
        found[feature, sign] = value
    assert len(found) == 10
    assert found[model.feature, model.sign] == max(found.values())
