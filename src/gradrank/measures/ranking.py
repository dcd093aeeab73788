"""Documents in rank order, and the quantities that several metrics share, with their compiled loops.

All arrays of length n are in rank order. offsets: (q+1,) first position of each query, and n as the last element.

The loops for ties in expectation compute means over all orders of the documents with equal scores. A group is a run of
equal scores within one query. groups: (g+1,) first position of each of the g groups, and n as the last element.
position: (n,) ranks from 1 within each query.

Loops that only sort and accumulate are also written for NumPy, on a table with one row per query (QueryTable). They
give the same bits and do without the import of Numba, which takes 0.5 s.
"""

import sys
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gradrank.base.compiled import FEW, compiled
from gradrank.base.errors import GradrankError
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.measures.conventions import Convention

# Status of a document. A pooled document is in the judgements and has no grade; an unjudged one is only in the ranking.
JUDGED, POOLED, UNJUDGED = 0, 1, 2
ROUNDING = 1e-9  # estimated numbers of documents are whole numbers up to this rounding error


@compiled("f8[:], i8[:]", interpreted=FEW)
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


@compiled("f8[:], i8[:]", interpreted=FEW)
def product_before(values, offsets):
    """Return the (n,) float64 products of the values before each position of a query; 1 at the first position."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        total = 1.0
        for i in range(offsets[q], offsets[q + 1]):
            out[i] = total
            total *= values[i]
    return out


@compiled("f8[:], i8[:]", interpreted=FEW)
def best_from_here(values, offsets):
    """Return (n,) float64 maxima: for each position, the largest value at this or a later position of the query."""
    out = np.empty(len(values), np.float64)
    for q in range(len(offsets) - 1):
        best = -np.inf
        for i in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            best = max(best, values[i])
            out[i] = best
    return out


@compiled("i8[:], i8[:], i8", interpreted=FEW)
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


@compiled("f8[:], i8[:]", interpreted=FEW)
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


@compiled("b1[:], i8[:], i8[:]")
def chance_of_first(relevant, position, groups):
    """Return the (n,) float64 probabilities that the first relevant document of the query is at each rank.

    relevant: (n,) booleans. In a group of m documents, of which r are relevant, the first relevant one is at place i,
    from 0, with probability r/(m - i) times the product over j < i of (m - r - j)/(m - j).
    """
    out = np.zeros(len(relevant), np.float64)
    is_done = False
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            is_done = False
        m, r = last - first, 0
        for i in range(first, last):
            r += relevant[i]
        if is_done or r == 0:
            continue
        is_done = True
        going = 1.0
        for i in range(m - r + 1):
            out[first + i] = going * r / (m - i)
            going *= (m - r - i) / (m - i)
    return out


@compiled("b1[:], b1[:], i8[:], i8[:], i8[:]")
def kept_preferences(relevant, other, position, groups, most):
    """Return the (n,) float64 sums, per group at its first position, of 1 - min(o, most)/most over relevant documents.

    o is the number of documents with `other` that are ranked above the relevant document. relevant, other: (n,)
    booleans, which exclude each other. most: (n,) largest number that counts; the summand is 1 if it is 0. In a group
    with a documents with `other`, the number of them above a relevant document is 0, 1, .., a with equal probabilities.
    """
    out = np.zeros(len(relevant), np.float64)
    above = 0
    for g in range(len(groups) - 1):
        first, last = groups[g], groups[g + 1]
        if position[first] == 1:
            above = 0
        r, a = 0, 0
        for i in range(first, last):
            r += relevant[i]
            a += other[i]
        limit = most[first]
        if r > 0:
            total = 0.0
            for extra in range(a + 1):
                total += min(above + extra, limit)
            out[first] = r * (1.0 - total / (a + 1) / limit) if limit > 0 else float(r)
        above += a
    return out


WIDEST = 4  # cells per document up to which NumPy's loops take about the time of the compiled loops
MOST_CELLS = 2_000_000  # cells that NumPy handles in less time than the import of Numba takes


class QueryTable:
    """NumPy's loops over the documents of every query, on a (q, longest query) table with one row per query."""

    def __init__(self, inside: np.ndarray) -> None:
        self.inside = inside  # booleans: True in the cells of documents

    @classmethod
    def of(cls, sizes: np.ndarray) -> "QueryTable | None":
        """Return the table for queries of these sizes, or None if the compiled loops take less time."""
        longest = int(sizes.max(initial=0))
        cells = len(sizes) * longest
        is_small = cells <= WIDEST * sizes.sum() or (cells <= MOST_CELLS and "numba" not in sys.modules)
        return cls(np.arange(longest) < sizes[:, None]) if is_small else None

    def _filled(self, values: np.ndarray, fill: float) -> np.ndarray:
        table = np.full(self.inside.shape, fill)
        table[self.inside] = values
        return table

    def order(self, scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the row numbers that `gradrank.data.order.order` returns."""
        rows = np.argsort(self._filled(-scores, np.inf), axis=1, kind="stable")  # the filling stays behind the scores
        return (rows + offsets[:-1, None])[self.inside]

    def running_sum(self, values: np.ndarray) -> np.ndarray:
        """Return the result of `running_sum`. NumPy adds the numbers of a row one by one, as the compiled loop does."""
        return np.add.accumulate(self._filled(values, 0.0), axis=1)[self.inside]

    def product_before(self, values: np.ndarray) -> np.ndarray:
        """Return the result of `product_before`."""
        table = np.ones(self.inside.shape)
        table[:, 1:] = self._filled(values, 1.0)[:, :-1]
        return np.multiply.accumulate(table, axis=1)[self.inside]

    def best_from_here(self, values: np.ndarray) -> np.ndarray:
        """Return the result of `best_from_here`."""
        return np.maximum.accumulate(self._filled(values, -np.inf)[:, ::-1], axis=1)[:, ::-1][self.inside]


class Ranking:
    """The documents of every query in descending order of score, under one convention.

    scores: (n,) finite numbers. labels: (n,) grades, integers from 0. offsets: (q+1,) first row of each query, and n as
    the last element; every query has at least one document. ids: (n,) document ids, which break ties under
    `ties="docid"`; if None, the row numbers break them. ranked: (n,) booleans, True if the document is in the ranking;
    if None, all documents are in the ranking. A document outside the ranking comes last, and its gain is 0. As in
    trec_eval, such a document still counts in the number of relevant documents and in the ideal DCG. status, stratum:
    (n,) numbers as in Judgements; if None, all documents are judged, and all pooled documents form one stratum.

    Under a convention whose gain is not exponential, grades may be fractions and may exceed 31. The attributes `grades`
    and `judged` are then the positions of the grades in `scale`, the sorted different grades with 0 in front.

    Properties of length n are in rank order within each query. Properties of length q have one value per query. Under a
    convention with `ties="expected"`, gains and hits are means over all orders of the documents with equal scores.

    Raises GradrankError if the arguments do not have these forms.
    """

    def __init__(
        self, scores, labels, offsets, convention: Convention, ids=None, ranked=None, status=None, stratum=None
    ) -> None:
        self.convention = convention
        self.threshold = 1  # lowest position in `scale` of a relevant document
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.starts, self.sizes = self.offsets[:-1], np.diff(self.offsets)
        labels, self.scale = np.asarray(labels), None
        _check(np.asarray(scores), labels, self.offsets, self.sizes, convention.takes_any_grade)
        if convention.takes_any_grade and (labels.dtype.kind == "f" or labels.max(initial=0) > HIGHEST_GRADE):
            self.scale = np.unique(np.r_[0.0, labels])
            labels = np.searchsorted(self.scale, labels)
            self.threshold = self._position(1.0)
        scores = scores if ranked is None else np.where(ranked, scores, -np.inf)
        self._table = QueryTable.of(self.sizes)
        self.rows, self.scores = _sorted_rows(scores, self.offsets, convention.ties, ids, self._table)
        self.judged = labels[self.rows].astype(np.int64)
        self.grades = self.judged if ranked is None else np.where(ranked[self.rows], self.judged, 0)
        self.highest = int(self.judged.max(initial=0))
        self.in_expectation = convention.ties == "expected"
        self.is_ranked = None if ranked is None else np.asarray(ranked)[self.rows]
        self.status = None if status is None else np.asarray(status)[self.rows]
        self.stratum = None if stratum is None else np.asarray(stratum)[self.rows]
        self.is_graded = False  # whether a metric's name has a gain
        self._changed: dict[tuple[object, ...], Ranking] = {}

    def _position(self, rel: float) -> int:
        """Return the lowest value of `grades` that stands for a grade of at least `rel`."""
        return int(np.ceil(rel)) if self.scale is None else int(np.searchsorted(self.scale, rel))

    def changed(
        self, rel: float | None = None, judged_only: bool = False, gain: Any = None, discount: str | None = None
    ) -> "Ranking":
        """Return this ranking with some rules changed. Each combination is computed once.

        rel: lowest grade of a relevant document. judged_only: True to take documents that are not judged out of the
        ranking (the condensed list of Sakai 2007). gain, discount: fields of the convention.
        """
        status = self.status if judged_only else None
        key = (rel, status is not None, gain, discount)
        if key == (None, False, None, None):
            return self
        if key in self._changed:
            return self._changed[key]
        other = copy(self)
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del other.__dict__[name]
        if rel is not None:
            other.threshold = self._position(rel)
        changes = {field: value for field, value in (("gain", gain), ("discount", discount)) if value is not None}
        other.convention = replace(self.convention, **changes)
        other.is_graded = gain is not None
        if status is not None:
            is_out = status != JUDGED
            order = np.lexsort((is_out, np.repeat(np.arange(len(self.sizes)), self.sizes)))
            is_out = is_out[order]
            other.rows, other.judged, other.status = (each[order] for each in (self.rows, self.judged, status))
            other.stratum = None if self.stratum is None else self.stratum[order]
            other.scores = np.where(is_out, -np.inf, self.scores[order])
            other.grades = np.where(is_out, 0, self.grades[order])
            other.is_ranked = ~is_out if self.is_ranked is None else self.is_ranked[order] & ~is_out
        self._changed[key] = other
        return other

    @cached_property
    def is_relevant(self) -> np.ndarray:
        """(n,) booleans: True for relevant documents in the ranking."""
        return self.grades >= self.threshold

    @cached_property
    def utility(self) -> np.ndarray:
        """(n,) values in RBP: 1 for relevant documents, or their gain if the metric's name has a gain."""
        return self.mean_over_ties(self._gain[self.grades] * self.is_relevant if self.is_graded else self.is_relevant)

    @cached_property
    def in_ranking(self) -> np.ndarray:
        """(n,) booleans: True for documents in the ranking."""
        return np.ones(len(self.grades), dtype=bool) if self.is_ranked is None else self.is_ranked

    @cached_property
    def length(self) -> np.ndarray:
        """(q,) number of documents in the ranking."""
        return np.add.reduceat(self.in_ranking, self.starts, dtype=np.int64)

    def graded(self, status: int) -> np.ndarray:
        """Return (n,) booleans: True for the documents with this status (see Judgements)."""
        return np.full(len(self.grades), status == JUDGED) if self.status is None else self.status == status

    @property
    def sampled(self) -> np.ndarray:
        """(n,) booleans: True for judged documents, which are a sample of the pooled ones."""
        return self.graded(JUDGED)

    @property
    def pooled(self) -> np.ndarray:
        """(n,) booleans: True for the documents that the judgements contain, with or without a grade."""
        return self.graded(JUDGED) | self.graded(POOLED)

    @property
    def strata(self) -> int:
        """Number of strata of the pooled documents."""
        return 1 if self.stratum is None else 1 + int(self.stratum.max(initial=0))

    @cached_property
    def cell(self) -> np.ndarray:
        """(n,) number of the query and stratum of each pooled document: query * strata + stratum."""
        query = np.repeat(np.arange(len(self.sizes)), self.sizes) * self.strata
        return query if self.stratum is None else query + self.stratum

    def per_stratum(self, counted: np.ndarray) -> np.ndarray:
        """Return the (q, strata) numbers of documents with True in `counted`, which are pooled."""
        size = len(self.sizes) * self.strata
        return np.bincount(self.cell[counted], minlength=size).reshape(-1, self.strata)

    def weight(self, within: np.ndarray | bool = True) -> np.ndarray:
        """Return (n,) numbers of pooled documents that a judged document of the same stratum stands for.

        within: (n,) booleans; only these documents are counted. The number is 0 without judged documents.
        """
        pooled, sampled = self.per_stratum(self.pooled & within), self.per_stratum(self.sampled & within)
        weights = np.where(sampled > 0, pooled / np.maximum(sampled, 1), 0.0)
        return np.where(self.pooled, weights.ravel()[np.where(self.pooled, self.cell, 0)], 0.0)

    def values_of(self, grades: np.ndarray) -> np.ndarray:
        """Return the grades themselves for positions in `scale`."""
        return grades if self.scale is None else self.scale[grades]

    @cached_property
    def first(self) -> np.ndarray:
        """(n,) probability that the first relevant document is at each rank: 0 or 1 unless ties are in expectation."""
        groups = self.groups if self.in_expectation else np.arange(len(self.grades) + 1)
        return chance_of_first(self.is_relevant, self.position, groups)

    @cached_property
    def preferences(self) -> np.ndarray:
        """(q,) sums of bpref over the relevant documents in the ranking (see `kept_preferences`)."""
        other = self.graded(JUDGED) & (self.judged < self.threshold)
        most = np.minimum(np.add.reduceat(other, self.starts, dtype=np.int64), self.relevant)
        groups = self.groups if self.in_expectation else np.arange(len(self.grades) + 1)
        is_above = other & self.in_ranking
        return self.total(
            kept_preferences(self.is_relevant, is_above, self.position, groups, np.repeat(most, self.sizes))
        )

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
            return self.running_sum(self.mean_over_ties(self.is_relevant))
        hits = np.cumsum(self.is_relevant)
        return hits - np.repeat(hits[self.starts] - self.is_relevant[self.starts], self.sizes)

    @cached_property
    def retrieved(self) -> np.ndarray:
        """(q,) number of relevant documents in the ranking."""
        return np.add.reduceat(self.is_relevant, self.starts, dtype=np.int64)

    @cached_property
    def relevant(self) -> np.ndarray:
        """(q,) number of relevant documents, including those outside the ranking."""
        return np.add.reduceat(self.judged >= self.threshold, self.starts, dtype=np.int64)

    def hit(self, m: int | np.ndarray) -> np.ndarray:
        """Return the (q,) positions, from 0 to n - 1, of the m-th relevant document of each query.

        m: an integer from 1, or (q,) integers. If a query has fewer than m relevant documents, its position is
        arbitrary.
        """
        places = np.append(np.flatnonzero(self.is_relevant), 0)
        return places[np.minimum(np.cumsum(self.retrieved) - self.retrieved + m, len(places)) - 1]

    @cached_property
    def precision(self) -> np.ndarray:
        """(n,) hits / position."""
        return self.hits / self.position

    @cached_property
    def precision_at_hits(self) -> np.ndarray:
        """(n,) precision at the ranks of relevant documents, and 0 at all other ranks."""

        if self.in_expectation:
            return expected_precision_at_hits(self.is_relevant, self.position, self.groups)
        return np.where(self.is_relevant, self.precision, 0.0)

    @cached_property
    def reciprocal_rank(self) -> np.ndarray:
        """(q,) reciprocal of the rank of the first relevant document; 0 for queries without relevant documents."""

        if self.in_expectation:
            return expected_reciprocal_rank(self.is_relevant, self.position, self.groups, self.offsets)
        return np.where(self.retrieved > 0, 1.0 / self.position[self.hit(1)], 0.0)

    @cached_property
    def ideal_grades(self) -> np.ndarray:
        """(n,) grades in descending order within each query."""
        if self._table is None:
            return sorted_grades(self.judged, self.offsets, self.highest)
        levels = self.highest + 1
        first = np.repeat(np.arange(len(self.sizes)) * levels, self.sizes)
        return self.highest - (np.sort(first + (self.highest - self.judged)) - first)

    @cached_property
    def dcg(self) -> np.ndarray:
        """(n,) DCG at each rank i: the sum of gain * discount over ranks 1 to i (Järvelin and Kekäläinen 2002)."""
        return self._discounted(self.mean_over_ties(self._gain[self.grades]))

    @cached_property
    def ideal_dcg(self) -> np.ndarray:
        """(n,) DCG at each rank of the ideal order."""
        gain = self._gain
        if np.all(gain[1:] >= gain[:-1]):
            return self._discounted(gain[self.ideal_grades])
        order = np.argsort(gain, kind="stable")  # a higher grade may have a lower gain
        ideal = sorted_grades(np.argsort(order)[self.judged], self.offsets, self.highest)
        return self._discounted(gain[order][ideal])

    @cached_property
    def inferred_ideal_dcg(self) -> np.ndarray:
        """(q,) DCG of the ideal order of the documents that the sampled ones stand for (Yilmaz et al. 2008).

        The documents of a grade begin after the estimated number of those with higher gains, which may be a fraction.
        """
        queries, levels = len(self.sizes), self.highest + 1
        sampled, pooled = self.per_stratum(self.sampled), self.per_stratum(self.pooled)
        cell = (self.cell * levels + self.judged)[self.sampled]
        order = 1 + np.argsort(-self._gain[1:], kind="stable")  # the grades above 0, by descending gain
        counts = np.bincount(cell, minlength=queries * self.strata * levels)
        counts = counts.reshape(queries, self.strata, levels)[:, :, order]
        estimated = (counts * (pooled / np.maximum(sampled, 1))[:, :, None]).sum(axis=1)
        before = np.cumsum(estimated, axis=1) - estimated
        documents = np.floor(estimated + ROUNDING).astype(np.int64).ravel()
        place = np.arange(documents.sum()) - np.repeat(np.cumsum(documents) - documents, documents)
        terms = np.repeat(np.tile(self._gain[order], queries), documents)
        terms = terms * self._discount(np.repeat(before.ravel(), documents) + place + 1)
        of_query = np.repeat(np.arange(queries), documents.reshape(queries, levels - 1).sum(axis=1))
        return np.bincount(of_query, terms, queries)

    @cached_property
    def best_precision(self) -> np.ndarray:
        """(n,) values: for each rank, the highest precision at this or a later rank of the query."""
        if self._table is None:
            return best_from_here(self.precision, self.offsets)
        return self._table.best_from_here(self.precision)

    @cached_property
    def err(self) -> np.ndarray:
        """(n,) ERR at each rank: the expected reciprocal rank in the cascade model of Chapelle et al. 2009."""

        levels = self._levels
        if levels[-1] > HIGHEST_GRADE:
            raise GradrankError(f"ERR: grade {levels[-1]:g} is above {HIGHEST_GRADE}. Fix: give smaller grades")
        highest = max(self.convention.max_grade or 0, levels[-1])
        stop = ((2.0**levels - 1.0) / 2.0**highest)[self.grades]
        if self.in_expectation:
            return self.running_sum(expected_stops(stop, self.position, self.groups) / self.position)
        going = (
            product_before(1.0 - stop, self.offsets) if self._table is None else self._table.product_before(1.0 - stop)
        )
        return self.running_sum(going * stop / self.position)

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
        return self.convention.gains(self._levels)

    @property
    def _levels(self) -> np.ndarray:
        """(highest grade + 1,) grades for which the values of `grades` stand."""
        return np.arange(self.highest + 1) if self.scale is None else self.scale

    @cached_property
    def inferred_dcg(self) -> np.ndarray:
        """(q,) estimated DCG: the DCG of the judged documents, which stand for the pooled ones of their stratum."""
        if self.stratum is None:
            pooled, judged = (
                self.per_stratum(self.pooled & self.in_ranking),
                self.per_stratum(self.sampled & self.in_ranking),
            )
            return self.at(self.dcg, self.sizes) * (pooled / np.maximum(judged, 1))[:, 0]
        gains = self._gain[self.grades] * self.weight(self.in_ranking)
        return self.at(self._discounted(self.mean_over_ties(gains)), self.sizes)

    def _discounted(self, gains: np.ndarray) -> np.ndarray:
        """Return (n,) sums: for each rank i, the sum of the discounted gains over ranks 1 to i."""
        discount = self._discount(np.arange(1, self.sizes.max(initial=0) + 1))
        return self.running_sum(gains * discount[self.position - 1])

    def _discount(self, ranks: np.ndarray) -> np.ndarray:
        """Return the discounts of ranks from 1, which may be fractions."""
        return 1.0 / np.log2(np.maximum(ranks, 2) if self.convention.discount == "letor" else ranks + 1)

    def running_sum(self, values: np.ndarray) -> np.ndarray:
        """Return the (n,) cumulative sums of (n,) values within each query."""
        return running_sum(values, self.offsets) if self._table is None else self._table.running_sum(values)

    def at(self, values: np.ndarray, k: int | np.ndarray) -> np.ndarray:
        """Return the (q,) values at rank k of each query, or at the last rank of a query with fewer documents."""
        return values[self.starts + np.minimum(k, self.sizes) - 1]

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the (q,) sums of the (n,) values over each query.

        The terms are added in rank order. With NumPy's sums, the rounding would depend on the neighbouring queries.
        """
        return self.running_sum(values)[self.offsets[1:] - 1]

    def ratio(self, part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Return part / whole. Where `whole` is 0, the result is the value `empty` of the convention."""
        return np.divide(part, whole, out=np.full(len(whole), float(self.convention.empty)), where=whole > 0)


def _check(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, sizes: np.ndarray, takes_any_grade: bool
) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or np.any(sizes < 1):
        raise GradrankError("offsets must start at 0 and increase: every query needs at least one document")
    if not len(scores) == len(labels) == offsets[-1]:
        raise GradrankError(f"{len(scores)} scores and {len(labels)} labels for {offsets[-1]} documents")
    if not np.all(np.isfinite(scores)):
        raise GradrankError(f"score {np.flatnonzero(~np.isfinite(scores))[0]} (counted from 0) is not a finite number")
    if takes_any_grade and np.all((labels >= 0) & np.isfinite(labels)):
        return
    if np.any(labels < 0) or np.any(labels != np.floor(labels)):
        raise GradrankError("labels must be non-negative integers")


def _sorted_rows(
    scores, offsets: np.ndarray, ties: str, ids, table: QueryTable | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n,) row numbers in rank order, and the (n,) scores in the same order."""
    from gradrank.data.order import order

    if ties == "docid":
        scores = np.asarray(scores, dtype=np.float32)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    rows = order(scores, offsets) if table is None else table.order(scores, offsets)
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
