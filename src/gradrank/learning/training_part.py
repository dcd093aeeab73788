"""The training part as models learn from it: queries with an order to learn, documents in no telling order."""

import dataclasses

import numpy as np

from gradrank.data.collection import Collection
from gradrank.errors import GradrankError


def with_grades_to_order(train: Collection, model: str) -> Collection:
    """The queries of `train` that hold two different grades; from the others there is nothing to learn.

    AdaRank must not see them: a query that no ranker can improve keeps the highest weight for ever.
    Raises GradrankError where none is left.
    """
    return dataclasses.replace(_kept(train, _mixed(train, model)), pair_source=None)


def with_pairs_to_order(train: Collection, model: str) -> Collection:
    """The same for a model that learns from `train.targets`: the queries that have a pair.

    Raises GradrankError where no pair says which document is the better one.
    """
    return _kept(train, queries_to_order(train, model))


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
    starts = train.offsets[:-1]
    if train.queries == 0 or train.rows == 0:
        raise GradrankError(f"{model}: the training part has no query; check the fold")
    mixed = np.maximum.reduceat(train.labels, starts) > np.minimum.reduceat(train.labels, starts)
    if not mixed.any():
        raise GradrankError(
            f"{model}: no query of the training part has documents of two different grades, so there is no "
            f"order to learn; check the labels, or train on more queries"
        )
    return mixed


def _kept(train: Collection, queries: np.ndarray) -> Collection:
    """The queries where this (q,) says so."""
    rows, source = queries[train.query_of_row], train.pair_source
    return Collection(
        features=train.features[rows],
        labels=train.labels[rows],
        offsets=np.r_[0, np.cumsum(np.diff(train.offsets)[queries])],
        qids=train.qids[queries],
        pair_source=source and source.of_queries(np.flatnonzero(queries), train.offsets),
    )


def shuffled_within_queries(train: Collection, seed: int) -> Collection:
    """`train` with the documents of each query in random order.

    Measures break ties by file order. Where a file lists relevant documents first (OHSUMED does: a constant
    score has MAP .43), a feature of few values would look as good as that order.
    """
    rows = np.lexsort((np.random.default_rng(seed).random(train.rows), train.query_of_row))
    documents = {"features": train.features[rows], "labels": train.labels[rows]}
    return dataclasses.replace(train, **documents, pair_source=None)
