"""Fusion of other models' scores: CombSUM of z-scores (Fox & Shaw 1994), reciprocal rank fusion.

Its "features" are the scores of the models that it names, a column each; nothing is learned from grades.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.files import read_json, write_json
from gradrank.learning.model import Callback, Model, ModelParams, param, register
from gradrank.learning.space import Choice, LogUniform


class FusionParams(ModelParams):
    # Not `members`: elsewhere that is how many models of one kind are averaged.
    models: tuple[str, ...] = param(
        ("xendcg", "ranknet_kernel", "listnet_neural", "rankboost"),
        "trees, kernel, net, stumps: of the subsets of seven models the best mean validation MAP on MQ2007",
        min_length=2,
    )
    method: Literal["combsum", "rrf"] = param(
        "combsum", "keeps how far apart scores are; rrf keeps ranks alone"
    )
    k: Annotated[float, Field(ge=0)] = param(60.0, "rrf: Cormack, Clarke & Büttcher 2009, section 2")


@register("fusion")
class Fusion(Model):
    Params = FusionParams
    space: ClassVar = {
        "method": Choice(("combsum", "rrf"), "both"),
        "k": LogUniform(1.0, 1000.0, "about Cormack, Clarke & Büttcher's 60; combsum has none"),
    }
    summary = "Sum of other models' z-scores (Fox & Shaw 1994) or reciprocal ranks (Cormack et al. 2009)"

    def __init__(self, params: FusionParams) -> None:
        self.params = params

    @classmethod
    def members(cls, params: FusionParams) -> tuple[str, ...]:
        return params.models

    @classmethod
    def uses_seed(cls, params: FusionParams) -> bool:
        """No: its members' chance is theirs."""
        return False

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: FusionParams, seed: int, callback: Callback
    ) -> Self:
        """There is nothing to fit; the validation measures are reported once."""
        from gradrank.learning.selection import measure

        model = cls(params)
        scores = model.score(vali.features, vali.offsets)
        criteria = ("map", "ndcg@10")
        callback(1, **{f"vali_{name}": measure(name, scores, vali.labels, vali.offsets) for name in criteria})
        return model

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """(n,) sum over the columns of (n, m) member scores."""
        from gradrank.learning.fusing import reciprocal_rank, z_score

        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        if self.params.method == "rrf":
            return sum(reciprocal_rank(column, offsets, self.params.k) for column in columns)
        return sum(z_score(column, offsets) for column in columns)

    def save(self, folder: Path) -> None:
        write_json(folder / "fusion.json", self.params.model_dump(mode="json"))

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(FusionParams(**read_json(folder / "fusion.json")))
