"""Sums over the crucial pairs that violate the margin, computed without listing the pairs.

Crucial pairs are pairs of documents of one query with different grades. A pair violates the margin if the better
document does not score at least 1 higher than the worse document. Let the documents of each grade be sorted by score,
and consider one document of a different grade. The documents of a grade with which this document violates the margin
are then a prefix or a suffix (Lee & Lin 2014, Large-scale linear RankSVM). So the sums for a Newton step take
O(n log n + L n) for n documents of L grades, not O(pairs). Pairs from the user's file are stored as a list, and their
sums take O(pairs).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.data.order import descending
from gradrank.training.ndcg_beta import ideal_dcg_beta


@dataclass(frozen=True)
class GradeGroups:
    """The documents of each query grouped by grade, and the weights of the crucial pairs.

    rows: (n,) int64 row numbers, sorted by query and grade. starts: (groups + 1,) int64; group g has the documents
    rows[starts[g]:starts[g+1]].
    grade: (groups,) float64, the grade of each group. first: (q+1,) int64; query i has the groups first[i]:first[i+1].
    weight: (q,) float64, the weight of each pair of a query. The weight is 0 if the query has no crucial pair.
    by_gap: whether the weight of a pair is also multiplied by its grade difference.
    """

    rows: np.ndarray
    starts: np.ndarray
    grade: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    by_gap: bool

    def violations(self, scores: np.ndarray) -> "Sums":
        """Return a function of values and target that calls `violation_sums` with the (n,) scores."""
        return partial(violation_sums, self, sort_groups(self, scores), scores)


@dataclass(frozen=True)
class WeightedPairs:
    """A list of pairs. better, worse: (p,) int32 row numbers. tau: (p,) float64 weights."""

    better: np.ndarray
    worse: np.ndarray
    tau: np.ndarray

    def violations(self, scores: np.ndarray) -> "Sums":
        """Return a function of values and target. It computes the sums of `violation_sums` over the listed pairs."""
        violated = scores[self.better] - scores[self.worse] < 1.0
        return partial(_listed_sums, self.better[violated], self.worse[violated], self.tau[violated])


# A function from (n, m) values and a target to the sums that `violation_sums` returns.
Sums = Callable[[np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def weight_pairs(collection: Collection, weighting: str) -> WeightedPairs:
    """Convert the pairs `collection.pairs` to preferences with the weights tau.

    A pair with target P becomes two preferences, whose weights have the factors P and 1 - P. weighting: if `pair`, tau
    is the weight of the preference. If `query`, tau is this weight divided by the total weight of the query's
    preferences. In both cases, tau is multiplied by the weight of the query.
    """
    preferences = collection.pairs.directed()
    tau = np.ones(len(preferences)) if preferences.weight is None else preferences.weight
    if weighting == "query":
        tau = tau / np.bincount(preferences.query, tau, collection.queries)[preferences.query]
    if collection.query_weights is not None:
        tau = tau * collection.query_weights[preferences.query]
    return WeightedPairs(preferences.better, preferences.worse, tau)


def weight_crucial_pairs(collection: Collection, weighting: str) -> WeightedPairs:
    """Return the crucial pairs `collection.pairs` with the weights tau of `group_by_grade`."""
    grades, pairs = group_by_grade(collection, weighting), collection.pairs
    tau = grades.weight[pairs.query]
    if grades.by_gap:
        tau = tau * (collection.labels[pairs.better] - collection.labels[pairs.worse])
    return WeightedPairs(pairs.better, pairs.worse, tau)


def group_by_grade(collection: Collection, weighting: str) -> GradeGroups:
    """Return the documents grouped by grade, with the weights tau of the crucial pairs.

    The weights depend on `weighting`:

        pair: tau = 1
        query: tau = 1 / (number of crucial pairs of the query)
        ndcg: tau = (grade difference) / (K DCG_beta(ideal)), where K is the number of queries with a crucial pair. The
            sum of tau over the inverted pairs is then the mean of 1 - NDCG_beta (Jin et al. 2018).

    tau is multiplied by the weight of the query, and K is then the sum of these weights.
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
    weights = np.ones(queries) if collection.query_weights is None else collection.query_weights
    if weighting == "ndcg":
        total = weights[pairs > 0].sum() * ideal_dcg_beta(labels, collection.offsets)
    else:
        total = pairs if weighting == "query" else np.ones(queries)
    return GradeGroups(
        rows=rows,
        starts=np.r_[starts, collection.rows],
        grade=labels[rows][starts].astype(np.float64),
        first=first,
        weight=np.divide(weights, total, out=np.zeros(queries), where=pairs > 0),
        by_gap=weighting == "ndcg",
    )


def sort_groups(grades: GradeGroups, scores: np.ndarray) -> np.ndarray:
    """Return the (n,) int64 row numbers, sorted by query, grade and ascending score."""
    return _sort_groups(grades.rows, grades.starts, scores)


def violation_sums(
    grades: GradeGroups, order: np.ndarray, scores: np.ndarray, values: np.ndarray, target: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of tau (values_better - values_worse - target) over the pairs with score_better - score_worse < 1.

    order: sort_groups(grades, scores). scores: (n,) float64. values: (n, m) float64.

    The first result contains the (n, m) sums per document. The term of a pair is added for its better document and
    subtracted for its worse document. The second result contains the (m,) sums over all pairs.
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
                # As the better document's score falls, the worse documents that violate the margin are a growing
                # suffix.
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
                # As the worse document's score rises, the better documents that violate the margin are a growing
                # prefix.
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
