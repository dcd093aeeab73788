"""Sums over the crucial pairs of whole queries that never list a pair: sort once, then walk two pointers.

With the documents of each grade sorted by score, the pairs that violate the margin form, for each document,
a prefix or a suffix of every other grade (Lee & Lin 2014, Large-scale linear RankSVM). So all that a Newton
step needs costs O(n log n + L n) for n documents of L grades, not O(pairs). Pairs that no grades imply are listed, and
cost O(pairs).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.data.order import descending
from gradrank.data.pairs import Pairs
from gradrank.training.ndcg_beta import ideal_dcg_beta


@dataclass(frozen=True)
class Grades:
    """The documents of each query grouped by grade, and what a pair of the query weighs.

    rows: (n,) int64 row numbers by (query, grade); group g is rows[starts[g]:starts[g+1]].
    grade: (g,) float64, one a group. first: (q+1,) int64; query q has the groups first[q]:first[q+1].
    weight: (q,) float64, 0 without a crucial pair. A pair weighs weight[q], times its grade gap if by_gap.
    """

    rows: np.ndarray
    starts: np.ndarray
    grade: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    by_gap: bool

    def violations(self, scores: np.ndarray) -> "Sums":
        return partial(violation_sums, self, sort_groups(self, scores), scores)


@dataclass(frozen=True)
class Listed:
    """Preferences one by one. better, worse: (p,) rows of any query; tau: (p,) what each weighs."""

    better: np.ndarray
    worse: np.ndarray
    tau: np.ndarray

    def violations(self, scores: np.ndarray) -> "Sums":
        broken = scores[self.better] - scores[self.worse] < 1.0
        return partial(_listed_sums, *(each[broken] for each in (self.better, self.worse, self.tau)))


# What `violations(scores)` gives: `violation_sums` at these scores, of (n, m) values and a target.
Sums = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def listed(pairs: Pairs, weighting: str, queries: int) -> Listed:
    """Pairs with what they weigh, of probabilities in expectation; `weighting` as of `group_by_grade`, but no `ndcg`.

    Of `query` tau is a pair's share of the weight of its query's pairs.
    """
    own = pairs.directed()
    tau = np.ones(len(own)) if own.weight is None else own.weight
    if weighting == "query":
        tau = tau / np.bincount(own.query, tau, queries)[own.query]
    return Listed(own.better, own.worse, tau)


def listed_by_grade(collection: Collection, weighting: str) -> Listed:
    """The crucial pairs of `collection.pairs` with the weights of `group_by_grade`."""
    grades, pairs = group_by_grade(collection, weighting), collection.pairs
    tau = grades.weight[pairs.query]
    if grades.by_gap:
        tau = tau * (collection.labels[pairs.better] - collection.labels[pairs.worse])
    return Listed(pairs.better, pairs.worse, tau)


def group_by_grade(collection: Collection, weighting: str) -> Grades:
    """Group the documents and weigh the pairs.

    `pair`: tau = 1. `query`: tau = 1 / (crucial pairs of the query). `ndcg`: tau = gap / (K DCG_beta(ideal)),
    K queries with a crucial pair: the summed 0-1 loss is then the mean of 1 - NDCG_beta (Jin et al. 2018).
    """
    query, labels, queries = collection.query_of_row, collection.labels, collection.queries
    rows = np.lexsort((labels, query))
    new_group = np.r_[True, (np.diff(query[rows]) != 0) | (np.diff(labels[rows]) != 0)]
    starts = np.flatnonzero(new_group)
    first = np.searchsorted(query[rows][starts], np.arange(queries + 1))
    sizes = np.diff(np.r_[starts, collection.rows]).astype(np.float64)
    of_group = query[rows][starts]
    documents = np.bincount(of_group, sizes, queries)
    pairs = (documents**2 - np.bincount(of_group, sizes**2, queries)) / 2
    if weighting == "ndcg":
        total = np.count_nonzero(pairs) * ideal_dcg_beta(labels, collection.offsets)
    else:
        total = pairs if weighting == "query" else np.ones(queries)
    return Grades(
        rows=rows,
        starts=np.r_[starts, collection.rows],
        grade=labels[rows][starts].astype(np.float64),
        first=first,
        weight=np.divide(1.0, total, out=np.zeros(queries), where=pairs > 0),
        by_gap=weighting == "ndcg",
    )


def sort_groups(grades: Grades, scores: np.ndarray) -> np.ndarray:
    """(n,) int64 rows by (query, grade, ascending score)."""
    return _sort_groups(grades.rows, grades.starts, scores)


def violation_sums(
    grades: Grades, order: np.ndarray, scores: np.ndarray, values: np.ndarray, target: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sum tau (values_better - values_worse - target) over the pairs with score_better - score_worse < 1.

    order: sort_groups(grades, scores). values: (n, m) float64. Returns the (n, m) sums a document, added
    where it is the better and subtracted where it is the worse, and the (m,) sums over all pairs.
    """
    g = grades
    return _violation_sums(order, g.starts, g.grade, g.first, g.weight, g.by_gap, scores, values, target)


@compiled("i4[:], i4[:], f8[:], f8[:,:], f8")
def _listed_sums(better, worse, tau, values, target):
    width = values.shape[1]
    out, total = np.zeros_like(values), np.zeros(width)
    for p in range(len(better)):
        i, j = better[p], worse[p]
        for c in range(width):
            term = tau[p] * (values[i, c] - values[j, c] - target)
            out[i, c] += term
            out[j, c] -= term
            total[c] += term
    return out, total


@compiled("i8[:], i8[:], f8[:]")
def _sort_groups(rows, starts, scores):
    out = np.empty(len(rows), np.int64)
    for g in range(len(starts) - 1):
        group = rows[starts[g] : starts[g + 1]]
        falling = np.empty(len(group))
        for i in range(len(group)):
            falling[i] = -scores[group[i]]
        for place, i in enumerate(descending(falling)):
            out[starts[g] + place] = group[i]
    return out


@compiled("i8[:], i8[:], f8[:], i8[:], f8[:], b1, f8[:], f8[:,:], f8")
def _violation_sums(order, starts, grade, first, weight, by_gap, scores, values, target):
    width = values.shape[1]
    out, total, running = np.zeros_like(values), np.zeros(width), np.empty(width)
    for q in range(len(first) - 1):
        for high in range(first[q] + 1, first[q + 1]):
            for low in range(first[q], high):
                tau = weight[q] * (grade[high] - grade[low] if by_gap else 1.0)
                # Better documents from the top: their violating worse ones are a growing suffix.
                running[:] = 0.0
                j = starts[low + 1] - 1
                for i in range(starts[high + 1] - 1, starts[high] - 1, -1):
                    better = order[i]
                    while j >= starts[low] and scores[better] - scores[order[j]] < 1.0:
                        running += values[order[j]]
                        j -= 1
                    count = starts[low + 1] - 1 - j
                    for c in range(width):
                        term = tau * (count * (values[better, c] - target) - running[c])
                        out[better, c] += term
                        total[c] += term
                # Worse documents from the bottom: their violating better ones are a growing prefix.
                running[:] = 0.0
                i = starts[high]
                for j in range(starts[low], starts[low + 1]):
                    worse = order[j]
                    while i < starts[high + 1] and scores[order[i]] - scores[worse] < 1.0:
                        running += values[order[i]]
                        i += 1
                    count = i - starts[high]
                    for c in range(width):
                        out[worse, c] -= tau * (running[c] - count * (values[worse, c] + target))
    return out, total
