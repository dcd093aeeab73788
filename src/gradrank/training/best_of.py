"""Selection of the best epoch, boosting round or grid point on the validation part, for all models.

The training history has the values that a model reports after each step.
"""

import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from gradrank.data.collection import WHOLE, Collection
from gradrank.training.model import Callback
from gradrank.training.selection import Criterion

if TYPE_CHECKING:
    import polars as pl


class History:
    """The callback of a training job. It records one row per step, and logs the latest row every few seconds.

    job: name of the job in the log. every_seconds: the shortest time between two log lines.
    """

    def __init__(self, job: str, every_seconds: float = 5.0) -> None:
        self.job, self.every = job, every_seconds
        self.rows: list[dict[str, float]] = []
        self.shown = time.monotonic()

    def __call__(self, step: int, **values: float) -> None:
        self.rows.append({"step": int(step), **{key: float(value) for key, value in values.items()}})
        if time.monotonic() - self.shown >= self.every:
            self.shown = time.monotonic()
            shown = "  ".join(f"{key} {value:.4f}" for key, value in values.items())
            print(f"{self.job}: step {step}  {shown}", file=sys.stderr, flush=True)

    def write(self, path: Path) -> None:
        """Write the frame of all steps as Parquet."""
        self.frame().write_parquet(path)

    def frame(self) -> "pl.DataFrame":
        """Return a frame with the column `step` and one column per value. Missing values are null."""
        import polars as pl

        names = list(dict.fromkeys(key for row in self.rows for key in row if key != "step"))
        schema = {"step": pl.Int64} | dict.fromkeys(names, pl.Float64)
        return pl.DataFrame(self.rows, schema=schema)


ALWAYS_REPORTED = ("map", "ndcg@10")  # in addition to the criterion of the selection


class Candidate(NamedTuple):
    """The state of training after one step.

    kept: the object to return if this step is the best: the model, or the number of boosting rounds of the model.
    loss: loss on the training part. If None, `select_by` is the only measure that is reported.
    scores: (n,) scores of the validation part. If None, `kept` is a model and computes the scores.
    reported: further values for the history. They are listed before the loss and the measures.
    """

    kept: Any
    loss: float | None = None
    scores: np.ndarray | None = None
    reported: Mapping[str, float] = {}


@dataclass(frozen=True)
class FrozenStep(Collection):
    """A validation part that selects nothing: training ends after step `step`, whose candidate is kept.

    It is used to train on all labelled data, with the number of steps that an earlier training selected.
    """

    step: int = field(default=1, metadata=WHOLE)

    @classmethod
    def of(cls, vali: Collection, step: int) -> Self:
        """Return `vali` with the number of the step."""
        return cls(**{item.name: getattr(vali, item.name) for item in fields(vali)}, step=step)


class Best(NamedTuple):
    """The result of `best_of`.

    kept: `kept` of the best candidate, or None if there was no candidate. value: value of the criterion for the best
    candidate. step: number of the last step of the training.
    """

    kept: Any
    value: float
    step: int


def best_of(
    candidates: Iterable[Candidate],
    vali: Collection,
    select_by: str,
    callback: Callback,
    patience: float = np.inf,
    steps_before: int = 0,
) -> Best:
    """Return the first candidate with the highest value of `select_by` on `vali`, under the convention of `vali`.

    select_by: `map` or `ndcg@k`. callback: called once per step with the values of this step. patience: number of steps
    without improvement after which the training ends. steps_before: number of earlier steps; the first step has the
    number steps_before + 1. Raises GradrankError if `select_by` is not a criterion or the scores are invalid.
    """
    if isinstance(vali, FrozenStep):
        return _at_step(candidates, vali.step - steps_before, select_by, callback)
    names = sorted({*ALWAYS_REPORTED, select_by})
    criteria = {name: Criterion(name, vali.labels, vali.offsets, vali.convention) for name in names}
    best, best_value, best_step, step = None, -np.inf, steps_before, steps_before
    for step, candidate in enumerate(candidates, start=steps_before + 1):
        value = _report(callback, step, candidate, vali, criteria, select_by)
        if value > best_value:
            best, best_value, best_step = candidate.kept, value, step
        elif step - best_step >= patience:
            break
    return Best(best, best_value, step)


def _at_step(candidates: Iterable[Candidate], last: int, select_by: str, callback: Callback) -> Best:
    """Return candidate number `last`, or the last one if there are fewer.

    The callback gets the number of the step as the value of the criterion, so that a callback that keeps the best step
    keeps this one.
    """
    kept, step = None, 0
    for step, candidate in enumerate(candidates, start=1):
        kept = candidate.kept
        callback(step, **{f"vali_{select_by}": float(step)})
        if step >= last:
            break
    return Best(kept, float(step), step)


def _report(
    callback: Callback,
    step: int,
    candidate: Candidate,
    vali: Collection,
    criteria: Mapping[str, Criterion],
    select_by: str,
) -> float:
    """Pass the values of a step to `callback`, and return the value of `select_by` for this step."""
    kept, loss, scores, reported = candidate
    if scores is None:
        scores = kept.score(vali.features, vali.offsets)
    names = [select_by] if loss is None else criteria
    values = {name: criteria[name].mean(scores) for name in names}
    losses = {} if loss is None else {"train_loss": loss}
    callback(step, **reported, **losses, **{f"vali_{name}": value for name, value in values.items()})
    return values[select_by]
