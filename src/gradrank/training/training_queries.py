"""Preparation of the training part: selection of the queries that have pairs, and shuffling of the documents."""

import dataclasses

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection


def with_grades_to_order(train: Collection, model: str) -> Collection:
    """Return the queries of `train` that have documents of two different grades.

    A query whose documents all have the same grade contains nothing to learn, and AdaRank would give it the highest
    weight in every round. The result has no stored pairs.
    model: name for error messages. Raises GradrankError if no query remains.
    """
    return dataclasses.replace(train.select_queries(_have_two_grades(train, model)), pair_source=None)


def with_pairs_to_order(train: Collection, model: str) -> Collection:
    """Return the queries of `train` that have a pair, for models that learn from `train.targets`.

    model: name for error messages. Raises GradrankError in the cases that `queries_to_order` describes.
    """
    return train.select_queries(queries_to_order(train, model))


def queries_to_order(train: Collection, model: str) -> np.ndarray:
    """Return a (q,) mask of the queries that have a pair.

    If the user gives a file of pairs, the pairs in this file count. Otherwise, a pair consists of two documents of
    different grades or, if `train.ties`, of any two documents. model: name for error messages. Raises GradrankError if
    there is no query, or if no pair prefers one of its two documents.
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
    """Return the mask `have_two_grades(train)`. Raises GradrankError if no query has two different grades."""
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

    Some measures break ties by the order of the file. If a file lists relevant documents first, a feature with few
    distinct values then appears too good. For example, constant scores have MAP .43 on OHSUMED.
    """
    rows = np.lexsort((np.random.default_rng(seed).random(train.rows), train.query_of_row))
    return dataclasses.replace(train, pair_source=None).take(rows)
