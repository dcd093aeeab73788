"""P values of many paired tests at once. One row of an array holds the differences of one pair of methods."""

from functools import cache

import numpy as np

EXACT = 50  # largest number of queries for which Wilcoxon's p value is exact


def student_p_values(gaps: np.ndarray) -> np.ndarray:
    """Return the (p,) two-sided p values of Student's paired t test.

    gaps: (p, q) differences of p pairs on q queries, without nan. p is nan for fewer than two queries, 1 if all
    differences are 0, and 0 if all are the same number other than 0.
    """
    from scipy.special import stdtr

    gaps = np.ascontiguousarray(gaps)  # the order of the sums, and so the last digit, depends on the memory layout
    pairs, queries = gaps.shape
    if queries < 2:
        return np.full(pairs, np.nan)
    means = gaps.mean(axis=1)
    variances = np.square(gaps - means[:, None]).mean(axis=1) * (queries / (queries - 1))
    is_constant = (gaps == gaps[:, :1]).all(axis=1)  # if so, t is 0/0 or infinite
    errors = np.sqrt(np.where(is_constant, 1.0, variances) / queries)
    p = 2 * stdtr(queries - 1, -np.abs(means / errors))
    return np.where(is_constant, gaps[:, 0] == 0, p)


def signed_rank_p_values(gaps: np.ndarray) -> np.ndarray:
    """Return the (p,) two-sided p values of the signed-rank test (Wilcoxon 1945).

    gaps: (p, q) differences of p pairs on q queries, without nan. Differences of 0 are left out. p is 1 if no
    difference is left. p is exact if at most 50 differences are left and their absolute values are distinct. Otherwise,
    it is computed by the normal approximation with a correction for ties.
    """
    from scipy.special import ndtr

    pairs, queries = gaps.shape
    if not queries:
        return np.ones(pairs)
    sizes = np.abs(gaps)
    order = np.argsort(sizes, axis=1)
    ordered = np.take_along_axis(sizes, order, axis=1)
    is_first = np.ones(gaps.shape, dtype=bool)  # of a run of equal sizes
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(is_first)
    pair, rank = np.divmod(first, queries)
    lengths = np.diff(np.r_[first, gaps.size])
    zeros = np.count_nonzero(gaps == 0, axis=1)
    ranks = np.repeat(rank - zeros[pair] + (lengths + 1) / 2, lengths).reshape(gaps.shape)
    positive = np.sum(ranks, axis=1, where=np.take_along_axis(gaps > 0, order, axis=1))
    is_tie = ordered.ravel()[first] > 0
    ties = np.bincount(pair, np.where(is_tie, lengths**3.0 - lengths, 0.0), pairs)
    count = queries - zeros.astype(np.float64)
    variances = (count * (count + 1) * (2 * count + 1) - ties / 2) / 24
    error = np.sqrt(np.where(count > 0, variances, 1.0))
    z = (positive - count * (count + 1) * 0.25) / error
    p = np.where(count > 0, 2 * ndtr(-np.abs(z)), 1.0)
    for i in np.flatnonzero((count > 0) & (count <= EXACT) & (ties == 0)):
        p[i] = _exact_p(int(count[i]), int(positive[i]))
    return p


def _exact_p(count: int, positive: int) -> float:
    """Return the exact p value. count: number of differences. positive: sum of the ranks of positive differences."""
    at_most = _signs(count)
    at_least = at_most[-1] - (at_most[positive - 1] if positive else 0)
    return min(1.0, 2 * min(int(at_most[positive]), int(at_least)) / 2**count)


@cache
def _signs(count: int) -> np.ndarray:
    """Return the number of the 2^count choices of signs for which the ranks of positive differences sum to at most s.

    The index of the array is s. All numbers are exact for counts up to 62.
    """
    choices = np.ones(1, dtype=np.int64)
    for rank in range(1, count + 1):
        choices = np.r_[choices, np.zeros(rank, np.int64)] + np.r_[np.zeros(rank, np.int64), choices]
    return np.cumsum(choices)
