"""CatBoost's rankers (Prokhorenkova et al. 2018): YetiRank (Gulin, Kuralenok & Pavlov 2011) and QuerySoftMax."""

from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.files import atomic
from gradrank.learning.best_of import Candidate, best_of
from gradrank.learning.model import Callback, Model, ModelParams, param, register
from gradrank.learning.selection import CRITERION
from gradrank.learning.training_part import with_grades_to_order


class CatBoostParams(ModelParams):
    """CatBoost's own names for what is passed on to it, but `rounds` for its iterations."""

    rounds: int = param(300, "trees grown; the best number of them on validation is seldom near it", ge=1)
    learning_rate: float = param(
        0.1, "validation NDCG@10 on MQ2007 differs from that at 0.05 by less than a seed does", gt=0, le=1
    )
    depth: int = param(
        4, "validation NDCG@10 on MQ2007 .4602; .4553 with CatBoost's 6 (YetiRank)", ge=1, le=16
    )
    l2_leaf_reg: float = param(3.0, "CatBoost's default", ge=0)
    select_by: str = param("ndcg@10", "the number of trees, by the validation part's", pattern=CRITERION)


@register("yetirank")
class YetiRank(Model):
    Params = CatBoostParams
    summary = "Symmetric trees on randomised orders of each query (Gulin et al. 2011), CatBoost"
    takes_missing = True
    requires = ("catboost",)
    extra = "catboost"
    loss: ClassVar[str] = "YetiRank"

    def __init__(self, trees) -> None:
        self.trees = trees

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: CatBoostParams, seed: int, callback: Callback
    ) -> Self:
        """All trees are grown, then the best number of them is chosen: CatBoost stops by its own measures alone."""
        import catboost

        train = with_grades_to_order(train, cls.name)
        settings = params.model_dump(exclude={"rounds", "select_by"})
        trees = catboost.CatBoost(
            settings
            | {
                "loss_function": cls.loss,
                "iterations": params.rounds,
                "random_seed": seed,
                "thread_count": 1,
                "allow_writing_files": False,  # else it leaves a folder catboost_info wherever it runs
                "logging_level": "Silent",
            }
        )
        pool = catboost.Pool(train.features, train.labels, group_id=train.query_of_row)
        try:
            trees.fit(pool)
        except catboost.CatBoostError as error:
            raise GradrankError(
                f"{cls.name}: CatBoost says: {error}; check the data and {', '.join(settings)}"
            ) from None
        staged = enumerate(trees.staged_predict(vali.features, thread_count=1), start=1)
        prefixes = (Candidate(number, scores=scores) for number, scores in staged)
        trees.shrink(ntree_end=best_of(prefixes, vali, params.select_by, callback).kept)
        return cls(trees)

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self.trees.predict(features, thread_count=1)

    def save(self, folder: Path) -> None:
        described = self.trees.get_metadata()
        for key in ("model_guid", "train_finish_time"):  # equal training, equal bytes
            described[key] = ""
        with atomic(folder / "trees.cbm") as partial:
            self.trees.save_model(str(partial), format="cbm")

    @classmethod
    def load(cls, folder: Path) -> Self:
        from catboost import CatBoost

        return cls(CatBoost().load_model(str(folder / "trees.cbm"), format="cbm"))


@register("querysoftmax")
class QuerySoftMax(YetiRank):
    summary = "Symmetric trees on the cross entropy of a query's softmax (after Cao et al. 2007), CatBoost"
    loss = "QuerySoftMax"
