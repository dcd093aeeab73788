"""Decisions about differences between methods: the rule of every page, the best methods, power, and resampling tests.

The methods that may be the best form a model confidence set (Hansen, Lunde and Nason 2011). The best methods are those
with the highest expected value, which need not be those with the highest mean. With 95% confidence, the set contains
all of them. The confidence allows for the choice of the best method by the same queries.

The set starts with all methods. The hypothesis that the expected values of its methods are equal is tested by the
largest Student's t statistic of any two of them. While the hypothesis is rejected, the method that is the farthest
behind another one, in standard errors, leaves the set. Under the hypothesis, the means are drawn from a multivariate t
distribution with the covariance matrix of the observed means. Because methods share their queries, this distribution is
far narrower than that of independent means.

The bootstrap test and the randomisation test resample the differences of paired queries. Both tests are two-sided and
use the same differences as the tests in `statistics`. Smucker et al. 2007 compare them with Student's t test and
Wilcoxon's test on TREC runs.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.comparison.statistics import LEVEL, complete_values, differences, once_per_query

Decision = Literal["better", "worse", "no evidence"]
RULE = (
    f"A difference stands if its p value of Wilcoxon's test, corrected by Holm, is below {LEVEL:g} and its 95% "
    "interval excludes 0."
)


def decide(p: float, low: float, high: float) -> Decision:
    """Return the decision on the difference a - b of two methods: whether a is better or worse than b.

    p: p value of a paired test, corrected for the number of comparisons. It is Wilcoxon's signed-rank test, or
    Student's test if the variance due to seeds and tuning was estimated. low, high: bounds of the 95% interval of the
    difference of the means. Both conditions are needed. The signed-rank test asks whether more queries gain than lose,
    so it can reject although the means differ by nothing. The interval is not corrected for the number of comparisons.
    A nan gives no evidence.
    """
    if p < LEVEL and low > 0:
        return "better"
    return "worse" if p < LEVEL and high < 0 else "no evidence"


def decide_row(row: Mapping[str, Any]) -> Decision:
    """Return the decision on a row with the keys `wilcoxon_holm`, `low` and `high`."""
    return decide(row["wilcoxon_holm"], row["low"], row["high"])


POWER = 0.8


def detectable_difference(error: float, queries: float, comparisons: int = 1) -> float:
    """Return the true difference that Student's paired t test declares significant with a probability of 80%.

    The result is d * error. d is the noncentrality with which Student's noncentral t exceeds the critical value of the
    two-sided test with a probability of 80%. The level of the test is .05, divided by the number of comparisons
    (Bonferroni). error: standard error of the difference. queries: number of queries. Holm's correction detects
    somewhat smaller differences than Bonferroni's if other differences are significant. The result is nan for fewer
    than two queries.
    """
    return error * _errors_of_a_t_test(queries, comparisons)


def errors_needed(critical: float, freedom: float) -> float:
    """Return the number of standard errors that a difference needs.

    With this number as its noncentrality, Student's noncentral t exceeds the critical value with a probability of 80%.
    freedom: degrees of freedom; infinity stands for the normal distribution.
    """
    from scipy.special import nctdtrinc, ndtri

    return float(critical + ndtri(POWER)) if math.isinf(freedom) else float(nctdtrinc(freedom, 1 - POWER, critical))


@cache
def _errors_of_a_t_test(queries: float, comparisons: int) -> float:
    from scipy.special import stdtrit

    return errors_needed(-stdtrit(queries - 1, LEVEL / 2 / comparisons), queries - 1) if queries >= 2 else math.nan


DRAWS = 4000
VARIANCE_TOLERANCE = 1e-12  # smaller shares of the variances of two means are rounding errors


class Candidate(NamedTuple):
    """The result for one method.

    p: p value of the hypothesis that the method is one of the best. detectable: smallest true difference from the
    method with the highest mean that excludes the method with a probability of 80%; nan for that method itself.
    """

    p: float
    detectable: float


def best_methods(
    per_query: Mapping[str, np.ndarray], folds: np.ndarray, queries: np.ndarray | None = None
) -> dict[str, Candidate]:
    """Return the result for each method.

    The methods with a p value of at least .05 are the 95% model confidence set. The method with the highest mean has
    the p value 1. per_query, folds, queries: as in `gradrank.comparison.statistics.compare_all`. Queries without a
    value for every method are left out. All values are nan for fewer than two queries.
    """
    names, values, is_complete = complete_values(per_query)
    named = None if queries is None else queries[is_complete]
    values, weights = once_per_query(values, np.asarray(folds)[is_complete], named)
    count = len(values)
    if count < 2:
        return dict.fromkeys(names, Candidate(np.nan, np.nan))
    shares = weights / weights.sum()
    means = shares @ values
    deviations = shares[:, None] * (values - means)
    covariance = deviations.T @ deviations * (count / (count - 1))
    return dict(zip(names, candidates(means, covariance, count - 1), strict=True))


def candidates(means: np.ndarray, covariance: np.ndarray, freedom: float, seed: int = 0) -> list[Candidate]:
    """Return the results for m methods.

    means: (m,) means of the methods. covariance: (m, m) covariance matrix of the means; only the variances of their
    differences matter. freedom: degrees of freedom of this matrix, or infinity if it is known. seed: seed of the DRAWS
    draws.
    """
    errors = _errors(covariance)
    order, largest = _elimination(means, errors)
    draw = np.random.default_rng(seed)
    noise = draw.multivariate_normal(np.zeros(len(means)), covariance, DRAWS, check_valid="ignore", method="eigh")
    if np.isfinite(freedom):
        noise /= np.sqrt(draw.chisquare(freedom, DRAWS) / freedom)[:, None]
    noise = np.ascontiguousarray(noise.T[order])  # (m, DRAWS)
    p, drawn = np.ones(len(means)), np.zeros(DRAWS)
    for i in range(len(means) - 2, -1, -1):  # sets of growing size; the largest t of each contains that of the last
        _raise_to_largest(noise[i:], errors[order[i], order[i + 1 :]], drawn)
        p[order[i]] = (1 + np.sum(drawn >= largest[i])) / (1 + DRAWS)
    p[order] = np.maximum.accumulate(p[order])
    best = int(np.argmax(means))
    detectable = errors_needed(np.quantile(drawn, 1 - LEVEL), freedom) * errors[:, best]
    detectable[best] = np.nan
    return [Candidate(float(own), float(difference)) for own, difference in zip(p, detectable, strict=True)]


@compiled("f8[:,:], f8[:], f8[:] out")
def _raise_to_largest(noise, errors, drawn):
    """Raise the (d,) values to the largest |t| of the first of (k, d) noises against the others.

    errors: (k-1,) standard errors of the differences.
    """
    for k in range(len(errors)):
        for d in range(len(drawn)):
            t = abs(noise[k + 1, d] - noise[0, d]) / errors[k]
            drawn[d] = t if t > drawn[d] else drawn[d]


def covariance_of_errors(errors: np.ndarray) -> np.ndarray:
    """Return an (m, m) covariance matrix of means whose differences have the (m, m) standard errors `errors`.

    Infinitely many matrices do. The result is that of the means minus their mean over methods.
    """
    centre = np.eye(len(errors)) - 1 / len(errors)
    return -0.5 * centre @ np.square(errors) @ centre


def _errors(covariance: np.ndarray) -> np.ndarray:
    """Return the (m, m) standard errors of the differences. They are positive, so that two equal methods have t = 0."""
    variances = np.diag(covariance)
    both = variances[:, None] + variances[None, :]
    return np.sqrt(np.maximum(both - 2 * covariance, VARIANCE_TOLERANCE * both)) + VARIANCE_TOLERANCE


def _elimination(means: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the methods in the order in which they leave the set, and the largest t of the set that each leaves."""
    behind = (means[None, :] - means[:, None]) / errors  # row: the method that is behind
    left, order, largest = list(range(len(means))), [], []
    while left:
        of_set = behind[np.ix_(left, left)].max(axis=1)
        largest.append(of_set.max())
        order.append(left.pop(int(of_set.argmax())))
    return np.array(order), np.array(largest)


RESAMPLES = 10_000  # the smallest p value from resampling is 1 / 10,001
MOST_ENUMERATED = 16  # up to this number of queries that differ, all sign patterns (at most 2^16) are enumerated
BATCH = 2**22  # number of signs drawn at a time
SUM_TOLERANCE = 1e-12  # relative to the sum of absolute differences; rounding errors of sums are smaller


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
    return np.divide(mean, error, out=infinite, where=error > SUM_TOLERANCE * np.abs(mean))


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
    least = abs(np.sum(gaps)) - SUM_TOLERANCE * np.sum(np.abs(gaps))
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
