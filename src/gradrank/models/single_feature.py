"""The baseline without learning: documents in the order of one feature."""

from pathlib import Path
from typing import Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.files import read_json, write_json
from gradrank.learning.model import Callback, Model, ModelParams, param, register


class SingleFeatureParams(ModelParams):
    select_by: str = param(
        "map", "LETOR's protocol: the validation part's MAP", pattern=r"^(map|ndcg@[1-9]\d*)$"
    )


@register("single_feature")
class SingleFeature(Model):
    Params = SingleFeatureParams
    summary = "No learning: the feature and direction that rank the validation part best"

    def __init__(self, feature: int, sign: int) -> None:
        self.feature, self.sign = feature, sign

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: SingleFeatureParams, seed: int, callback: Callback
    ) -> Self:
        """The training part is not used. Of equal values the first feature wins, descending first."""
        from gradrank.learning.selection import measure

        best, best_value = None, -np.inf
        for step in range(2 * vali.features.shape[1]):
            model = cls(feature=step // 2, sign=1 if step % 2 == 0 else -1)
            scores = model.score(vali.features, vali.offsets)
            value = measure(params.select_by, scores, vali.labels, vali.offsets)
            if value > best_value:
                best, best_value = model, value
            # 1-based as in LETOR's text, negative where low values rank first.
            feature = model.sign * (model.feature + 1)
            callback(step + 1, feature=feature, **{f"vali_{params.select_by}": value})
        return best

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.sign * features[:, self.feature].astype(np.float64)

    def save(self, folder: Path) -> None:
        write_json(folder / "single_feature.json", {"feature": self.feature, "sign": self.sign})

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(**read_json(folder / "single_feature.json"))
