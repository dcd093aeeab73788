"""Training epoch by epoch: the best on validation is kept, and training ends when none better comes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gradrank.data.collection import Collection
from gradrank.learning.model import Callback, Model
from gradrank.learning.protocol import report


class Epoch(NamedTuple):
    """The model after an epoch, and the training loss of that epoch."""

    model: Model
    loss: float


class Selected(NamedTuple):
    """The best epoch's model and its validation measure; the step last reported."""

    model: Model
    value: float
    step: int


def best_epoch(
    epochs: Iterator[Epoch],
    vali: Collection,
    select_by: str,
    patience: int,
    callback: Callback,
    steps_before: int = 0,
) -> Selected:
    """The first of the epochs with the best `select_by` on `vali`, up to `patience` epochs without a better.

    `callback` is told of every epoch, with step numbers from `steps_before` + 1 on.
    """
    best, best_value, best_step = None, -np.inf, steps_before
    for step, (model, loss) in enumerate(epochs, start=steps_before + 1):
        value = report(callback, step, loss, model.score(vali.features, vali.offsets), vali, select_by)
        if value > best_value:
            best, best_value, best_step = model, value, step
        elif step - best_step >= patience:
            break
    return Selected(best, best_value, step)
