"""Labels that are gains, or grades above 31, and the gain of each grade.

Models learn from grades 0, 1, 2, .. . Other labels, such as .01, .1 and 1, are replaced by their positions among all
different labels, with 0 in front. The collection keeps the labels for which these grades stand. The gain of each grade
is part of the convention of the collection. It applies to the selection on validation data, and to the training if the
definition of the method has gains.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.training.accepted_data import models_that_accept
from gradrank.training.model import Model, ModelParams

# The gain of a grade, as in `gradrank.base.conventions.Convention`.
Gain = Literal["exponential", "linear"] | Sequence[float] | Callable[[float], float]
MOST_LEVELS = 10_000  # different labels; LightGBM gets one gain per label
REASONS = {
    "grades": "it learns from few ordered grades, for example one threshold per grade",
    "exponential": "its gains are 2^grade - 1",
}


def parse_gain(text: str) -> Gain:
    """Return the gain that an option states: `exponential`, `linear`, or numbers with commas, one per grade from 0."""
    if text in ("exponential", "linear"):
        return text
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise GradrankError(
            f"gain {text!r}: not valid. Fix: give exponential, linear, or one number per grade, such as 0,1,3,7"
        ) from None


def with_gains(parts: Sequence[Collection], gain: Gain | None) -> list[Collection]:
    """Return the parts with grades as labels, and with one gain per grade in their conventions.

    parts: the training part and the validation part. Their labels may be any finite numbers from 0. gain: as in
    Convention; with None and "exponential", the parts stay as they are. Raises GradrankError if the gain is not defined
    for a label, or if there are more than 10,000 different labels.
    """
    if gain is None or (isinstance(gain, str) and gain == "exponential"):
        return [*parts]
    levels = np.unique(np.concatenate([[0], *(part.labels for part in parts)]))
    if len(levels) - 1 > MOST_LEVELS:
        raise GradrankError(
            f"the labels have {len(levels) - 1:,} different values, and at most {MOST_LEVELS:,} are possible. Fix: "
            "round the labels"
        )
    are_grades = levels[-1] <= HIGHEST_GRADE and bool(np.all(levels == np.floor(levels)))
    if are_grades:
        levels = np.arange(int(levels[-1]) + 1)
    coded = []
    for part in parts:
        convention = replace(part.convention, gain=gain)
        convention = replace(convention, gain=tuple(convention.gains(levels).tolist()))
        labels = np.searchsorted(levels, part.labels).astype(np.int32)
        values = None if are_grades else levels.astype(np.float64)
        coded.append(replace(part, labels=labels, convention=convention, label_values=values))
    return coded


def check_labels(cls: type[Model], params: ModelParams, train: Collection) -> None:
    """Raise GradrankError if the model cannot learn from the labels or the gains of its training part."""
    reading = cls.label_reading(params)
    if train.gains is None or reading not in REASONS or (reading == "grades" and train.label_values is None):
        return
    given = "labels other than grades from 0 to 31" if train.label_values is not None else "gains"
    raise GradrankError(
        f"{cls.name}: cannot use {given}, because {REASONS[reading]}. Fix: give grades without `gain`, or choose a "
        f"model that accepts gains: {', '.join(models_that_accept(['gains']))}"
    )
