"""Ridge regression that predicts the grade of a document (Hoerl & Kennard 1970)."""

from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np
from pydantic import PositiveFloat

from gradrank.base.files import write_json
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.form_scores import linear_scores
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, Weights, check_width, read_content
from gradrank.training.scoring_form import LinearForm
from gradrank.training.search_space import Grid
from gradrank.training.selection import CRITERION


class RegressionParams(ModelParams):
    l2: Grid[PositiveFloat] = param(
        tuple(10.0**e for e in range(-3, 6)),
        "from no shrinkage to weights near zero; selected on validation as in LETOR's protocol",
        min_length=1,
    )
    select_by: str = param("map", "LETOR's protocol: the validation part's MAP", pattern=CRITERION)


class RegressionContent(Content):
    l2: PositiveFloat
    weights: Weights


P = TypeVar("P", bound=RegressionParams)


@register("regression")
class Regression(Model[P]):
    reads_labels = "numbers"
    Params = RegressionParams
    uses_weights = "documents"
    summary = "Ridge regression on the grade, document by document (Hoerl & Kennard 1970)"
    published: ClassVar = {"l2": 1.0}  # the default of Ridge in scikit-learn

    def __init__(self, weights: np.ndarray, l2: float) -> None:
        self.weights, self.l2 = weights, l2

    @classmethod
    def uses_seed(cls, params: P) -> bool:
        return False

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: P, seed: int, callback: Callback) -> Self:
        """Minimise sum_i c_i (y_i - b - w.x_i)^2 + l2 |w|^2 for each value of l2; return the model best on validation.

        c_i is the weight of the document, or 1.
        The intercept b does not change a ranking and is not stored. The callback is called once per value of l2, from
        the largest to the smallest.
        """
        features = train.features.astype(np.float64)
        labels = train.numbers
        features -= np.average(features, axis=0, weights=train.weights)
        if train.weights is not None:
            features *= np.sqrt(train.weights)[:, None]
            labels = labels * np.sqrt(train.weights)
        # All values of l2 share one eigendecomposition: (V diag(s) V' + l2) w = X'y.
        spectrum, vectors = np.linalg.eigh(features.T @ features)
        moment = vectors.T @ (features.T @ labels)

        def solution(l2: float) -> Self:
            return cls(vectors @ (moment / (np.maximum(spectrum, 0.0) + l2)), l2)

        candidates = (Candidate(solution(l2), reported={"l2": l2}) for l2 in sorted(params.l2, reverse=True))
        return best_of(candidates, vali, params.select_by, callback).kept

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return linear_scores(features, self.weights)

    def scoring_form(self, features: int) -> LinearForm:
        return LinearForm(self.weights)

    def save(self, folder: Path) -> None:
        write_json(folder / "regression.json", {"l2": self.l2, "weights": self.weights.tolist()})

    @classmethod
    def load(cls, folder: Path) -> Self:
        stored = read_content(folder / "regression.json", RegressionContent)
        return cls(np.array(stored.weights, np.float64), stored.l2)

    def check_width(self, features: int) -> None:
        check_width("regression.json", len(self.weights), features)
