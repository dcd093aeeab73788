"""The methods that may be the best: a model confidence set (Hansen, Lunde and Nason 2011).

The best methods are those with the highest expected value, which need not be those with the highest mean. With 95%
confidence, the set contains all of them. The confidence allows for the choice of the best method by the same queries.

The set starts with all methods. The hypothesis that the expected values of its methods are equal is tested by the
largest Student's t statistic of any two of them. While the hypothesis is rejected, the method that is the farthest
behind another one, in standard errors, leaves the set. Under the hypothesis, the means are drawn from a multivariate t
distribution with the covariance matrix of the observed means. Because methods share their queries, this distribution is
far narrower than that of independent means.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.comparison.fold_weights import once_per_query
from gradrank.comparison.significance.power import errors_needed
from gradrank.comparison.statistics import LEVEL, complete_values

DRAWS = 4000
TOLERANCE = 1e-12  # smaller shares of the variances of two means are rounding errors


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
    return np.sqrt(np.maximum(both - 2 * covariance, TOLERANCE * both)) + TOLERANCE


def _elimination(means: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the methods in the order in which they leave the set, and the largest t of the set that each leaves."""
    behind = (means[None, :] - means[:, None]) / errors  # row: the method that is behind
    left, order, largest = list(range(len(means))), [], []
    while left:
        of_set = behind[np.ix_(left, left)].max(axis=1)
        largest.append(of_set.max())
        order.append(left.pop(int(of_set.argmax())))
    return np.array(order), np.array(largest)
