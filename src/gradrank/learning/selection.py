"""The criterion by which every model is selected on the validation part.

Fixed to the `letor4` convention on purpose: how results are reported (metrics.py, params `evaluation`) can
change without changing what was trained. A test holds both implementations together.

NumPy alone: to load a compiler takes longer than most models' choices do, and many need none otherwise.
"""

import math
import re

import numpy as np

from gradrank.errors import GradrankError
from gradrank.learning.scores import checked

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # what `Criterion` knows: the pattern of every `select_by`


class Criterion:
    """`map` or `ndcg@k` on one part: what does not depend on scores is counted once."""

    def __init__(self, name: str, labels: np.ndarray, offsets: np.ndarray) -> None:
        """labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion."""
        self.cutoff = None if name == "map" else _cutoff(name)
        self.labels, self.offsets, self.sizes = labels, offsets, np.diff(offsets)
        self.queries, self.longest = len(self.sizes), int(max(self.sizes, default=0))
        self.query = np.repeat(np.arange(self.queries), self.sizes)
        self.start = offsets[:-1][self.query]
        self.place = np.arange(len(labels)) - self.start
        if self.cutoff is None:
            self.relevant = self._summed(self.query, labels > 0)
            self.earlier = np.cumsum(self.relevant) - self.relevant  # relevant documents of queries before
            self.best = self.relevant
        else:
            self.top = np.flatnonzero(self.place < self.cutoff)
            self.discount = 1.0 / np.log2(np.maximum(self.place[self.top] + 1.0, 2.0))
            self.best = self._gained(labels[self._rows(labels)])

    def mean(self, scores: np.ndarray) -> float:
        """Mean over queries under `letor4` of (n,) scores; higher is better."""
        values = self.per_query(scores)
        if self.cutoff is not None:
            values[self.sizes < self.cutoff] = 0.0
        return math.fsum(values) / max(len(values), 1)

    def per_query(self, scores: np.ndarray) -> np.ndarray:
        """(q,) AP or NDCG@k of each query, which AdaRank and coordinate ascent optimise.

        Differs from `mean` in one case: a query of fewer than k documents has NDCG@n here, not 0, because a
        measure that no order can change says nothing about how to train. Raises WrongScores for scores that are
        none.
        """
        ranked = self.labels[self._rows(checked(scores, len(self.labels), "scores to be judged"))]
        gained = self._precisions(ranked) if self.cutoff is None else self._gained(ranked)
        return np.divide(gained, self.best, out=np.zeros(self.queries), where=self.best > 0)

    def _rows(self, scores: np.ndarray) -> np.ndarray:
        """(n,) row numbers by descending score within each query; ties keep file order.

        One number stands for query, score and place in the file: to sort these is the fastest, and no two are alike.
        """
        _, level = np.unique(-scores.astype(np.float64), return_inverse=True)
        keys = (self.query * len(scores) + level) * self.longest + self.place
        keys.sort()
        return keys % max(self.longest, 1) + self.start

    def _precisions(self, ranked: np.ndarray) -> np.ndarray:
        """(q,) sum over relevant (grade >= 1) ranks i of P@i."""
        at = np.flatnonzero(ranked > 0)
        query = self.query[at]
        hits = np.arange(1, len(at) + 1) - self.earlier[query]
        return self._summed(query, hits / (self.place[at] + 1.0))

    def _gained(self, ranked: np.ndarray) -> np.ndarray:
        """(q,) DCG@min(k, n): gain 2^y - 1; discount 1 at ranks 1 and 2, then 1/log2(rank)."""
        gain = np.ldexp(1.0, ranked[self.top]) - 1.0
        return self._summed(self.query[self.top], gain * self.discount)

    def _summed(self, query: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(q,) sums of each query's values, one after the other."""
        return np.bincount(query, values, self.queries)


def measure(criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> float:
    """Mean over queries of `map` or `ndcg@k` under `letor4`; higher is better.

    scores: (n,); labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another criterion.
    """
    return Criterion(criterion, labels, offsets).mean(scores)


def _cutoff(criterion: str) -> int:
    match = re.fullmatch(r"ndcg@([1-9]\d*)", criterion)
    if match is None:
        raise GradrankError(f"selection criterion {criterion!r}: expected 'map' or 'ndcg@K', as in 'ndcg@10'")
    return int(match.group(1))
