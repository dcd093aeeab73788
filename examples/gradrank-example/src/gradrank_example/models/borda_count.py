"""Borda count: the sum of the ranks of a document by its best features.

Source: Aslam and Montague 2001, Models for metasearch, SIGIR. There, systems are combined; here, features are.
"""

from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np

from gradrank.base.files import read_json, write_json
from gradrank.data.collection import Collection
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.selection import measure


class BordaCountParams(ModelParams):
    features: int = param(10, "number of features whose ranks are added; an example, not tuned", ge=1)


@register("borda_count")
class BordaCount(Model[BordaCountParams]):
    Params = BordaCountParams
    summary = "Sum of the ranks by the features that agree best with the grades (Aslam & Montague 2001)"

    def __init__(self, signs: np.ndarray) -> None:
        self.signs = signs  # (d,): 1 or -1 for a feature whose ranks are added, 0 for the others

    @classmethod
    def uses_seed(cls, params: BordaCountParams) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: BordaCountParams, seed: int, callback: Callback) -> Self:
        """Return the model with the features whose ranks have the largest covariance with the grades, in magnitude."""
        covariance = _ranks(train.features, train.offsets).T @ train.labels.astype(np.float64)
        best = np.argsort(-np.abs(covariance), kind="stable")[: params.features]
        signs = np.zeros(len(covariance))
        signs[best] = np.sign(covariance[best])
        model = cls(signs)
        scores = model.score(vali.features, vali.offsets)
        callback(1, **{"vali_ndcg@10": measure("ndcg@10", scores, vali.labels, vali.offsets)})
        return model

    @property
    def scores_whole_queries(self) -> bool:
        return True  # a rank depends on the other documents of the query

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return _ranks(features, offsets) @ self.signs

    def save(self, folder: Path) -> None:
        write_json(folder / "signs.json", self.signs.tolist())

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(np.array(read_json(folder / "signs.json")))


def _ranks(features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (n, d) ranks of the documents of each query by each feature, with mean 0.

    Equal values have equal ranks.
    """
    from scipy.stats import rankdata

    ranks = np.empty(features.shape)
    for start, end in pairwise(offsets):
        ranks[start:end] = rankdata(features[start:end], axis=0) - (end - start + 1) / 2
    return ranks
