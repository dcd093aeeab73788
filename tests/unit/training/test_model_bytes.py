"""Saved trees with changed characters: a library that reads them must not end Python, and no score is infinite."""

import subprocess
import sys

import pytest

from gradrank.base.stamps import write_stamp
from gradrank.training.fold_folder import FoldFolder
from gradrank.training.registry import get_model, missing_packages
from made_rankings import linear_grades

# These models load their files as all models of LightGBM, XGBoost and CatBoost do.
NAMES = [name for name in ("mart", "xgboost_ndcg", "yetirank") if not missing_packages(get_model(name))]
CHANGES = 300
REPLACEMENTS = "0192837465-. e+\n,]"
LOAD_ALL = f"""
import sys
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.training.trained_fold import TrainedFold

fold, path, features = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
text, replacements = path.read_text(), {REPLACEMENTS!r}
digits = [at for at, character in enumerate(text) if character.isdigit()]
rows = np.random.default_rng(1).normal(size=(4, features)).astype(np.float32)
rows[1, 0] = np.nan
outcomes = []
for number, at in enumerate(digits[:: max(len(digits) // {CHANGES}, 1)]):
    path.write_text(text[:at] + replacements[number % len(replacements)] + text[at + 1 :])
    try:
        assert np.isfinite(TrainedFold.load(fold).score(rows, np.array([0, 4]))).all(), number
        outcomes.append("scored")
    except GradrankError:
        outcomes.append("refused")
print(len(outcomes), *sorted(set(outcomes)))
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_character_does_not_end_python(name, tmp_path):
    cls, data, fold = get_model(name), linear_grades(1, 20, 15), FoldFolder(tmp_path)
    quick = {"rounds": 3, "min_data_in_leaf": 5, "num_leaves": 4, "depth": 2, "max_depth": 2}
    params = cls.Params(**{key: value for key, value in quick.items() if key in cls.Params.model_fields})
    fold.model_path.mkdir()
    cls.fit(data, linear_grades(2, 20, 15), params, 3, lambda step, **values: None).save(fold.model_path)
    (path,) = fold.model_path.iterdir()
    features = data.features.shape[1]
    write_stamp(fold.spec_path, {"model": name, "features": features}, [])  # without checksums of files
    command = [sys.executable, "-c", LOAD_ALL, str(tmp_path), str(path), str(features)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    number, *outcomes = done.stdout.splitlines()[-1].split()
    assert int(number) >= CHANGES and outcomes == ["refused", "scored"]
