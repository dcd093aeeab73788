"""Value against processor time: the combinations on the Pareto front, and what a budget of seconds buys.

The seconds are those of the trials: processor time of a training on one fold and of the scores of its validation part.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradrank.bench.tuning.selection import JUDGED

if TYPE_CHECKING:
    import polars as pl

Name = TypeVar("Name", str, tuple[str, str])

BUDGETS = (1.0, 10.0, 100.0)  # seconds per tuner and fold


def seconds_per_training(trials: "Sequence[pl.DataFrame]") -> float:
    """Return the mean processor time of a training on one fold. trials: one table per tuner."""
    return float(np.mean(np.concatenate([table["seconds"].to_numpy() for table in trials])))


def front(values: Mapping[Name, tuple[float, float]]) -> list[Name]:
    """Return the names on the Pareto front, fastest first.

    values: for each name, its value and its seconds. A name is on the front if no other name is at least as fast, has
    at least the same value, and is better in one of the two. Values and seconds are compared to nine decimals, so that
    the last bits of a mean decide nothing.
    """
    rounded = {name: (round(value, 9), round(seconds, 9)) for name, (value, seconds) in values.items()}
    found: list[Name] = []
    for name in sorted(rounded, key=lambda name: (rounded[name][1], -rounded[name][0], name)):
        last = rounded[found[-1]] if found else None
        if last is None or rounded[name][0] > last[0] or rounded[name] == last:
            found.append(name)
    return found


def best_within(trials: "Sequence[pl.DataFrame]", seconds: float) -> float | None:
    """Return the mean over folds and tuners of the best validation NDCG@10 within `seconds` of processor time.

    A tuner tries its configurations one after the other on each fold, and the trials that end within the time count.
    Returns None if every trial of a fold takes longer or fails.
    """
    best = []
    for table in trials:
        for rows in table.sort("fold", "trial").partition_by("fold", maintain_order=True):
            ended = rows.filter(rows["seconds"].cum_sum() <= seconds).drop_nulls(JUDGED)
            best.append(ended[JUDGED].max())
    return None if None in best else float(np.mean(np.array(best, dtype=np.float64)))


def budget_rows(trials: "Mapping[tuple[str, str], Sequence[pl.DataFrame]]") -> list[dict[str, Any]]:
    """Return one row per budget and scorer: the loss with the highest validation NDCG@10, and this value.

    trials: the tables of the tuners by scorer and loss. If every loss needs more time, the row has None
    as loss and value.
    """
    rows = []
    for seconds in BUDGETS:
        for scorer in dict.fromkeys(scorer for scorer, _ in trials):
            values = {loss: best_within(own, seconds) for (name, loss), own in trials.items() if name == scorer}
            finished = {loss: value for loss, value in values.items() if value is not None}
            best = max(finished, key=finished.__getitem__, default=None)
            row = {"seconds": seconds, "scorer": scorer, "finished": len(finished), "loss": best}
            rows.append(row | {"validation": None if best is None else finished[best]})
    return rows
