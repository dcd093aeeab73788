"""Queries that two parts share: a model that is tested on what it was trained on looks better than it is."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError

NAMED = 3  # queries in a note


class Contents(NamedTuple):
    """A part's queries: the file, its ids (q,), and a digest (q,) of each query's rows."""

    path: Path
    ids: np.ndarray
    digests: np.ndarray


def query_digests(labels: np.ndarray, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(q,) uint64, equal for queries with the same rows in any order.

    labels: (n,) grades. features: (n, d) float32. counts: (q,) rows of each query.
    """
    draw = np.random.default_rng(0).integers
    factors = draw(0, 2**63, features.shape[1] + 2, np.uint64) | np.uint64(1)
    bits = (features + np.float32(0)).view(np.uint32)  # -0 and 0 are one value
    rows = bits.astype(np.uint64) @ factors[2:] + labels.astype(np.uint64) * factors[0] + factors[1]
    rows ^= rows >> np.uint64(29)  # or sums of rows would depend on the columns' sums alone
    rows *= np.uint64(0xBF58476D1CE4E5B9)
    rows ^= rows >> np.uint64(32)
    return np.add.reduceat(rows, np.r_[0, np.cumsum(counts)[:-1]])


def shared_queries(parts: Mapping[int, Contents], folds: Sequence[Mapping[str, Sequence[int]]]) -> list[str]:
    """A note per two parts that share queries, of parts that stand on two sides of a fold.

    Raises GradrankError where all queries of a file stand in another one, as where the test file is the training file.
    """
    sides = [[(part, split) for split, own in fold.items() for part in own] for fold in folds]
    apart = {tuple(sorted((a, b))) for side in sides for (a, one), (b, other) in combinations(side, 2) if one != other}
    notes = []
    for a, b in sorted(apart):
        one, other = parts[a], parts[b]
        shared = np.isin(other.digests, one.digests)
        count = int(shared.sum())
        if one.path != other.path and (shared.all() or np.isin(one.digests, other.digests).all()):
            raise GradrankError(
                f"{other.path}: every query has the same features and grades as one of {one.path}, so that a model "
                f"would be "
                "tested on what it was trained on. Fix: give a file with other queries"
            )
        if count:
            first = {int(digest): place for place, digest in reversed([*enumerate(one.digests.tolist())])}
            shown = [
                f"{other.ids[place]} ({one.ids[first[int(other.digests[place])]]})"
                for place in np.flatnonzero(shared)[:NAMED]
            ]
            notes.append(
                f"WARNING: {count} of {len(shared)} queries of part {b} ({other.path.name}) have the same features "
                f"and grades "
                f"as queries of part {a} ({one.path.name}), in brackets: "
                f"{', '.join(shown)}{', ..' if count > NAMED else ''}"
            )
    return notes
