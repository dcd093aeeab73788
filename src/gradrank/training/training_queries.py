"""The training part as models learn from it: queries with an order to learn, documents in no telling order."""

import dataclasses

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection


def with_grades_to_order(train: Collection, model: str) -> Collection:
    """The queries of `train` that hold two different grades; from the others there is nothing to learn.

    AdaRank must not see them: a query that no ranker can improve keeps the highest weight for ever.
    Raises GradrankError where none is left.
    """
    return dataclasses.replace(train.select_queries(_mixed(train, model)), pair_source=None)


def with_pairs_to_order(train: Collection, model: str) -> Collection:
    """The same for a model that learns from `train.targets`: the queries that have a pair.

    Raises GradrankError where no pair says which document is the better one.
    """
    return train.select_queries(queries_to_order(train, model))


def queries_to_order(train: Collection, model: str) -> np.ndarray:
    """(q,) whether a query has a pair: documents of two different grades, with ties any two, or one that a user gave.

    Raises GradrankError where no pair says which document is the better one.
    """
    source = train.pair_source
    if source is None or not source.given:
        mixed = _mixed(train, model)
        return np.diff(train.offsets) > 1 if train.ties else mixed
    pairs = source.read()
    if not (pairs.target > 0.5).any():
        raise GradrankError(
            f"{model}: no pair given of the training part says which document is the better one; check the queries of "
            "the file that `pairs` names, or the split"
        )
    return np.bincount(pairs.query, minlength=train.queries) > 0


def _mixed(train: Collection, model: str) -> np.ndarray:
    """(q,) whether a query holds two different grades."""
    if train.queries == 0 or train.rows == 0:
        raise GradrankError(f"{model}: the training part has no query; check the fold")
    mixed = of_two_grades(train)
    if not mixed.any():
        raise GradrankError(
            f"{model}: no query of the training part has documents of two different grades, so there is no "
            f"order to learn; check the labels, or train on more queries"
        )
    return mixed


def of_two_grades(part: Collection) -> np.ndarray:
    """(q,) whether the query holds documents of two different grades."""
    starts = part.offsets[:-1]
    return np.maximum.reduceat(part.labels, starts) > np.minimum.reduceat(part.labels, starts)


def shuffled_within_queries(train: Collection, seed: int) -> Collection:
    """`train` with the documents of each query in random order.

    Measures break ties by file order. Where a file lists relevant documents first (OHSUMED does: a constant
    score has MAP .43), a feature of few values would look as good as that order.
    """
    rows = np.lexsort((np.random.default_rng(seed).random(train.rows), train.query_of_row))
    return dataclasses.replace(train, pair_source=None).take(rows)
