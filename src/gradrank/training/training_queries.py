"""Preparation of the training part: selection of the queries that have pairs, and shuffling of their documents."""

import dataclasses

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection


def with_grades_to_order(train: Collection, model: str) -> Collection:
    """Return the queries of `train` that have documents of two different grades.

    The other queries contain nothing to learn, and AdaRank would give them the highest weight in every round.
    model: name for error messages. Raises GradrankError if no query remains.
    """
    return dataclasses.replace(train.select_queries(_have_two_grades(train, model)), pair_source=None)


def with_pairs_to_order(train: Collection, model: str) -> Collection:
    """Return the queries of `train` that have a pair, for models that learn from `train.targets`.

    model: name for error messages. Raises GradrankError as `queries_to_order` does.
    """
    return train.select_queries(queries_to_order(train, model))


def queries_to_order(train: Collection, model: str) -> np.ndarray:
    """Return a (q,) mask of the queries that have a pair.

    A pair is a pair of the user's file, if there is one. Otherwise it consists of two documents of different grades or,
    with ties, of any two documents. model: name for error messages. Raises GradrankError if there is no query, or if no
    pair prefers one of its documents.
    """
    source = train.pair_source
    if source is None or not source.given:
        mixed = _have_two_grades(train, model)
        return np.diff(train.offsets) > 1 if train.ties else mixed
    pairs = source.read()
    if pairs.target is not None and not (pairs.target > 0.5).any():
        raise GradrankError(
            f"{model}: no pair of the training part has a target above 1/2, so there is no preference to learn. "
            "Fix: correct the queries in the file named by `pairs` in params.yaml, or change the split"
        )
    return np.bincount(pairs.query, minlength=train.queries) > 0


def _have_two_grades(train: Collection, model: str) -> np.ndarray:
    """Return `have_two_grades(train)`; raise GradrankError if it is empty or nowhere true."""
    if train.queries == 0 or train.rows == 0:
        raise GradrankError(f"{model}: the training part has no query. Fix: correct the folds of the data set")
    mixed = have_two_grades(train)
    if not mixed.any():
        raise GradrankError(
            f"{model}: no query of the training part has documents of two different grades, so there is no order to "
            "learn. Fix: correct the labels, or train on more queries"
        )
    return mixed


def have_two_grades(part: Collection) -> np.ndarray:
    """Return a (q,) mask of the queries that have documents of two different grades."""
    starts = part.offsets[:-1]
    return np.maximum.reduceat(part.labels, starts) > np.minimum.reduceat(part.labels, starts)


def shuffled_within_queries(train: Collection, seed: int) -> Collection:
    """Return `train` with the documents of each query in random order and without stored pairs.

    Measures break ties by the order of the file. If a file lists relevant documents first, a feature with few distinct
    values therefore appears too good: on OHSUMED, constant scores have MAP .43.
    """
    rows = np.lexsort((np.random.default_rng(seed).random(train.rows), train.query_of_row))
    return dataclasses.replace(train, pair_source=None).take(rows)
