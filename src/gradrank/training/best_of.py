"""Keep the best on validation: the one loop by which every model chooses an epoch, a round or a grid point."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.model import Callback
from gradrank.training.selection import Criterion

ALWAYS = ("map", "ndcg@10")  # reported besides the criterion


class Candidate(NamedTuple):
    """What a step of the training offers.

    kept: what is kept if this is the best: a model, or the number of rounds that makes one.
    loss: on the training part. None: a round or a grid point, of which the criterion alone is reported.
    scores: (n,) of the validation part. None: `kept` is a model and gives them.
    told: what else the step reports, before its measures.
    """

    kept: Any
    loss: float | None = None
    scores: np.ndarray | None = None
    told: Mapping[str, float] = {}


class Best(NamedTuple):
    """What the best candidate had to be kept (None if there was no candidate), its measure, and the last step."""

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
    """The first of the candidates with the best `select_by` on `vali`, up to `patience` steps without a better.

    `callback` is told of every step, with numbers from `steps_before` + 1 on.
    """
    criteria = {name: Criterion(name, vali.labels, vali.offsets) for name in sorted({*ALWAYS, select_by})}
    best, best_value, best_step, step = None, -np.inf, steps_before, steps_before
    for step, candidate in enumerate(candidates, start=steps_before + 1):
        value = _report(callback, step, candidate, vali, criteria, select_by)
        if value > best_value:
            best, best_value, best_step = candidate.kept, value, step
        elif step - best_step >= patience:
            break
    return Best(best, best_value, step)


def _report(
    callback: Callback,
    step: int,
    candidate: Candidate,
    vali: Collection,
    criteria: Mapping[str, Criterion],
    select_by: str,
) -> float:
    """Tell `callback` of a step; returns its `select_by`."""
    kept, loss, scores, told = candidate
    if scores is None:
        scores = kept.score(vali.features, vali.offsets)
    told_of = [select_by] if loss is None else criteria
    found = {name: criteria[name].mean(scores) for name in told_of}
    losses = {} if loss is None else {"train_loss": loss}
    callback(step, **told, **losses, **{f"vali_{name}": value for name, value in found.items()})
    return found[select_by]
