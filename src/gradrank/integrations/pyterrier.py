"""A ranker for PyTerrier's `pt.ltr.apply_learned_model(learner, form="ltr")`, which gives the sizes of queries."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from gradrank.ranker.ranker import Ranker


class PyTerrierRanker:
    """A `gradrank.Ranker` whose `fit` has the arguments `group`, `eval_set` and `eval_group` of LightGBM's ranker.

    ranker: the Ranker. Its method must score each document alone, because PyTerrier predicts without query ids.
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Sequence[int],
        eval_set: Sequence[tuple[Any, Any]] = (),
        eval_group: Sequence[Sequence[int]] = (),
    ) -> Self:
        """Train the ranker. The first eval_set selects the model.

        group, eval_group: numbers of rows of the queries, in their order. Raises GradrankError as `Ranker.fit` does.
        """
        (vali, *_), (sizes, *_) = [*eval_set, None], [*eval_group, ()]
        chosen = None if vali is None else (*vali, np.repeat(np.arange(len(sizes)), sizes))
        self.ranker.fit(X, y, qid=np.repeat(np.arange(len(group)), group), eval_set=chosen)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return (n,) float64 scores of the rows of X."""
        return self.ranker.predict(X)
