"""The jobs of the study: NDCG of the training queries after each round of LambdaMART."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.stored import StoredCollection
from gradrank.measures.metrics import compute
from gradrank.training.fit import job_seed
from gradrank.training.registry import get_model
from gradrank.training.solvers.boosting import BoostedTrees

METRIC = "ndcg@10"
CONVENTION = "standard_expected"  # after a few trees many documents have equal scores
ROUNDING = 1e-9  # smaller changes of a value are rounding errors
DIGITS = 6  # decimal places in the file of a job


def run_job(settings: Mapping[str, Any], data: Path, seed: int) -> dict[str, Any]:
    """Train LambdaMART on every fold of a data set, and return the changes of its training queries per round.

    The test parts are not read.
    """
    cls, stored = get_model(settings["model"]), StoredCollection.open(data / settings["dataset"])
    folds = []
    for number, parts in enumerate(stored.folds, start=1):
        train, vali = (stored.read(parts[split]) for split in ("train", "vali"))
        fitted = cls.fit(train, vali, cls.Params(), job_seed(seed, settings["dataset"], cls.name, number), _ignore)
        assert isinstance(fitted, BoostedTrees)
        folds.append(changes_of_queries(values_by_round(fitted, train)))
    return {"dataset": settings["dataset"], "folds": folds}


def _ignore(step: int, **values: float) -> None:
    """Ignore the values that a model reports while it is trained."""


def values_by_round(fitted: BoostedTrees, part: Collection) -> np.ndarray:
    """Return the (rounds, q) values of METRIC after each round, for the queries that have a relevant document.

    fitted: a model with one booster.
    """
    (booster,) = fitted.boosters
    scores, rows = np.zeros(part.rows), []
    for number in range(booster.num_trees()):
        scores += np.asarray(booster.predict(part.features, start_iteration=number, num_iteration=1, raw_score=True))
        rows.append(compute([METRIC], scores, part.labels, part.offsets, CONVENTION)[METRIC])
    relevant = np.maximum.reduceat(part.labels, part.offsets[:-1]) > 0
    return np.array(rows)[:, relevant]


def changes_of_queries(values: np.ndarray) -> dict[str, Sequence[float] | float]:
    """Return how the values of queries change from round to round.

    values: (rounds, q). mean: the mean over queries after each round. hurt, helped: the shares of queries whose value
    is lower, or higher, than after the previous round. They begin with the second round. hurt_at_end, helped_at_end:
    the same shares for the last round compared with the first one.
    """
    steps, total = np.diff(values, axis=0), values[-1] - values[0]
    return {
        "mean": np.round(values.mean(axis=1), DIGITS).tolist(),
        "hurt": np.round((steps < -ROUNDING).mean(axis=1), DIGITS).tolist(),
        "helped": np.round((steps > ROUNDING).mean(axis=1), DIGITS).tolist(),
        "hurt_at_end": round(float((total < -ROUNDING).mean()), DIGITS),
        "helped_at_end": round(float((total > ROUNDING).mean()), DIGITS),
    }
