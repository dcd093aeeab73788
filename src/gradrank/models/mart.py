"""Trees, by LightGBM, that predict grades: MART (Friedman 2001), random forests (Breiman 2001) and McRank.

`mart` boosts trees on the squared error. `random_forest` samples documents without replacement, whereas Breiman 2001
draws bootstrap samples. Its number of trees is selected on validation.

`mcrank` (Li, Burges & Wu 2007) classifies documents by grade. The score of a document is its expected grade. The paper
has two forms: multiclass classification of the grade (section 4) and ordinal classification with one binary classifier
per threshold (section 5).
"""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from gradrank.data.collection import Collection
from gradrank.training.model import param, register
from gradrank.training.scoring_form import Combined, TreesForm
from gradrank.training.search_space import Choice, Uniform
from gradrank.training.solvers.boosting import TREES, BoostedTrees, BoostingParams


class ForestParams(BoostingParams):
    num_leaves: int = param(
        127, "deep trees (Breiman 2001); 127 is better than 255 and 511 on validation of MQ2007", ge=2
    )
    min_data_in_leaf: int = param(
        20, "better on validation of MQ2007 than 5, the value of Breiman 2001 for regression", ge=1
    )
    feature_fraction: float = param(0.33, "a third of the features per tree (Breiman 2001, for regression)", gt=0, le=1)
    bagging_fraction: float = param(0.632, "share of distinct documents in a bootstrap sample, 1 - 1/e", gt=0, lt=1)
    bagging_freq: int = param(1, "each tree has a sample of its own", ge=1, le=1)
    rounds: int = param(300, "number of trees", ge=1)
    patience: int = param(300, "as rounds, because more trees do not overfit; the best number of trees is kept", ge=1)


@register("mart")
class MART(BoostedTrees[BoostingParams]):
    reads_labels = "numbers"
    summary = "Boosted trees on squared error against the grade (Friedman 2001), LightGBM"

    @classmethod
    def objectives(cls, train: Collection, params: BoostingParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(train.numbers, {"objective": "regression"})]


@register("random_forest")
class RandomForest(BoostedTrees[ForestParams]):
    Params = ForestParams
    space: ClassVar = {
        "num_leaves": Choice((31, 63, 127, 255, 511), "up to nearly unpruned trees"),
        "min_data_in_leaf": Choice((1, 5, 10, 20, 50), "Breiman 2001: 1 to 5"),
        "feature_fraction": Uniform(0.1, 0.8, "around a third, or the square root of their number (Breiman 2001)"),
        "bagging_fraction": Uniform(0.3, 0.9, "around the .632 of a bootstrap sample"),
    }
    published: ClassVar = {"num_leaves": 511, "min_data_in_leaf": 5}  # Breiman 2001: unpruned, five documents per leaf
    reads_labels = "numbers"
    summary = "Random forest on the grade (Breiman 2001), LightGBM"

    @classmethod
    def objectives(cls, train: Collection, params: ForestParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        return [(train.numbers, {"objective": "regression", "boosting": "rf"})]


class McRankParams(BoostingParams):
    form: Literal["multiclass", "ordinal"] = param(
        "ordinal",
        "one binary classifier of y >= k per threshold k; multiclass: one of y = k (Li et al. 2007, sections 4 and 5)",
    )

    @model_validator(mode="after")
    def check_form_is_monotone(self) -> Self:
        """Raise ValueError for monotone constraints of the form `multiclass`.

        The output of each grade would be monotone, but not the expected grade.
        """
        if self.form == "multiclass" and self.monotone:
            raise ValueError("monotone constraints need the form ordinal. Fix: set `form: ordinal`")
        return self


@register("mcrank")
class McRank(BoostedTrees[McRankParams]):
    Params = McRankParams
    space = TREES | {"form": Choice(("multiclass", "ordinal"), "both published forms")}
    reads_labels = "grades"
    summary = "Boosted ordinal or multiclass classification, score = expected grade (Li et al. 2007), LightGBM"

    @classmethod
    def objectives(cls, train: Collection, params: McRankParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
        labels = train.labels
        highest = max(int(labels.max()), 1)
        if params.form == "multiclass":
            return [(labels, {"objective": "multiclass", "num_class": highest + 1})]
        return [(labels >= k, {"objective": "binary"}) for k in range(1, highest + 1)]

    @classmethod
    def combine(cls, outputs: list[np.ndarray]) -> np.ndarray:
        """Return the (n,) expected grades, E[y] = sum_k k P(y = k) = sum_{k >= 1} P(y >= k)."""
        if outputs[0].ndim == 2:
            return np.einsum("nk,k->n", outputs[0], np.arange(outputs[0].shape[1], dtype=np.float64))
        return np.sum(outputs, axis=0)

    @classmethod
    def combine_forms(cls, forms: list[list[TreesForm]]) -> Combined:
        if len(forms[0]) > 1:
            return Combined(tuple(forms[0]), np.arange(len(forms[0]), dtype=np.float64), "softmax")
        return Combined(tuple(form for (form,) in forms), np.ones(len(forms)), "logistic")
