"""Detection of features that may not mean what a user expects: outcomes of the ranking.

An outcome, such as a click or a purchase, is known only after the documents were ranked. A model that is trained on it
has nearly perfect values on the test part, and none of them in use.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gradrank.data.tables.column_names import may_be_outcome

IDEAL_SHARE = 0.9  # of the queries with several grades; at most 0.05 in MQ2007, OHSUMED and Yandex IMAT 2009
LEAST_BITS = 20.0  # a feature of random numbers is reported with a probability below 2^-20
MOST_NAMED = 5
DECLARE = " (`ignore`), and declare the others to be features (`keep`)"


class OrderCounts(NamedTuple):
    """The number of queries that each feature orders ideally, ascending or descending.

    ideal: (2, d) numbers of queries. queries: the number of queries with several grades. bits: the negative binary
    logarithm of the probability that a feature of random numbers orders all these queries ideally.
    """

    ideal: np.ndarray
    queries: int
    bits: float


def order_counts(features: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> OrderCounts:
    """Count the queries that each feature orders ideally: every document above all documents of a lower grade.

    A missing value counts as the lowest in both directions. features: (n, d). labels: (n,) grades. counts: (q,) numbers
    of rows per query.
    """
    if not len(labels):
        return OrderCounts(np.zeros((2, features.shape[1]), np.int64), 0, 0.0)
    query = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((labels, query))
    keys = query[order] * 64 + labels[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    of_group = keys[starts] // 64
    follows = of_group[1:] == of_group[:-1]  # the group has a lower grade of the same query before it
    pairs = of_group[1:][follows]
    if not len(pairs):
        return OrderCounts(np.zeros((2, features.shape[1]), np.int64), 0, 0.0)
    firsts = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]])
    ideal = []
    for sign in (1, -1):
        values = sign * features[order]
        values[np.isnan(values)] = -np.inf
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        is_above = low[1:][follows] > high[:-1][follows]
        ideal.append(np.logical_and.reduceat(is_above, firsts).sum(axis=0))
    factorials = np.r_[0, np.cumsum(np.log2(np.arange(1, counts.max() + 1)))]
    bits = factorials[counts].sum() - factorials[np.diff(np.r_[starts, len(order)])].sum()
    return OrderCounts(np.array(ideal), len(firsts), float(bits))


def feature_warnings(
    names: Sequence[str] | None, declared: Sequence[str] | None, orders: Iterable[OrderCounts], merged: Iterable[int]
) -> list[str]:
    """Return one warning for each fault that some features have: their names, their orders, and their merged values.

    names: the d names of the features, or None if they have numbers. declared: the names that the user declared to be
    features; None if names cannot be declared. orders: the order counts of all queries. merged: the positions of the
    features with merged values.
    """
    found = []
    called = [repr(str(name)) for name in names or () if name not in (declared or ()) and may_be_outcome(name)]
    if called:
        found.append(
            "features are called like outcomes, which are known only after the documents were ranked: "
            f"{_listed(called)}. Fix: leave out those that are{DECLARE if declared is not None else ''}"
        )
    if ideal := list(_ideal(names, orders)):
        found.append(
            "a single feature orders nearly all queries with several grades ideally, as an outcome or a copy of "
            f"the grade does: {_listed(ideal)}. Fix: leave it out, unless it is known before the documents are ranked"
        )
    if equal := [_shown(names, place) for place in merged]:
        found.append(
            f"distinct values become equal in float32, the type of features: {_listed(equal)}. Fix: subtract the "
            "smallest value from the feature, or divide it by a coarser unit"
        )
    return found


def _ideal(names: Sequence[str] | None, orders: Iterable[OrderCounts]) -> Iterator[str]:
    """Yield the features that order nearly all queries ideally, with the number of these queries."""
    counts = [each for each in orders if each.queries]
    if not counts:
        return
    queries = sum(each.queries for each in counts)
    best = np.sum([each.ideal for each in counts], axis=0).max(axis=0)
    if sum(each.bits for each in counts) < LEAST_BITS + np.log2(len(best)):
        return
    for place in np.flatnonzero(best >= IDEAL_SHARE * queries).tolist():
        yield f"{_shown(names, place)} ({best[place]:,} of {queries:,} queries)"


def _shown(names: Sequence[str] | None, place: int) -> str:
    """Return the name of a feature, or its number from 1 if the features have no names."""
    return repr(str(names[place])) if names is not None else f"feature {place + 1}"


def _listed(shown: Sequence[str]) -> str:
    return ", ".join(shown[:MOST_NAMED]) + (f", .. ({len(shown)} in all)" if len(shown) > MOST_NAMED else "")
