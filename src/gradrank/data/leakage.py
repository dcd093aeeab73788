"""Detection of queries that occur in two parts. With such queries, a model would be tested on its training data."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError

MOST_NAMED = 3  # maximum number of queries named in a note


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
                for index in np.flatnonzero(shared)[:MOST_NAMED]
            ]
            notes.append(
                f"WARNING: {count} of {len(shared)} queries of part {b} ({second.path.name}) have the same features "
                f"and grades as queries of part {a} ({first.path.name}), in brackets: "
                f"{', '.join(shown)}{', ..' if count > MOST_NAMED else ''}"
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
