"""Weights of the training part, and which models can use them.

The weight of a query multiplies the cost of the query, so an integer weight has the same effect as that many copies of
the query. Documents of one query can have different weights only in models whose cost is a sum over documents.
"""

from dataclasses import replace

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs
from gradrank.training.model import Model
from gradrank.training.registry import models


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
        capable = ", ".join(name for name, model in models().items() if model.uses_weights)
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
