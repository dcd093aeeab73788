"""Training with LightGBM leaves LightGBM's other uses in the same process as they are."""

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.registry import models


def drawn(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    return Collection(x, rng.integers(0, 3, 60).astype(np.int32), np.arange(0, 61, 12), np.arange(5))


def test_lightgbms_own_estimators_and_categories_work_after_training():
    import lightgbm
    import pandas as pd

    cls = models()["mart"]
    cls.fit(drawn(1), drawn(2), cls.Params(rounds=3, min_data_in_leaf=5), 1, lambda step, **values: None)
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue"] * 20), "size": np.arange(40.0)})
    ranker = lightgbm.LGBMRanker(n_estimators=2, min_child_samples=2, verbosity=-1)
    ranker.fit(frame, np.arange(40) % 3, group=[20, 20])
    assert np.isfinite(ranker.predict(frame)).all()
