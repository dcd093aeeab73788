"""Preparation of the training part: selection of the queries that have pairs, shuffling of the documents, and weights.

Some models cannot use weights. The weight of a query multiplies the cost of the query, so an integer weight has the
same effect as that many copies of the query. Documents of one query can have different weights only in models whose
cost is a sum over documents.
"""

import dataclasses
from dataclasses import replace

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs
from gradrank.training.accepted_data import models_that_accept
from gradrank.training.model import Model
from gradrank.training.registry import models


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


def with_usable_weights(cls: type[Model], train: Collection) -> Collection:
    """Return `train` without the queries whose weights are all 0, and without weights if all others are 1.

    Raises GradrankError if the model `cls` cannot use the weights, or if all weights are 0.
    """
    if train.weights is None:
        return train
    uneven = train.uneven_query
    check_weights(cls, None if uneven is None else train.qids[uneven])
    has_weight = np.maximum.reduceat(train.weights, train.offsets[:-1]) > 0.0
    if not has_weight.any():
        raise GradrankError(f"{cls.name}: all weights of the training part are 0. Fix: give positive weights")
    train = train if has_weight.all() else train.select_queries(has_weight)
    return replace(train, weights=None) if (train.weights == 1.0).all() else train


def check_weights(cls: type[Model], uneven: object = None, where: str = "") -> None:
    """Raise GradrankError if the model `cls` cannot use the weights of its training part.

    uneven: id of a query whose documents have different weights; None if there is no such query. where: the beginning
    of the error message, such as the path of the data.
    """
    if cls.uses_weights is None:
        capable = ", ".join(models_that_accept(["weights"]))
        raise GradrankError(
            f"{where}{cls.name}: does not use weights. Fix: train without weights, or choose models that use them: "
            f"{capable}"
        )
    if uneven is not None and cls.uses_weights == "queries":
        capable = ", ".join(name for name, model in models().items() if model.uses_weights == "documents")
        raise GradrankError(
            f"{where}{cls.name}: query {uneven} has documents of different weights, but this model uses one weight per "
            "query. Fix: give all documents of a query the same weight, or choose models for weights of documents: "
            f"{capable}"
        )


def relative_weights(train: Collection) -> np.ndarray | None:
    """Return the (q,) weights of the queries divided by their mean. None without weights."""
    weights = train.query_weights
    return None if weights is None else weights / weights.mean()


def weighted_pairs(train: Collection) -> Pairs:
    """Return `train.pairs`, whose weights are multiplied by the relative weights of their queries."""
    weights, pairs = relative_weights(train), train.pairs
    if weights is None:
        return pairs
    of_pair = weights[pairs.query]
    return replace(pairs, weight=of_pair if pairs.weight is None else pairs.weight * of_pair)
