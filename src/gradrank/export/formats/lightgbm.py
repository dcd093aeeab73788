"""The format `lightgbm`: the model file of LightGBM, exactly as LightGBM wrote it after the training."""

import shutil
from pathlib import Path
from typing import ClassVar

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.export.format import ExportedModel, ModelFormat, NotExpressible, Reader
from gradrank.training.scoring_form import Combined, ScoringForm, TreesForm
from gradrank.training.solvers.lightgbm_text import read_lightgbm_text


class LightGbmFormat(ModelFormat):
    name = "lightgbm"
    summary = "the model file of LightGBM, for models that consist of one LightGBM booster"
    tolerance: ClassVar[float] = 1e-12  # the sums of the trees may be computed in another order
    extension = ".txt"

    def write(self, model: ExportedModel, out: Path) -> list[Path]:
        if model.normaliser is not None:
            raise NotExpressible("the features are normalised, and a LightGBM file has no normalisation")
        stored = sorted(model.folder.glob("trees*.txt")) if model.folder is not None else []
        if not stored:
            raise NotExpressible("the model was not trained with LightGBM")
        if len(stored) > 1:
            raise NotExpressible(f"the model has {len(stored)} boosters, and a LightGBM file has one")
        if not _is_booster_output(model.form):
            raise NotExpressible("the score is not the output of a LightGBM booster, but is computed from it")
        shutil.copyfile(stored[0], out)
        return [out]

    def read(self, path: Path) -> Reader:
        return LightGbmReader(path)


def _is_booster_output(form: ScoringForm) -> bool:
    """Return True if the score is the sum of trees, or the probability that a binary classifier predicts."""
    if isinstance(form, Combined):
        return form.rule == "logistic" and len(form.forms) == 1 and form.weights.tolist() == [1.0]
    return isinstance(form, TreesForm) and form.intercept == 0.0


class LightGbmReader(Reader):
    """A LightGBM booster. LightGBM names its features Column_0, Column_1 and so on."""

    def __init__(self, path: Path) -> None:
        import lightgbm

        text = read_lightgbm_text(path)
        try:
            self._booster = lightgbm.Booster(model_str=text)
        except Exception as error:  # LightGBM documents no type of error
            raise GradrankError(f"{path}: LightGBM cannot read this file ({error}). Fix: export again") from error

    @property
    def names(self) -> None:
        return None

    def scores(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return np.asarray(self._booster.predict(features, num_threads=1))
