"""Paired tests over queries that resample the differences: the bootstrap test and the randomisation test.

Both tests are two-sided and use the same differences as the tests in `statistics`. Smucker et al. 2007 compare them
with Student's t test and Wilcoxon's test on TREC runs.
"""

import numpy as np

from gradrank.comparison.statistics import differences

RESAMPLES = 10_000  # the smallest p value from resampling is 1 / 10,001
MOST_ENUMERATED = 16  # up to this number of queries that differ, all sign patterns (at most 2^16) are enumerated
BATCH = 2**22  # number of signs drawn at a time
TOLERANCE = 1e-12  # relative to the sum of absolute differences; rounding errors of sums are smaller


def bootstrap_test(a: np.ndarray, b: np.ndarray, seed: int = 0) -> float:
    """Return the two-sided p value of the paired bootstrap test by the shift method (Sakai 2006). a, b: (q,) values.

    The null distribution is that of Student's t statistic over RESAMPLES samples of the differences minus their mean
    (Efron and Tibshirani 1993). p is (1 + number of samples with at least the observed statistic) / (1 + RESAMPLES). p
    is 1 if a and b are equal on every query, and nan for fewer than two queries. seed: seed of the resampling.
    """
    gaps = differences(a, b)
    if len(gaps) < 2:
        return np.nan
    if not np.any(gaps):
        return 1.0
    shifted = gaps - np.mean(gaps)
    draw, moments = np.random.default_rng(seed), np.empty((RESAMPLES, 2))
    for moment in moments:
        sample = shifted[draw.integers(len(gaps), size=len(gaps))]
        moment[:] = np.mean(sample), np.mean(sample * sample)
    drawn = _t_statistic(moments[:, 0], moments[:, 1] - moments[:, 0] ** 2, len(gaps))
    observed = _t_statistic(np.mean(gaps), np.mean(shifted * shifted), len(gaps))
    return float((1 + np.sum(np.abs(drawn) >= np.abs(observed))) / (1 + RESAMPLES))


def _t_statistic(mean, variance, queries: int):
    """Return mean / standard error; 0 for a mean of 0, and infinity if only the variance is 0."""
    error = np.sqrt(np.maximum(variance, 0.0) / (queries - 1))
    infinite = np.where(mean == 0, 0.0, np.inf)
    return np.divide(mean, error, out=infinite, where=error > TOLERANCE * np.abs(mean))


def randomisation_test(a: np.ndarray, b: np.ndarray, seed: int = 0) -> float:
    """Return the two-sided p value of Fisher's randomisation test (Smucker et al. 2007). a, b: (q,) values.

    The null distribution is that of the sum of the differences over all changes of their signs. If at most
    MOST_ENUMERATED queries differ, p is exact. Otherwise, RESAMPLES random sign patterns are drawn, and p is (1 +
    number of patterns with at least the observed sum) / (1 + RESAMPLES). p is 1 if a and b are equal on every query,
    and nan without queries. seed: seed of the sign patterns.
    """
    gaps = differences(a, b)
    if not len(gaps):
        return np.nan
    gaps = gaps[gaps != 0]
    least = abs(np.sum(gaps)) - TOLERANCE * np.sum(np.abs(gaps))
    if len(gaps) <= MOST_ENUMERATED:
        sums = np.zeros(1)
        for gap in gaps:
            sums = np.concatenate([sums - gap, sums + gap])
        return float(np.mean(np.abs(sums) >= least))
    draw, count = np.random.default_rng(seed), 0
    rows = max(1, BATCH // len(gaps))
    for first in range(0, RESAMPLES, rows):
        flips = draw.integers(2, size=(min(rows, RESAMPLES - first), len(gaps)), dtype=np.int8)
        # With flips of 0 or 1, the sum over signs is 2 (sum of flipped differences) - (sum of differences).
        count += int(np.sum(np.abs(2.0 * (flips @ gaps) - np.sum(gaps)) >= least))
    return (1 + count) / (1 + RESAMPLES)
