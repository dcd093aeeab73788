"""The baseline without learning: documents in the order of one feature."""

from pathlib import Path
from typing import Self

import numpy as np

from gradrank.base.files import read_json, write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.selection import CRITERION


class SingleFeatureParams(ModelParams):
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


@register("single_feature")
class SingleFeature(Model[SingleFeatureParams]):
    Params = SingleFeatureParams
    summary = "No learning: the feature and direction that rank the validation part best"

    def __init__(self, feature: int, sign: int) -> None:
        self.feature, self.sign = feature, sign

    @classmethod
    def uses_seed(cls, params: SingleFeatureParams) -> bool:
        return False

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: SingleFeatureParams, seed: int, callback: Callback
    ) -> Self:
        """The training part is not used. Of equal values the first feature wins, descending first."""
        models = (cls(feature, sign) for feature in range(vali.features.shape[1]) for sign in (1, -1))
        # Told 1-based as in LETOR's text, negative where low values rank first.
        candidates = (Candidate(model, told={"feature": model.sign * (model.feature + 1)}) for model in models)
        return best_of(candidates, vali, params.select_by, callback).kept

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.sign * features[:, self.feature].astype(np.float64)

    def save(self, folder: Path) -> None:
        write_json(folder / "single_feature.json", {"feature": self.feature, "sign": self.sign})

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(**read_json(folder / "single_feature.json"))
