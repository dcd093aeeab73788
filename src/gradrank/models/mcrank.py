"""McRank (Li, Burges & Wu 2007): boosted trees, by LightGBM, that classify documents by grade.

The score of a document is its expected grade. The paper has two forms: multiclass classification of the grade (section
4) and ordinal classification with one binary classifier per threshold (section 5).
"""

from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from gradrank.training.model import param, register
from gradrank.training.scoring_form import Combined, TreesForm
from gradrank.training.search_space import Choice
from gradrank.training.solvers.boosting import TREES, BoostedTrees, BoostingParams


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
    summary = "Boosted ordinal or multiclass classification, score = expected grade (Li et al. 2007), LightGBM"

    @classmethod
    def objectives(cls, labels: np.ndarray, params: McRankParams) -> list[tuple[np.ndarray, dict[str, Any]]]:
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
