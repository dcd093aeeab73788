"""The criteria for the selection of models on the validation part: MAP and NDCG@k.

The criteria always follow the convention `letor4_expected`, which averages over all orders of equal scores. Therefore
the convention of the report (`evaluation` in params.yaml) can change without retraining. The order of documents in the
file can reveal their relevance, but it has no influence on the criteria. A test compares these implementations with the
metrics of the report.

This module uses NumPy only, because importing Numba takes longer than most selections.
"""

import math
import re

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.training.score_checks import check_scores

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # the names that `Criterion` accepts, as a pattern for the parameter `select_by`


class Criterion:
    """`map` or `ndcg@k` on one part of the data. Quantities that do not depend on the scores are computed once."""

    def __init__(self, name: str, labels: np.ndarray, offsets: np.ndarray) -> None:
        """Create the criterion `name` with (n,) grades and the (q+1,) offsets of the queries.

        Raises GradrankError if `name` is not a criterion.
        """
        self.cutoff = None if name == "map" else _cutoff(name)
        self.labels, self.offsets, self.sizes = labels, offsets, np.diff(offsets)
        self.queries = len(self.sizes)
        self.query = np.repeat(np.arange(self.queries), self.sizes)
        self.short_query = self.query.astype(np.min_scalar_type(self.queries))
        self.place = np.arange(len(labels)) - offsets[:-1][self.query]
        if self.cutoff is None:
            self.relevant = self._summed(self.query, labels > 0)
            self.earlier = np.cumsum(self.relevant) - self.relevant  # relevant documents of all previous queries
            self.best = self.relevant
        else:
            self.top = np.flatnonzero(self.place < self.cutoff)
            self.discount = 1.0 / np.log2(np.maximum(self.place[self.top] + 1.0, 2.0))
            self.best = self._gained(self._gain(labels[self._ranked(labels)[0]]))

    def mean(self, scores: np.ndarray) -> float:
        """Return the mean of the criterion over queries under the convention `letor4_expected`. Higher is better.

        Raises InvalidScores if the scores are invalid.
        """
        values = self._values(scores, in_expectation=True)
        if self.cutoff is not None:
            values[self.sizes < self.cutoff] = 0.0
        return math.fsum(values) / max(len(values), 1)

    def per_query(self, scores: np.ndarray) -> np.ndarray:
        """Return the (q,) values of AP or NDCG@k, one per query, which AdaRank and coordinate ascent optimise.

        There are two differences from `mean`. The value of a query with n < k documents is NDCG@n instead of 0, because
        a constant cannot guide the training. Documents with equal scores keep the order of the file, as in the
        published implementations of these methods. Raises InvalidScores if the scores are invalid.
        """
        return self._values(scores, in_expectation=False)

    def _values(self, scores: np.ndarray, in_expectation: bool) -> np.ndarray:
        scores = check_scores(scores, len(self.labels), "scores for the criterion")
        rows, groups = self._ranked(scores, in_file_order=not in_expectation)
        ranked = self.labels[rows]
        if not in_expectation or len(groups) == len(ranked):
            gained = self._precisions(ranked) if self.cutoff is None else self._gained(self._gain(ranked))
        elif self.cutoff is None:
            gained = self._expected_precisions(ranked, groups)
        else:
            gained = self._gained(_over_groups(self._gain(ranked), groups))
        return np.divide(gained, self.best, out=np.zeros(self.queries), where=self.best > 0)

    def _ranked(self, scores: np.ndarray, in_file_order: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n,) row numbers by descending score within each query, and the groups of equal scores.

        The groups are returned as the (g,) positions of their first rows. in_file_order: whether documents with equal
        scores keep the order of the file; otherwise their order is arbitrary. The rows are sorted first by score, and
        then by query with a stable radix sort. These are the two fastest sorts of NumPy.
        """
        falling = np.negative(scores, dtype=np.float64)
        rows = ascending(falling)
        rows = rows[np.argsort(self.short_query[rows], kind="stable")]
        ranked, begins = falling[rows], self.place == 0
        begins[1:] |= ranked[1:] != ranked[:-1]
        groups = np.flatnonzero(begins)
        if in_file_order and len(groups) < len(rows):
            before = (np.cumsum(begins) - 1) * len(rows)
            rows = np.sort(before + rows) - before
        return rows, groups

    def _precisions(self, ranked: np.ndarray) -> np.ndarray:
        """Return the (q,) sums of P@i over the ranks i of relevant documents (grade >= 1).

        ranked: (n,) grades in rank order, query by query.
        """
        at = np.flatnonzero(ranked > 0)
        query = self.query[at]
        hits = np.arange(1, len(at) + 1) - self.earlier[query]
        return self._summed(query, hits / (self.place[at] + 1.0))

    def _expected_precisions(self, ranked: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the (q,) expected sums of P@i over the ranks i of relevant documents, for ties in random order.

        In a group of m equal scores with r relevant documents, the document at place i (from 0) is relevant with
        probability r/m. If it is relevant, the expected number of relevant documents before it in the group is
        i (r - 1)/(m - 1).
        """
        sizes = np.diff(groups, append=len(ranked))
        relevant = np.add.reduceat(ranked > 0, groups, dtype=np.int64)
        before = np.cumsum(relevant) - relevant - self.earlier[self.query[groups]]
        slope = (relevant - 1) / np.maximum(sizes - 1, 1)
        chance, before, slope, first = (
            np.repeat(values, sizes) for values in (relevant / sizes, before, slope, self.place[groups])
        )
        hits = before + 1.0 + (self.place - first) * slope
        return self._summed(self.query, chance * hits / (self.place + 1.0))

    @staticmethod
    def _gain(labels: np.ndarray) -> np.ndarray:
        return np.ldexp(1.0, labels) - 1.0

    def _gained(self, gains: np.ndarray) -> np.ndarray:
        """Return the (q,) values of DCG@min(k, n) for (n,) gains in rank order, query by query.

        The discount is 1 at ranks 1 and 2, and 1/log2(rank) at later ranks.
        """
        return self._summed(self.query[self.top], gains[self.top] * self.discount)

    def _summed(self, query: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the (q,) sums of `values` within each query. query: number of the query of each value."""
        return np.bincount(query, values, self.queries)


def measure(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Return the mean over queries of `map` or `ndcg@k` under the convention `letor4_expected`. Higher is better.

    scores: (n,). labels: (n,) grades. offsets: (q+1,). Raises GradrankError if `criterion` is not a criterion or the
    scores are invalid.
    """
    return Criterion(criterion, labels, offsets).mean(scores)


def _over_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return (n,) values, each replaced by the mean of its group. groups: positions at which the groups begin."""
    sizes = np.diff(groups, append=len(values))
    return np.repeat(np.add.reduceat(values, groups) / sizes, sizes)


def _cutoff(criterion: str) -> int:
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: unknown. Fix: use 'map' or 'ndcg@K', as in 'ndcg@10'")
    return int(match.group(1))


def ascending(values: np.ndarray) -> np.ndarray:
    """Return the positions of (n,) values in ascending order. The order of equal values is arbitrary."""
    return np.argsort(values)
