"""The criteria for the selection of models on the validation part: MAP and NDCG@k.

The criteria follow the primary convention of the data set, in expectation over all orders of equal scores. The order of
documents in the file and document ids can reveal their relevance, but they have no influence on the criteria. A test
compares these implementations with the metrics of the report.

This module uses NumPy only, because importing Numba takes longer than most selections.
"""

import math
import re

import numpy as np

from gradrank.base.conventions import LETOR4, Convention, selection_label
from gradrank.base.errors import GradrankError
from gradrank.data.collection import Collection
from gradrank.training.score_checks import check_scores

CRITERION = r"^(map|ndcg@[1-9]\d*)$"  # the names that `Criterion` accepts, as a pattern for the parameter `select_by`


class Criterion:
    """`map` or `ndcg@k` on one part of the data. Quantities that do not depend on the scores are computed once."""

    def __init__(self, name: str, labels: np.ndarray, offsets: np.ndarray, convention: Convention = LETOR4) -> None:
        """Create the criterion `name` with (n,) grades and the (q+1,) offsets of the queries.

        convention: the primary convention of the data set, which is `Collection.convention`. Raises GradrankError if
        `name` is not a criterion.
        """
        self.cutoff = None if name == "map" else _cutoff(name)
        self.convention = convention
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
            self.discount = self.discounts(self.place[self.top] + 1)
            self.best = self._gained(self.gains(labels[self._ranked(labels)[0]]))

    def mean(self, scores: np.ndarray) -> float:
        """Return the mean of the criterion over queries, in expectation over all orders of equal scores.

        Higher is better. The mean is 0 if no query has a value. Raises InvalidScores if the scores are invalid.
        """
        return self._mean(self.per_query(scores, in_expectation=True), self.convention.short)

    def mean_for_tuning(self, scores: np.ndarray) -> float:
        """Return the mean by which `gradrank tune` compares configurations.

        There are two differences from `mean`. The value of a query with n < k documents is NDCG@n under every
        convention. Under `letor4`, documents with equal scores keep the order of the file, because this is how the
        committed choices of the contest were made.
        """
        return self._mean(self.per_query(scores, in_expectation=self.convention != LETOR4), "truncate")

    def per_query(self, scores: np.ndarray, in_expectation: bool = False) -> np.ndarray:
        """Return the (q,) values of AP or NDCG@k, one per query, which AdaRank and coordinate ascent optimise.

        There are two differences from `mean`. The value of a query with n < k documents is NDCG@n instead of 0, because
        a constant cannot guide the training. Unless `in_expectation` is True, documents with equal scores keep the
        order of the file, as in the published implementations of these methods. Raises InvalidScores if the scores are
        invalid.
        """
        scores = check_scores(scores, len(self.labels), "scores for the criterion")
        rows, groups = self._ranked(scores, in_file_order=not in_expectation)
        ranked = self.labels[rows]
        if not in_expectation or len(groups) == len(ranked):
            gained = self._precisions(ranked) if self.cutoff is None else self._gained(self.gains(ranked))
        elif self.cutoff is None:
            gained = self._expected_precisions(ranked, groups)
        else:
            gained = self._gained(_over_groups(self.gains(ranked), groups))
        return np.divide(gained, self.best, out=np.full(self.queries, self.convention.empty), where=self.best > 0)

    def gains(self, labels: np.ndarray) -> np.ndarray:
        """Return the float64 gains of grades."""
        gain = self.convention.gain
        if isinstance(gain, tuple):
            return np.array(gain)[labels]
        return np.ldexp(1.0, labels) - 1.0 if gain == "exponential" else labels.astype(np.float64)

    def discounts(self, ranks: np.ndarray) -> np.ndarray:
        """Return the float64 discounts of ranks, which are integers from 1."""
        return 1.0 / np.log2(ranks + 1.0 if self.convention.discount == "log2" else np.maximum(ranks, 2.0))

    def _mean(self, values: np.ndarray, short: str) -> float:
        """Return the mean of (q,) values without nan. short: as in Convention. The values may be changed in place."""
        if self.cutoff is not None and short == "zero":
            values[(self.sizes < self.cutoff) & ~np.isnan(values)] = 0.0
        values = values[~np.isnan(values)]
        return math.fsum(values) / max(len(values), 1)

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

    def _gained(self, gains: np.ndarray) -> np.ndarray:
        """Return the (q,) values of DCG@min(k, n) for (n,) gains in rank order, query by query."""
        return self._summed(self.query[self.top], gains[self.top] * self.discount)

    def _summed(self, query: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the (q,) sums of `values` within each query. query: number of the query of each value."""
        return np.bincount(query, values, self.queries)


def measure(
    criterion: str, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, convention: Convention = LETOR4
) -> float:
    """Return the mean over queries of `map` or `ndcg@k`, as in `Criterion.mean`. Higher is better.

    scores: (n,). The other arguments are those of Criterion. Raises GradrankError if `criterion` is not a criterion or
    the scores are invalid.
    """
    return Criterion(criterion, labels, offsets, convention).mean(scores)


def selection_note(select_by: str | None, vali: Collection) -> str:
    """Return the text for a log that names the convention of the selection and, if any, the queries without influence.

    select_by: the criterion of the model, or None if the model has none.
    """
    note = f"selection under {selection_label(vali.convention.name)}"
    cutoff = None if select_by in (None, "map") else _cutoff(select_by)
    short = 0 if cutoff is None else int(np.count_nonzero(np.diff(vali.offsets) < cutoff))
    if short and vali.convention.short == "zero":
        note += (
            f"; NDCG@{cutoff} is 0 for {short:,} of {vali.queries:,} validation queries, because they have fewer than "
            f"{cutoff} documents"
        )
    return note


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
