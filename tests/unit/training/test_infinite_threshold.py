"""A split of missing from all other values has an infinite threshold in LightGBM's text."""

import lightgbm
import numpy as np

from gradrank.training.solvers.lightgbm_text import check_lightgbm_text


def test_a_text_with_such_a_split_is_valid():
    draw = np.random.default_rng(11)
    X = draw.integers(1, 6, (400, 2)).astype(float)
    X[draw.random(400) < 0.4, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 1, (X[:, 0] > 3) * 2)
    settings = {"objective": "regression", "num_leaves": 15, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1}
    text = lightgbm.train(settings, lightgbm.Dataset(X, y, params=settings), 5).model_to_string()
    assert any("inf" in line for line in text.splitlines() if line.startswith("threshold=")), "the data need one"
    check_lightgbm_text(text)
