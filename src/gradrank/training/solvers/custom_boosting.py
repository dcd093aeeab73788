"""Boosted trees that need more of LightGBM than its own objectives and the first trees of a finished model.

`Following` has the trees follow derivatives of ours; `Keeping` keeps the whole model of the best round.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import Callback
from gradrank.training.solvers.boosting import B, BoostedTrees, boost, booster_of, settings_of
from gradrank.training.training_queries import with_grades_to_order

if TYPE_CHECKING:
    from gradrank.training.solvers.pair_derivatives import Derivatives


class WrappedBooster:
    """What the training loop asks of a booster, passed on to one of LightGBM's."""

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def update(self) -> bool:
        """One round; whether there was nothing left to split."""
        return self.booster.update()

    def eval_valid(self, feval: Callable) -> list:
        return self.booster.eval_valid(feval=feval)

    def model_to_string(self, num_iteration: int) -> str:
        return self.booster.model_to_string(num_iteration=num_iteration)

    def watched(self, callback: Callback) -> Callback:
        """What is to be told of every round in place of `callback`."""
        return callback


class CustomObjectiveBooster(WrappedBooster):
    """Every round follows `forces`, at the scores so far."""

    def __init__(self, booster: Any, forces: "Derivatives") -> None:
        super().__init__(booster)
        self.forces = forces

    def update(self) -> bool:
        return self.booster.update(fobj=lambda scores, data: self.forces(scores))


class BestModelBooster(WrappedBooster):
    """The text of the round with the best `select_by` so far is kept: later rounds change earlier trees."""

    def __init__(self, booster: Any, select_by: str) -> None:
        super().__init__(booster)
        self.measure, self.best, self.text = f"vali_{select_by}", -np.inf, ""

    def watched(self, callback: Callback) -> Callback:
        def told(step: int, **values: float) -> None:
            if values[self.measure] > self.best:
                self.best, self.text = values[self.measure], self.booster.model_to_string()
            callback(step, **values)

        return told

    def model_to_string(self, num_iteration: int) -> str:
        return self.text


class WrappedBoostedTrees(BoostedTrees[B]):
    """A member says how its one booster is led."""

    @classmethod
    def led(cls, booster: Any, train: Collection, params: B, seed: int) -> WrappedBooster:
        raise NotImplementedError

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: B, seed: int, callback: Callback) -> Self:
        """Raises GradrankError as the other trees do."""
        train = with_grades_to_order(train, cls.name)
        cls.check(train, params)
        ((target, own),) = cls.objectives(train.labels, params)
        booster = booster_of(train, vali, target, settings_of(params, seed % 2**31) | own)
        led = cls.led(booster, train, params, seed)
        return cls(boost([led], cls.combine, vali, params, led.watched(callback)))
