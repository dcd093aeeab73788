"""Pairs of documents of one query, with the target probability that the first document ranks above the second.

The crucial pairs are the pairs of documents with different grades. The better document comes first, and the target is
1. With ties, documents of equal grade are pairs as well, with target 1/2. A user's file may contain other pairs (see
data/pair_files.py): preferences without grades, targets that are shares of judges, or preferences that form a cycle.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.data.order import row_ranges
from gradrank.data.part_files import GIVEN, GRADES, HALF, OMIT, PAIRS, PartFolder

COLUMNS = ("better", "worse", "query", "target", "weight")


@dataclass(frozen=True)
class Pairs:
    """Pairs, sorted by query, then by better document, then by worse document.

    Parameters
    ----------
    better, worse
        (p,) int32 row numbers within a Collection. The document `better` should rank above `worse` with probability 1/2
        or more.
    query
        (p,) int32 positions of the queries in that Collection.
    target
        (p,) float64 probabilities, from 1/2 to 1, that `better` should rank above `worse`; None if all are 1.
    weight
        (p,) float64 factors above 0, by which the costs of the pairs are multiplied; None if all are 1.
    """

    better: np.ndarray
    worse: np.ndarray
    query: np.ndarray
    target: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.better)

    def of_queries(self, queries: np.ndarray, offsets: np.ndarray) -> "Pairs":
        """Return the pairs of some queries. Rows and queries are numbered as if there were no other queries.

        queries: (k,) positions of the queries, in the order of the result. offsets: the (q+1,) offsets of the
        Collection to which the pairs belong.
        """
        first, last = np.searchsorted(self.query, queries, "left"), np.searchsorted(self.query, queries, "right")
        chosen, ends = row_ranges(first, last)
        query = np.repeat(np.arange(len(queries), dtype=np.int32), np.diff(ends))
        starts = np.r_[0, np.cumsum(np.diff(offsets)[queries])]
        shift = (starts[:-1] - offsets[queries]).astype(np.int32)[query]
        target, weight = (None if values is None else values[chosen] for values in (self.target, self.weight))
        return Pairs(self.better[chosen] + shift, self.worse[chosen] + shift, query, target, weight)

    def directed(self) -> "Pairs":
        """Return the pairs as preferences with target 1.

        A pair with target P becomes two opposite preferences. Their weights are P and 1 - P times the weight of the
        pair, and preferences with weight 0 are left out. For any cost function of preferences, the cost of the result
        is the expected cost of a single preference per pair, drawn with the target probability.
        """
        if self.target is None:
            return self
        better, worse = np.concatenate([self.better, self.worse]), np.concatenate([self.worse, self.better])
        weight = np.concatenate([self.target, 1.0 - self.target])
        if self.weight is not None:
            weight *= np.tile(self.weight, 2)
        query = np.tile(self.query, 2)
        order = np.lexsort((worse, better, query))
        order = order[weight[order] > 0.0]
        return Pairs(better[order], worse[order], query[order], None, weight[order])


@dataclass(frozen=True)
class PairSource:
    """Stored pairs that are read on request.

    Parameters
    ----------
    given
        True if the pairs come from a user's file. If False, the pairs follow from the grades and `ties`, so a cost
        function that sums over grades does not need the list of pairs.
    ties
        True if documents of equal grade are pairs with target 1/2.
    read
        A function that reads the pairs.
    """

    given: bool
    ties: bool
    read: Callable[[], Pairs]

    def of_queries(self, queries: np.ndarray, offsets: np.ndarray) -> "PairSource":
        """Return a source for the pairs of some queries, with the arguments of `Pairs.of_queries`.

        No pairs are read.
        """
        return PairSource(self.given, self.ties, lambda: self.read().of_queries(queries, offsets))


def crucial_pairs(labels: np.ndarray, offsets: np.ndarray, ties: bool = False) -> Pairs:
    """Return all crucial pairs: the pairs of documents of one query with different grades.

    labels: (n,) grades >= 0. offsets: (q+1,) offsets of the queries.

    With `ties`, any two documents of equal grade form one pair as well, in file order and with target probability 1/2
    (Burges et al. 2005).
    """
    labels, offsets = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(offsets, np.int64)
    counts = pair_counts(labels, offsets, ties)
    return _pairs(labels, offsets, counts, 0, len(counts), ties)


def pair_batches(labels: np.ndarray, offsets: np.ndarray, ties: bool, most: int) -> Iterator[Pairs]:
    """Yield the crucial pairs in batches of whole queries.

    A batch has at most `most` pairs, or is a single query with more pairs. The other arguments are those of
    `crucial_pairs`.
    """
    counts = pair_counts(labels, offsets, ties)
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        before = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, before + most, side="right")))
        yield _pairs(labels, offsets, counts, start, stop, ties)
        start = stop


def _pairs(labels: np.ndarray, offsets: np.ndarray, counts: np.ndarray, start: int, stop: int, ties: bool) -> Pairs:
    """Return the crucial pairs of the queries start..stop-1. counts: the (q,) numbers of pairs per query."""
    first = np.r_[0, np.cumsum(counts[start:stop])]
    better, worse = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    _fill(labels, offsets[start : stop + 1], first, ties, better, worse)
    target = np.where(labels[better] == labels[worse], 0.5, 1.0) if ties else None
    return Pairs(better, worse, np.repeat(np.arange(start, stop, dtype=np.int32), counts[start:stop]), target)


@compiled("i8[:], i8[:], b1")
def pair_counts(labels, offsets, ties):
    """Return the (q,) int64 numbers of pairs per query.

    A query with n documents has n(n-1)/2 pairs. Unless `ties` is True, pairs of equal grade are not counted.
    """
    counts = np.zeros(len(offsets) - 1, np.int64)
    highest = 0
    for label in labels:
        highest = max(highest, label)
    for q in range(len(counts)):
        of_grade = np.zeros(highest + 1, np.int64)  # number of documents so far, per grade
        for i in range(offsets[q], offsets[q + 1]):
            before = i - offsets[q]
            counts[q] += before if ties else before - of_grade[labels[i]]
            of_grade[labels[i]] += 1
    return counts


@compiled("i8[:], i8[:], i8[:], b1, i4[:] out, i4[:] out")
def _fill(labels, offsets, first, ties, better, worse):
    """Write the pairs to `better` and `worse`. The pairs of query q begin at index first[q]."""
    for q in range(len(offsets) - 1):
        a, b, p = offsets[q], offsets[q + 1], first[q]
        for i in range(a, b):
            for j in range(a, b):
                gap = labels[i] - labels[j]
                if gap > 0 or (ties and gap == 0 and i < j):
                    better[p], worse[p] = i, j
                    p += 1


class StoredPairs(PartFolder):
    """The pairs of a stored collection: a folder of Parquet files and the pairs.json that describes them."""

    DESCRIPTION_FILE: ClassVar[str] = PAIRS
    COMMAND: ClassVar[str] = "pairs"
    ENTRIES: ClassVar[Mapping[str, type]] = {"targets": str}
    PART_ENTRIES: ClassVar[Mapping[str, type]] = {"pairs": int, "of": str}

    @property
    def specification(self) -> dict[str, Any]:
        """A dict with the entry `pairs` of a job's specification. It is empty for the crucial pairs without ties."""
        settings = {key: value for key, value in self.description.items() if key != "parts"}
        return {} if settings in ({}, {"targets": GRADES, "ties": OMIT}) else {"pairs": settings}

    def source(self, collection: PartFolder, parts: Sequence[int]) -> PairSource:
        """Return a source for the pairs of some parts of `collection`. No pairs are read until the source is used.

        The parts are concatenated in the order of `parts`, and rows and queries are counted from the first part on, as
        in `StoredCollection.read`.

        Raises GradrankError if the pairs were computed from other rows. If a file of pairs is missing or damaged,
        GradrankError is raised when the pairs are read.
        """
        for part in parts:
            if self.part(part)["of"] != collection.part(part)["sha256"]:
                raise GradrankError(
                    f"{self.path}: the pairs of part {part} were computed from other rows than those in "
                    f"{collection.path}. Fix: run `gradrank pairs` again"
                )
        given, ties = self.description.get("targets") == GIVEN, self.description.get("ties") == HALF
        # Columns of ones are not read, because in a large collection they would take as much memory as the pairs
        # themselves.
        columns = COLUMNS if given else COLUMNS[:4] if ties else COLUMNS[:3]
        return PairSource(given, ties, lambda: self._read(collection, parts, columns))

    def _read(self, collection: PartFolder, parts: Sequence[int], columns: Sequence[str]) -> Pairs:
        import polars as pl

        tables, shift = [], {"better": 0, "worse": 0, "query": 0}
        for part in parts:
            table = pl.scan_parquet(self.part_file(part)).select(columns)
            tables.append(table.with_columns(pl.col(name) + pl.lit(start, pl.Int32) for name, start in shift.items()))
            counts = collection.part(part)
            shift = {name: shift[name] + counts["queries" if name == "query" else "rows"] for name in shift}
        table = pl.concat(tables).collect()
        return Pairs(*(table[name].to_numpy(writable=True) for name in columns))
