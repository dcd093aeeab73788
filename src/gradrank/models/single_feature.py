"""The baseline without learning: documents are sorted by a single feature, in ascending or descending order."""

from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field

from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, check_feature, damaged, read_content
from gradrank.training.scoring_form import LinearForm
from gradrank.training.selection import CRITERION


class SingleFeatureParams(ModelParams):
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


class SingleFeatureContent(Content):
    feature: int = Field(ge=0)
    sign: int = Field(ge=-1, le=1)


@register("single_feature")
class SingleFeature(Model[SingleFeatureParams]):
    reads_labels = "order"
    Params = SingleFeatureParams
    uses_weights = "documents"  # the training part is not used, so its weights have no effect
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
        """Return the model whose feature and direction have the best validation measure. The training part is not used.

        If several models are equally good, the model with the first feature is returned; of its two directions,
        descending order is preferred. The callback is called once per feature and direction.
        """
        models = (cls(feature, sign) for feature in range(vali.features.shape[1]) for sign in (1, -1))
        # The history contains the number of the feature, from 1 as in LETOR files. It is negative if low values rank
        # first.
        candidates = (Candidate(model, reported={"feature": model.sign * (model.feature + 1)}) for model in models)
        return best_of(candidates, vali, params.select_by, callback).kept

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.sign * features[:, self.feature].astype(np.float64)

    def scoring_form(self, features: int) -> LinearForm:
        weights = np.zeros(features)
        weights[self.feature] = self.sign
        return LinearForm(weights)

    def save(self, folder: Path) -> None:
        write_json(folder / "single_feature.json", {"feature": self.feature, "sign": self.sign})

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / "single_feature.json"
        stored = read_content(path, SingleFeatureContent)
        if stored.sign == 0:
            raise damaged(path, "sign: 0 orders no documents")
        return cls(stored.feature, stored.sign)

    def check_width(self, features: int) -> None:
        check_feature("single_feature.json", self.feature, features)
