"""The documents of every query in rank order, and what the metrics share of it."""

from functools import cached_property

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.evaluation.conventions import Convention


class Ranking:
    """The documents of every query in the order of their scores, under one convention.

    scores: (n,) finite; labels: (n,) grades, integers from 0; offsets: (q+1,), no query empty;
    ids: (n,) document ids, used where the convention breaks ties by them (None: by row number).
    ranked: (n,) whether a document is in the ranking at all (None: all are). One that is not comes last and gains
    nothing there, but counts among the relevant and in the ideal, as in trec_eval.
    Raises GradrankError for input of another form. Properties of length n are by rank within each query; where the
    convention takes ties in expectation, what they say of gains and hits is the mean over all orders of equal scores.
    """

    def __init__(self, scores, labels, offsets, chosen: Convention, ids=None, ranked=None) -> None:
        self.convention = chosen
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.starts, self.sizes = self.offsets[:-1], np.diff(self.offsets)
        labels = np.asarray(labels)
        _check(np.asarray(scores), labels, self.offsets, self.sizes)
        scores = scores if ranked is None else np.where(ranked, scores, -np.inf)
        self.rows, self.scores = _sorted_rows(scores, self.offsets, chosen.ties, ids)
        self.judged = labels[self.rows].astype(np.int64)
        self.grades = self.judged if ranked is None else np.where(ranked[self.rows], self.judged, 0)
        self.highest = int(self.judged.max(initial=0))
        self.in_expectation = chosen.ties == "expected"

    @cached_property
    def groups(self) -> np.ndarray:
        """(g+1,) where each run of equal scores within a query begins, and n."""
        return np.flatnonzero(_levels(self.scores, self.offsets))

    def mean_over_ties(self, values: np.ndarray) -> np.ndarray:
        """(n,) values; where ties are taken in expectation, of equal scores their mean."""
        from gradrank.evaluation.tied_loops import group_means

        return group_means(values, self.groups) if self.in_expectation else values

    @cached_property
    def position(self) -> np.ndarray:
        """(n,) 1, 2, ... within each query."""
        return np.arange(1, len(self.grades) + 1) - np.repeat(self.starts, self.sizes)

    @cached_property
    def hits(self) -> np.ndarray:
        """(n,) relevant documents so far."""
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
        """(q,) number of relevant documents, in the ranking or not."""
        return np.add.reduceat(self.judged > 0, self.starts, dtype=np.int64)

    def hit(self, m: int | np.ndarray) -> np.ndarray:
        """(q,) where among the n the m-th relevant document of each query is; any place if there is none."""
        places = np.append(np.flatnonzero(self.grades > 0), 0)
        return places[np.minimum(np.cumsum(self.retrieved) - self.retrieved + m, len(places)) - 1]

    @cached_property
    def precision(self) -> np.ndarray:
        """(n,) hits / position."""
        return self.hits / self.position

    @cached_property
    def precision_at_hits(self) -> np.ndarray:
        """(n,) the precision where a relevant document is, else 0."""
        from gradrank.evaluation.tied_loops import expected_precision_at_hits

        if self.in_expectation:
            return expected_precision_at_hits(self.grades > 0, self.position, self.groups)
        return np.where(self.grades > 0, self.precision, 0.0)

    @cached_property
    def reciprocal_rank(self) -> np.ndarray:
        """(q,) 1 / position of the first relevant document, 0 without any."""
        from gradrank.evaluation.tied_loops import expected_reciprocal_rank

        if self.in_expectation:
            return expected_reciprocal_rank(self.grades > 0, self.position, self.groups, self.offsets)
        return np.where(self.retrieved > 0, 1.0 / self.position[self.hit(1)], 0.0)

    @cached_property
    def ideal_grades(self) -> np.ndarray:
        """(n,) the grades in the best possible order."""
        from gradrank.evaluation.query_loops import sorted_grades

        return sorted_grades(self.judged, self.offsets, self.highest)

    @cached_property
    def dcg(self) -> np.ndarray:
        """(n,) discounted cumulated gain, sum of gain * discount (Järvelin and Kekäläinen 2002)."""
        return self._discounted(self.mean_over_ties(self._gain[self.grades]))

    @cached_property
    def ideal_dcg(self) -> np.ndarray:
        """(n,) the DCG of the ideal order."""
        return self._discounted(self._gain[self.ideal_grades])

    @cached_property
    def best_precision(self) -> np.ndarray:
        """(n,) the highest precision at this or a later position."""
        from gradrank.evaluation.query_loops import best_from_here

        return best_from_here(self.precision, self.offsets)

    @cached_property
    def err(self) -> np.ndarray:
        """(n,) expected reciprocal rank so far, by the cascade of Chapelle et al. 2009."""
        from gradrank.evaluation.query_loops import product_before
        from gradrank.evaluation.tied_loops import expected_stops

        highest = max(self.convention.max_grade or 0, self.highest)
        stop = ((2.0 ** np.arange(self.highest + 1) - 1.0) / 2.0**highest)[self.grades]
        if self.in_expectation:
            return self._running_sum(expected_stops(stop, self.position, self.groups) / self.position)
        return self._running_sum(product_before(1.0 - stop, self.offsets) * stop / self.position)

    @cached_property
    def pair_counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q,) pairs of different grade whose scores are in the right order, (q,) equal, (q,) all of them."""
        from gradrank.evaluation.query_loops import pair_counts

        return pair_counts(self.scores, self.judged, self.offsets, self.highest)

    @cached_property
    def _gain(self) -> np.ndarray:
        """By grade."""
        levels = np.arange(self.highest + 1)
        return 2.0**levels - 1.0 if self.convention.gain == "exponential" else levels.astype(np.float64)

    def _discounted(self, gains: np.ndarray) -> np.ndarray:
        """(n,) sums of discounted gains up to each place."""
        positions = np.arange(1, self.sizes.max(initial=0) + 1)
        letor = self.convention.discount == "letor"
        discount = 1.0 / np.log2(np.maximum(positions, 2) if letor else positions + 1)
        return self._running_sum(gains * discount[self.position - 1])

    def _running_sum(self, values: np.ndarray) -> np.ndarray:
        from gradrank.evaluation.query_loops import running_sum

        return running_sum(values, self.offsets)

    def at(self, values: np.ndarray, k: int | np.ndarray) -> np.ndarray:
        """(q,) of (n,) values: the one at position k, or the last where a query is shorter."""
        return values[self.starts + np.minimum(k, self.sizes) - 1]

    def total(self, values: np.ndarray) -> np.ndarray:
        """(q,) sums of (n,) values, term by term: the rounding of NumPy's depends on the neighbours."""
        return self._running_sum(values)[self.offsets[1:] - 1]

    def ratio(self, part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """part / whole, and the convention's `empty` where whole is 0."""
        return np.divide(part, whole, out=np.full(len(whole), float(self.convention.empty)), where=whole > 0)


def _check(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, sizes: np.ndarray) -> None:
    if len(offsets) < 2 or offsets[0] != 0 or np.any(sizes < 1):
        raise GradrankError("offsets must rise from 0: every query has at least one document")
    if not len(scores) == len(labels) == offsets[-1]:
        raise GradrankError(f"{len(scores)} scores and {len(labels)} labels for {offsets[-1]} documents")
    if not np.all(np.isfinite(scores)):
        raise GradrankError(f"score {np.flatnonzero(~np.isfinite(scores))[0]} (from 0) is not a finite number")
    if np.any(labels < 0) or np.any(labels != np.floor(labels)):
        raise GradrankError("labels must be integers from 0")


def _sorted_rows(scores, offsets: np.ndarray, ties: str, ids) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers in rank order, and the scores in that order."""
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
    """(n+1,) whether another score, or another query, begins at each of (n,) scores by rank, and at n."""
    levels = np.r_[True, scores[1:] != scores[:-1], True]
    levels[offsets] = True
    return levels
