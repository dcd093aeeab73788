"""LETOR's protocol, shared by the models: learn from the training part, choose by a measure of the validation part."""

import dataclasses

import numpy as np

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError
from gradrank.learning.model import Callback

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # what gradrank.learning.selection can measure


def with_grades_to_order(train: Collection, model: str) -> Collection:
    """The queries of `train` that hold two different grades; from the others there is nothing to learn.

    AdaRank must not see them: a query that no ranker can improve keeps the highest weight for ever.
    Raises GradrankError where none is left.
    """
    starts = train.offsets[:-1]
    if train.queries == 0 or train.rows == 0:
        raise GradrankError(f"{model}: the training part has no query; check the fold")
    mixed = np.maximum.reduceat(train.labels, starts) > np.minimum.reduceat(train.labels, starts)
    if not mixed.any():
        raise GradrankError(
            f"{model}: no query of the training part has documents of two different grades, so there is no "
            f"order to learn; check the labels, or train on more queries"
        )
    rows = mixed[train.query_of_row]
    return dataclasses.replace(
        train,
        features=train.features[rows],
        labels=train.labels[rows],
        offsets=np.r_[0, np.cumsum(np.diff(train.offsets)[mixed])],
        qids=train.qids[mixed],
        stored_pairs=None,
    )


def report(
    callback: Callback, step: int, loss: float, scores: np.ndarray, vali: Collection, select_by: str
) -> float:
    """Tell `callback` the training loss and the measures of the validation `scores`; returns `select_by`."""
    from gradrank.learning.selection import measure

    criteria = sorted({"map", "ndcg@10", select_by})
    found = {name: measure(name, scores, vali.labels, vali.offsets) for name in criteria}
    callback(step, train_loss=loss, **{f"vali_{name}": value for name, value in found.items()})
    return found[select_by]
