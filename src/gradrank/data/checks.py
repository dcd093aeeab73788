"""Checks of a collection when it is parsed: weights, queries that occur in two parts, and suspicious features.

A model would be tested on its training data if a query occurred in two parts. A feature may not mean what a user
expects. An outcome, such as a click or a purchase, is known only after the documents were ranked. A model that is
trained on it has nearly perfect values on the test part, and none of them in use.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.tables.roles import may_be_outcome
from gradrank.data.tables.table import DataTable
from gradrank.data.text.text_file import TextFile


def check_training_weights(
    parts: Mapping[int, tuple[TextFile | DataTable, np.ndarray]], folds: Sequence[Mapping[str, Sequence[int]]]
) -> None:
    """Raise GradrankError if all weights of the training part of a fold are 0.

    parts: for each part number, the file that contains the part, and the positions of its queries in that file. folds:
    the part numbers of each split, one dict per fold.
    """
    has_weight = {number: _has_weight(*part) for number, part in parts.items()}
    for fold in folds:
        if not any(has_weight[number] for number in fold["train"]):
            source, queries = parts[fold["train"][0]]
            raise source.error_at(
                queries[0],
                "all weights of the training part that begins here are 0. Fix: give a positive weight to the documents "
                "from which models are to learn",
            )


def uneven_query(sources: Iterable[TextFile | DataTable]) -> str | None:
    """Return the id of the first query whose documents have different weights. None if there is no such query."""
    for source in sources:
        if isinstance(source, DataTable) and source.roles.weight:
            weights = source.frame["weight"].to_numpy()
            uneven = np.maximum.reduceat(weights, source.starts) > np.minimum.reduceat(weights, source.starts)
            if uneven.any():
                return str(source.ids[uneven.argmax()])
    return None


def _has_weight(source: TextFile | DataTable, queries: np.ndarray) -> bool:
    """Return whether a document of some queries has a positive weight. Without weights, return True."""
    if isinstance(source, DataTable) and source.roles.weight:
        return bool(np.maximum.reduceat(source.frame["weight"].to_numpy(), source.starts)[queries].max() > 0.0)
    return True


MOST_QUERIES = 3  # maximum number of queries named in a note


class Contents(NamedTuple):
    """The queries of a part.

    Parameters
    ----------
    path
        The file that contains the part.
    ids
        (q,) query ids.
    digests
        (q,) uint64 digests, as returned by `query_digests`.
    """

    path: Path
    ids: np.ndarray
    digests: np.ndarray


def query_digests(labels: np.ndarray, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the (q,) uint64 digests of the queries. Queries with the same rows in any order have equal digests.

    labels: (n,) grades. features: (n, d) float32. counts: (q,) the number of rows of each query.
    """
    draw = np.random.default_rng(0).integers
    factors = draw(0, 2**63, features.shape[1] + 2, np.uint64) | np.uint64(1)
    bits = (features + np.float32(0)).view(np.uint32)  # adding 0 turns -0 into 0
    rows = bits.astype(np.uint64) @ factors[2:] + labels.astype(np.uint64) * factors[0] + factors[1]
    rows ^= rows >> np.uint64(29)  # without this mixing of bits, the sum over rows would depend only on the column sums
    rows *= np.uint64(0xBF58476D1CE4E5B9)
    rows ^= rows >> np.uint64(32)
    return np.add.reduceat(rows, np.r_[0, np.cumsum(counts)[:-1]])


def shared_queries(parts: Mapping[int, Contents], folds: Sequence[Mapping[str, Sequence[int]]]) -> list[str]:
    """Return one note for each pair of parts that share queries and belong to different splits of a fold.

    parts: a dict from part number to the queries of the part. folds: the part numbers of each split, one dict per fold.

    Raises GradrankError if all queries of one part are also in a part from a different file, for example if the test
    file is a copy of the training file. Also raises GradrankError if two files share a query with its id.
    """
    notes = []
    for a, b in sorted(_separate_parts(folds)):
        first, second = parts[a], parts[b]
        shared = np.isin(second.digests, first.digests)
        count = int(shared.sum())
        if first.path != second.path and (shared.all() or np.isin(first.digests, second.digests).all()):
            raise GradrankError(
                f"{second.path}: every query has the same features and grades as a query of {first.path}, so a model "
                "would be tested on its training data. Fix: give a file with other queries"
            )
        if count and first.path != second.path:
            _check_ids(first, second)
        if count:
            position = {int(digest): index for index, digest in reversed([*enumerate(first.digests.tolist())])}
            shown = [
                f"{second.ids[index]} ({first.ids[position[int(second.digests[index])]]})"
                for index in np.flatnonzero(shared)[:MOST_QUERIES]
            ]
            notes.append(
                f"WARNING: {count} of {len(shared)} queries of part {b} ({second.path.name}) have the same features "
                f"and grades as queries of part {a} ({first.path.name}), in brackets: "
                f"{', '.join(shown)}{', ..' if count > MOST_QUERIES else ''}"
            )
    return notes


def _check_ids(first: Contents, second: Contents) -> None:
    """Raise GradrankError if two files contain a query with the same id, features and grades."""
    queries = set(zip(first.ids.tolist(), first.digests.tolist(), strict=True))
    for query in zip(second.ids.tolist(), second.digests.tolist(), strict=True):
        if query in queries:
            raise GradrankError(
                f"{second.path}: query {query[0]} is in {first.path} too, with the same rows, so a model would be "
                "selected or tested on a query that it was trained or selected on. Fix: remove the query from one of "
                "the two files"
            )


def _separate_parts(folds: Sequence[Mapping[str, Sequence[int]]]) -> set[tuple[int, int]]:
    """Return all pairs of parts, as ascending part numbers, that are in different splits of at least one fold."""
    splits = [[(part, split) for split, parts in fold.items() for part in parts] for fold in folds]
    return {
        (min(a, b), max(a, b))
        for fold in splits
        for (a, split), (b, other_split) in combinations(fold, 2)
        if split != other_split
    }


IDEAL_SHARE = 0.9  # of the queries with several grades; at most 0.05 in MQ2007, OHSUMED and Yandex IMAT 2009
LEAST_BITS = 20.0  # a feature of random numbers is reported with a probability below 2^-20
MOST_FEATURES = 5
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
    return ", ".join(shown[:MOST_FEATURES]) + (f", .. ({len(shown)} in all)" if len(shown) > MOST_FEATURES else "")
