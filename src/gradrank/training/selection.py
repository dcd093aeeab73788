"""The criterion by which every model is selected on the validation part.

Fixed to the `letor4` convention on purpose, in expectation over the orders of equal scores: how results are
reported (metrics.py, params `evaluation`) can change without changing what was trained, and no choice is made by
the file's order, which may know what is relevant. A test holds both implementations together.

NumPy alone: to load a compiler takes longer than most models' choices do, and many need none otherwise.
"""

import math
import re

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.training.score_checks import checked

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # what `Criterion` knows: the pattern of every `select_by`


class Criterion:
    """`map` or `ndcg@k` on one part: what does not depend on scores is counted once."""

    def __init__(self, name: str, labels: np.ndarray, offsets: np.ndarray) -> None:
        """labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion."""
        self.cutoff = None if name == "map" else _cutoff(name)
        self.labels, self.offsets, self.sizes = labels, offsets, np.diff(offsets)
        self.queries = len(self.sizes)
        self.query = np.repeat(np.arange(self.queries), self.sizes)
        self.short_query = self.query.astype(np.min_scalar_type(self.queries))
        self.place = np.arange(len(labels)) - offsets[:-1][self.query]
        if self.cutoff is None:
            self.relevant = self._summed(self.query, labels > 0)
            self.earlier = np.cumsum(self.relevant) - self.relevant  # relevant documents of queries before
            self.best = self.relevant
        else:
            self.top = np.flatnonzero(self.place < self.cutoff)
            self.discount = 1.0 / np.log2(np.maximum(self.place[self.top] + 1.0, 2.0))
            self.best = self._gained(self._gain(labels[self._ranked(labels)[0]]))

    def mean(self, scores: np.ndarray) -> float:
        """Mean over queries under `letor4_expected` of (n,) scores; higher is better."""
        values = self._values(scores, in_expectation=True)
        if self.cutoff is not None:
            values[self.sizes < self.cutoff] = 0.0
        return math.fsum(values) / max(len(values), 1)

    def per_query(self, scores: np.ndarray) -> np.ndarray:
        """(q,) AP or NDCG@k of each query, which AdaRank and coordinate ascent optimise.

        Differs from `mean` in two cases: a query of fewer than k documents has NDCG@n here, not 0, because a
        measure that no order can change says nothing about how to train; and equal scores keep file order, as in the
        programs that these methods were published with. Raises WrongScores for scores that are none.
        """
        return self._values(scores, in_expectation=False)

    def _values(self, scores: np.ndarray, in_expectation: bool) -> np.ndarray:
        scores = checked(scores, len(self.labels), "scores to be judged")
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
        """(n,) row numbers by descending score within each query; where each run of equal scores begins.

        All rows are sorted by score, then by query with a radix sort, which keeps that order: NumPy's fastest two.
        Equal scores come in any order, or in the file's.
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
        """(q,) sum over relevant (grade >= 1) ranks i of P@i."""
        at = np.flatnonzero(ranked > 0)
        query = self.query[at]
        hits = np.arange(1, len(at) + 1) - self.earlier[query]
        return self._summed(query, hits / (self.place[at] + 1.0))

    def _expected_precisions(self, ranked: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """(q,) expected sum over relevant ranks i of P@i.

        Of a group of m with r relevant, place i from 0 is relevant with probability r/m, and i (r - 1)/(m - 1) of those
        before it in the group are.
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
        """(q,) DCG@min(k, n) of (n,) gains by rank: discount 1 at ranks 1 and 2, then 1/log2(rank)."""
        return self._summed(self.query[self.top], gains[self.top] * self.discount)

    def _summed(self, query: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(q,) sums of each query's values, one after the other."""
        return np.bincount(query, values, self.queries)


def measure(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Mean over queries of `map` or `ndcg@k` under `letor4_expected`; higher is better.

    scores: (n,); labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion.
    """
    return Criterion(criterion, labels, offsets).mean(scores)


def _over_groups(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(n,) the mean over each group, at each of its places."""
    sizes = np.diff(groups, append=len(values))
    return np.repeat(np.add.reduceat(values, groups) / sizes, sizes)


def _cutoff(criterion: str) -> int:
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: expected 'map' or 'ndcg@K', as in 'ndcg@10'")
    return int(match.group(1))


def ascending(values: np.ndarray) -> np.ndarray:
    """Return the positions of (n,) values in ascending order, equal values in any order: NumPy's fastest sort."""
    return np.argsort(values)
