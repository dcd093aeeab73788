"""Documents in rank order, and the quantities that several metrics share, with their compiled loops.

All arrays of length n are in rank order. offsets: (q+1,) first position of each query, and n as the last element.

The loops for ties in expectation compute means over all orders of the documents with equal scores. A group is a run of
equal scores within one query. groups: (g+1,) first position of each of the g groups, and n as the last element.
position: (n,) ranks from 1 within each query.
"""

from functools import cached_property

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.measures.conventions import Convention


@compiled("f8[:], i8[:]")
def running_sum(values, offsets):
    """Return the (n,) float64 cumulative sums of (n,) values within each query.

    The sum restarts at 0 in each query, so that the rounding in one query does not depend on other queries.
    """
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 0.0
        for i in range(offsets[q], offsets[q + 1]):
            total += values[i]
            out[i] = total
    return out


@compiled("f8[:], i8[:]")
def product_before(values, offsets):
    """Return the (n,) float64 products of the values before each position of a query; 1 at the first position."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            out[i] = total
            total *= values[i]
    return out


@compiled("f8[:], i8[:]")
def best_from_here(values, offsets):
    """Return (n,) float64 maxima: for each position, the largest value at this or a later position of the query."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        best = -np.inf
        for i in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            best = max(best, values[i])
            out[i] = best
    return out


@compiled("i8[:], i8[:], i8")
def sorted_grades(grades, offsets, highest):
    """Return the (n,) int64 grades in descending order within each query. They are sorted by counting.

    grades: (n,) integers 0..highest.
    """
    out = np.empty_like(grades)
    counts = np.zeros(highest + 1, np.int64)
    for q in range(len(offsets) - 1):
        counts[:] = 0
        for i in range(offsets[q], offsets[q + 1]):
            counts[grades[i]] += 1
        at = offsets[q]
        for grade in range(highest, -1, -1):
            out[at : at + counts[grade]] = grade
            at += counts[grade]
    return out


@compiled("f8[:], i8[:], i8[:], i8")
def pair_counts(scores, grades, offsets, highest):
    """Return three (q,) float64 arrays that count pairs of documents with different grades.

    The first counts the pairs whose scores are in the right order, the second the pairs with equal scores, and the
    third all pairs. scores: (n,) in descending order within each query. grades: (n,) integers 0..highest of the same
    documents. The time is O(n * highest), because the loop keeps the number of documents of each grade seen so far.
    """
    queries = len(offsets) - 1
    right, tied, pairs = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    above, level = np.zeros(highest + 1, np.int64), np.zeros(highest + 1, np.int64)
    for q in range(queries):
        above[:], level[:] = 0, 0
        for i in range(offsets[q], offsets[q + 1]):
            if i > offsets[q] and scores[i] != scores[i - 1]:
                above += level
                level[:] = 0
            grade = grades[i]
            for other in range(highest + 1):
                if other == grade:
                    continue
                pairs[q] += above[other] + level[other]
                tied[q] += level[other]
                if other > grade:
                    right[q] += above[other]
            level[grade] += 1
    return right, tied, pairs


@compiled("f8[:], i8[:]")
def group_means(values, groups):
    """Return the (n,) float64 means of the (n,) values over the group of each position."""
    out = np.empty(len(values), np.float64)
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        total = 0.0
        for i in range(first, last):
            total += values[i]
        out[first:last] = total / (last - first)
    return out


@compiled("b1[:], i8[:], i8[:]")
def expected_precision_at_hits(relevant, position, groups):
    """Return the (n,) float64 expectations of P@i at relevant documents, with 0 in place of P@i at other documents.

    Their sum over a query with R relevant documents is R times the expected average precision. relevant: (n,) booleans.
    Consider a group of m documents, of which r are relevant, after `above` relevant documents in earlier groups. Its
    i-th document is relevant with probability r/m. If it is relevant, the expected number of relevant documents among
    the i - 1 documents before it in the group is (i - 1)(r - 1)/(m - 1) (McSherry and Najork 2008).
    """
    out = np.empty(len(relevant), np.float64)
    above = 0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            above = 0
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        slope = (r - 1.0) / (m - 1.0) if m > 1 else 0.0
        for i in range(first, last):
            out[i] = r / m * (above + 1.0 + (i - first) * slope) / position[i]
        above += r
    return out


@compiled("b1[:], i8[:], i8[:], i8[:]")
def expected_reciprocal_rank(relevant, position, groups, offsets):
    """Return the (q,) float64 expectations of 1 / (rank of the first relevant document).

    The value is 0 for a query without relevant documents. relevant: (n,) booleans. offsets: (q+1,) as in query_loops.
    """
    out = np.zeros(len(offsets) - 1, np.float64)
    query, is_done = -1, False
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            query, is_done = query + 1, False
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        if is_done or r == 0:
            continue
        is_done = True
        chance = r / m  # probability that the group's first relevant document is at position i, from 0
        for i in range(m - r + 1):
            out[query] += chance / position[first + i]
            if i < m - r:
                chance *= (m - r - i) / (m - 1.0 - i)
    return out


@compiled("f8[:], i8[:], i8[:]")
def expected_stops(stop, position, groups):
    """Return the (n,) float64 expected probabilities that the reader in ERR's cascade model stops at each rank.

    stop: (n,) probability R of stopping at each document. Let M_i be the probability that the reader passes the first i
    documents of a group. M_i is the mean of the product of 1 - R over i documents, taken over all sets of i documents
    of the group. If a document with probability R is added to n others, M_i becomes ((n + 1 - i) M_i + i (1 - R)
    M_{i-1}) / (n + 1). The time for a group of m documents is O(m^2).
    """
    out = np.empty(len(stop), np.float64)
    going = 1.0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            going = 1.0
        m = last - first
        passed = np.zeros(m + 1)
        passed[0] = 1.0
        for n in range(1, m + 1):
            for i in range(n, 0, -1):
                passed[i] = ((n - i) * passed[i] + i * (1.0 - stop[first + n - 1]) * passed[i - 1]) / n
        for i in range(m):
            out[first + i] = going * (passed[i] - passed[i + 1])
        going *= passed[m]
    return out


class Ranking:
    """The documents of every query in descending order of score, under one convention.

    scores: (n,) finite numbers. labels: (n,) grades, integers from 0. offsets: (q+1,) first row of each query, and n as
    the last element; every query has at least one document. ids: (n,) document ids, which break ties under
    `ties="docid"`; if None, the row numbers break them. ranked: (n,) booleans, True if the document is in the ranking;
    if None, all documents are in the ranking. A document outside the ranking comes last, and its gain is 0. As in
    trec_eval, such a document still counts in the number of relevant documents and in the ideal DCG.

    Properties of length n are in rank order within each query. Properties of length q have one value per query. Under a
    convention with `ties="expected"`, gains and hits are means over all orders of the documents with equal scores.

    Raises GradrankError if the arguments do not have these forms.
    """

    def __init__(self, scores, labels, offsets, convention: Convention, ids=None, ranked=None) -> None:
        self.convention = convention
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.starts, self.sizes = self.offsets[:-1], np.diff(self.offsets)
        labels = np.asarray(labels)
        _check(np.asarray(scores), labels, self.offsets, self.sizes)
        scores = scores if ranked is None else np.where(ranked, scores, -np.inf)
        self.rows, self.scores = _sorted_rows(scores, self.offsets, convention.ties, ids)
        self.judged = labels[self.rows].astype(np.int64)
        self.grades = self.judged if ranked is None else np.where(ranked[self.rows], self.judged, 0)
        self.highest = int(self.judged.max(initial=0))
        self.in_expectation = convention.ties == "expected"

    @cached_property
    def groups(self) -> np.ndarray:
        """(g+1,) first position of each of the g runs of equal scores within a query, and n as the last element."""
        return np.flatnonzero(_levels(self.scores, self.offsets))

    def mean_over_ties(self, values: np.ndarray) -> np.ndarray:
        """Return the (n,) values unchanged, or their means over equal scores under `ties="expected"`."""

        return group_means(values, self.groups) if self.in_expectation else values

    @cached_property
    def position(self) -> np.ndarray:
        """(n,) ranks 1, 2, ... within each query."""
        return np.arange(1, len(self.grades) + 1) - np.repeat(self.starts, self.sizes)

    @cached_property
    def hits(self) -> np.ndarray:
        """(n,) number of relevant documents up to and including each rank."""
        if self.in_expectation:
            return self._running_sum(self.mean_over_ties(self.grades > 0))
        hits = np.cumsum(self.grades > 0)
        return hits - np.repeat(hits[self.starts] - (self.grades[self.starts] > 0), self.sizes)

    @cached_property
    def retrieved(self) -> np.ndarray:
        """(q,) number of relevant documents in the ranking."""
        return np.add.reduceat(self.grades > 0, self.starts, dtype=np.int64)

    @cached_property
    def relevant(self) -> np.ndarray:
        """(q,) number of relevant documents, including those outside the ranking."""
        return np.add.reduceat(self.judged > 0, self.starts, dtype=np.int64)

    def hit(self, m: int | np.ndarray) -> np.ndarray:
        """Return the (q,) positions, from 0 to n - 1, of the m-th relevant document of each query.

        m: an integer from 1, or (q,) integers. If a query has fewer than m relevant documents, its position is
        arbitrary.
        """
        places = np.append(np.flatnonzero(self.grades > 0), 0)
        return places[np.minimum(np.cumsum(self.retrieved) - self.retrieved + m, len(places)) - 1]

    @cached_property
    def precision(self) -> np.ndarray:
        """(n,) hits / position."""
        return self.hits / self.position

    @cached_property
    def precision_at_hits(self) -> np.ndarray:
        """(n,) precision at the ranks of relevant documents, and 0 at all other ranks."""

        if self.in_expectation:
            return expected_precision_at_hits(self.grades > 0, self.position, self.groups)
        return np.where(self.grades > 0, self.precision, 0.0)

    @cached_property
    def reciprocal_rank(self) -> np.ndarray:
        """(q,) reciprocal of the rank of the first relevant document; 0 for queries without relevant documents."""

        if self.in_expectation:
            return expected_reciprocal_rank(self.grades > 0, self.position, self.groups, self.offsets)
        return np.where(self.retrieved > 0, 1.0 / self.position[self.hit(1)], 0.0)

    @cached_property
    def ideal_grades(self) -> np.ndarray:
        """(n,) grades in descending order within each query."""

        return sorted_grades(self.judged, self.offsets, self.highest)

    @cached_property
    def dcg(self) -> np.ndarray:
        """(n,) DCG at each rank i: the sum of gain * discount over ranks 1 to i (Järvelin and Kekäläinen 2002)."""
        return self._discounted(self.mean_over_ties(self._gain[self.grades]))

    @cached_property
    def ideal_dcg(self) -> np.ndarray:
        """(n,) DCG at each rank of the ideal order."""
        return self._discounted(self._gain[self.ideal_grades])

    @cached_property
    def best_precision(self) -> np.ndarray:
        """(n,) values: for each rank, the highest precision at this or a later rank of the query."""

        return best_from_here(self.precision, self.offsets)

    @cached_property
    def err(self) -> np.ndarray:
        """(n,) ERR at each rank: the expected reciprocal rank in the cascade model of Chapelle et al. 2009."""

        highest = max(self.convention.max_grade or 0, self.highest)
        stop = ((2.0 ** np.arange(self.highest + 1) - 1.0) / 2.0**highest)[self.grades]
        if self.in_expectation:
            return self._running_sum(expected_stops(stop, self.position, self.groups) / self.position)
        return self._running_sum(product_before(1.0 - stop, self.offsets) * stop / self.position)

    @cached_property
    def pair_counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Three (q,) arrays that count pairs of documents with different grades.

        The first counts the pairs whose scores are in the right order, the second the pairs with equal scores, and the
        third all pairs.
        """

        return pair_counts(self.scores, self.judged, self.offsets, self.highest)

    @cached_property
    def _gain(self) -> np.ndarray:
        """(highest grade + 1,) gain of each grade."""
        levels = np.arange(self.highest + 1)
        return 2.0**levels - 1.0 if self.convention.gain == "exponential" else levels.astype(np.float64)

    def _discounted(self, gains: np.ndarray) -> np.ndarray:
        """Return (n,) sums: for each rank i, the sum of the discounted gains over ranks 1 to i."""
        positions = np.arange(1, self.sizes.max(initial=0) + 1)
        letor = self.convention.discount == "letor"
        discount = 1.0 / np.log2(np.maximum(positions, 2) if letor else positions + 1)
        return self._running_sum(gains * discount[self.position - 1])

    def _running_sum(self, values: np.ndarray) -> np.ndarray:

        return running_sum(values, self.offsets)

    def at(self, values: np.ndarray, k: int | np.ndarray) -> np.ndarray:
        """Return the (q,) values at rank k of each query, or at the last rank of a query with fewer documents."""
        return values[self.starts + np.minimum(k, self.sizes) - 1]

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the (q,) sums of the (n,) values over each query.

        The terms are added in rank order. With NumPy's sums, the rounding would depend on the neighbouring queries.
        """
        return self._running_sum(values)[self.offsets[1:] - 1]

    def ratio(self, part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Return part / whole. Where `whole` is 0, the result is the value `empty` of the convention."""
        return np.divide(part, whole, out=np.full(len(whole), float(self.convention.empty)), where=whole > 0)


def _check(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, sizes: np.ndarray) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or np.any(sizes < 1):
        raise GradrankError("offsets must start at 0 and increase: every query needs at least one document")
    if not len(scores) == len(labels) == offsets[-1]:
        raise GradrankError(f"{len(scores)} scores and {len(labels)} labels for {offsets[-1]} documents")
    if not np.all(np.isfinite(scores)):
        raise GradrankError(f"score {np.flatnonzero(~np.isfinite(scores))[0]} (counted from 0) is not a finite number")
    if np.any(labels < 0) or np.any(labels != np.floor(labels)):
        raise GradrankError("labels must be non-negative integers")


def _sorted_rows(scores, offsets: np.ndarray, ties: str, ids) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n,) row numbers in rank order, and the (n,) scores in the same order."""
    from gradrank.data.order import order

    if ties == "docid":
        scores = np.asarray(scores, dtype=np.float32)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    rows = order(scores, offsets)
    ranked = scores[rows]
    if ties != "docid":
        return rows, ranked
    new_level = _levels(ranked, offsets)
    tied = np.flatnonzero(~(new_level[1:] & new_level[:-1]))
    names = rows[tied] if ids is None else np.unique(np.asarray(ids[rows[tied]]), return_inverse=True)[1]
    rows[tied] = rows[tied][np.lexsort((-names, np.cumsum(new_level[:-1])[tied]))]
    return rows, ranked


def _levels(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return (n+1,) booleans: True at each position where a new score or a new query begins, and at position n.

    scores: (n,) in rank order.
    """
    levels = np.r_[True, scores[1:] != scores[:-1], True]
    levels[offsets] = True
    return levels
