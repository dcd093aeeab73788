"""Boosted trees that wrap LightGBM's booster to change its training.

CustomObjectiveBooster trains with the derivatives of a loss that LightGBM does not contain. BestModelBooster stores the
complete model of the best round. The complete model is needed for boosting modes in which later rounds change earlier
trees.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.model import Callback
from gradrank.training.solvers.boosting import B, BoostedTrees, boost, create_booster, lightgbm_settings
from gradrank.training.training_queries import with_grades_to_order

if TYPE_CHECKING:
    from gradrank.training.solvers.pair_derivatives import Derivatives


class WrappedBooster:
    """A wrapper of a LightGBM booster, which forwards the methods that `boost` calls."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def update(self) -> bool:
        """Train one round and return whether no tree could be split."""
        return self.booster.update()

    def eval_valid(self, feval: Callable) -> list:
        """Evaluate `feval` on the validation data."""
        return self.booster.eval_valid(feval=feval)

    def model_to_string(self, num_iteration: int) -> str:
        """Return the first `num_iteration` rounds of the model as text."""
        return self.booster.model_to_string(num_iteration=num_iteration)

    def wrap_callback(self, callback: Callback) -> Callback:
        """Return a callback that calls `callback`. A subclass can add further work to be done after each round."""
        return callback


class CustomObjectiveBooster(WrappedBooster):
    """A booster that fits its trees to the derivatives of a given loss at the current scores.

    LightGBM does not weight the derivatives of such a loss, so they are multiplied by the (n,) weights here.
    """

    def __init__(self, booster: Any, derivatives: "Derivatives", weights: np.ndarray | None = None) -> None:
        super().__init__(booster)
        self.derivatives, self.weights = derivatives, weights

    def update(self) -> bool:
        return self.booster.update(fobj=lambda scores, data: self._weighted(*self.derivatives(scores)))

    def _weighted(self, slopes: np.ndarray, curvatures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.weights is None:
            return slopes, curvatures
        return self.weights * slopes, self.weights * curvatures


class BestModelBooster(WrappedBooster):
    """A booster that stores the text of its model after the round with the best `select_by`."""

    def __init__(self, booster: Any, select_by: str) -> None:
        super().__init__(booster)
        self.measure, self.best, self.text = f"vali_{select_by}", -np.inf, ""

    def wrap_callback(self, callback: Callback) -> Callback:
        def store_best(step: int, **values: float) -> None:
            if values[self.measure] > self.best:
                self.best, self.text = values[self.measure], self.booster.model_to_string()
            callback(step, **values)

        return store_best

    def model_to_string(self, num_iteration: int) -> str:
        return self.text


class WrappedBoostedTrees(BoostedTrees[B]):
    """The base class of models with one wrapped booster. Subclasses define `wrap`."""

    @classmethod
    def wrap(cls, booster: Any, train: Collection, params: B, seed: int) -> WrappedBooster:
        """Return the wrapper of a LightGBM booster for the training part."""
        raise NotImplementedError

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: B, seed: int, callback: Callback) -> Self:
        """Train the wrapped booster; see `Model.fit`. Raises the errors of `with_grades_to_order` and `check`."""
        train = with_grades_to_order(train, cls.name)
        cls.check(train, params)
        if np.all((train.features == train.features[0]) | np.isnan(train.features) & np.isnan(train.features[0])):
            raise GradrankError(
                f"{cls.name}: all documents of the training part have the same features, from which LightGBM builds no "
                "tree for this loss. Fix: give features that differ between documents"
            )
        ((target, settings),) = cls.objectives(train.labels, params)
        booster = create_booster(train, vali, target, lightgbm_settings(params, train, seed % 2**31) | settings)
        wrapped = cls.wrap(booster, train, params, seed)
        return cls(boost([wrapped], cls.combine, vali, params, wrapped.wrap_callback(callback)))
