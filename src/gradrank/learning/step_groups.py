"""What stochastic gradient descent takes a step along: a query with its pairs, or one pair."""

from typing import NamedTuple

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.pairs import Pairs, crucial_pairs, pair_counts


class Listed(NamedTuple):
    """A list of pairs, group after group: group g has starts[g]:starts[g+1], whose documents are counted within it."""

    starts: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    target: np.ndarray
    weight: np.ndarray


class Groups(NamedTuple):
    """Group g is the documents rows[offsets[g]:offsets[g+1]] and their pairs, shares[g] in number or weight.

    listed: the pairs; None: those of the grades.
    """

    rows: np.ndarray
    offsets: np.ndarray
    shares: np.ndarray
    listed: Listed | None = None


def groups(train: Collection, ties: bool, by_pair: bool) -> Groups:
    """The queries of a training part, or with `by_pair` its pairs; `ties`: of grades also those of equal ones.

    A pair is a group of share 1, whatever it weighs: its weight is the length of its step.
    """
    targets = train.targets
    if targets is not train.labels:
        return _pair_by_pair(targets) if by_pair else _query_by_query(targets, train)
    if by_pair:
        rows = pair_rows(crucial_pairs(train.labels, train.offsets, ties))[0]
        return Groups(rows.ravel(), np.arange(0, rows.size + 1, 2), np.ones(len(rows), np.int64))
    return Groups(np.arange(train.rows), train.offsets, pair_counts(train.labels, train.offsets, ties))


def _pair_by_pair(pairs: Pairs) -> Groups:
    rows, order = pair_rows(pairs)
    starts, worse = np.arange(len(pairs) + 1), (rows[:, 0] == pairs.better[order]).astype(np.int64)
    listed = Listed(starts, 1 - worse, worse, pairs.target[order], pairs.weight[order])
    return Groups(rows.ravel(), 2 * starts, np.ones(len(pairs)), listed)


def _query_by_query(pairs: Pairs, train: Collection) -> Groups:
    starts = np.searchsorted(pairs.query, np.arange(train.queries + 1))
    better, worse = (end - train.offsets[pairs.query] for end in (pairs.better, pairs.worse))
    weights = np.bincount(pairs.query, pairs.weight, train.queries)
    listed = Listed(starts, better, worse, pairs.target, pairs.weight)
    return Groups(np.arange(train.rows), train.offsets, weights, listed)


def pair_rows(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """(p, 2) int64 rows of the pairs, in file order both within a pair and from pair to pair, and (p,) that order."""
    rows = np.sort(np.stack([pairs.better, pairs.worse], axis=1).astype(np.int64), axis=1)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    return rows[order], order
