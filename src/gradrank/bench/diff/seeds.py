"""Effect of seeds on the difference between two states, and rounding of the values to a common precision."""

import math

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.comparison.statistics import PairedTest
from gradrank.comparison.variance import Term, half_width

DECIMALS = 6  # decimals of the values in queries.parquet, which are stored as float32


def seed_noise(a: QueryValues, b: QueryValues, metric: str) -> float:
    """Return half the width of the 95% interval of the differences that seeds alone cause between two means.

    The result is nan if both states have a single seed. If one state has a single seed, its variance over seeds is
    assumed to equal the variance of the other state.
    """
    if not (a.has_several_seeds(metric) or b.has_several_seeds(metric)):
        return math.nan
    return half_width([_seed_term(a, b, metric), _seed_term(b, a, metric)])


def _seed_term(values: QueryValues, other: QueryValues, metric: str) -> Term:
    """Return the variance, over seeds, of the mean of `values`.

    If `values` has a single seed, the result is the variance of one run of `other`.
    """
    if values.has_several_seeds(metric):
        return values.runs(metric).variances.chance_of_mean
    return other.runs(metric).variances.seed


def widened(test: PairedTest, noise: float) -> PairedTest:
    """Return the test with its interval over queries widened by the seed noise.

    If the noise is nan, the test is returned unchanged.
    """
    if math.isnan(noise):
        return test
    down, up = (math.hypot(end - test.difference, noise) for end in (test.low, test.high))
    return test._replace(low=test.difference - down, high=test.difference + up)


def in_one_precision(one: QueryValues, two: QueryValues, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the (q,) values of `one` and the (q,) values of `two` in a common precision.

    If either of the two was read from queries.parquet (float32), both are rounded to the number of decimals in this
    file. Equal differences then stay equal, as the signed-rank test requires.
    """
    if np.float32 not in (one.values[metric].dtype, two.values[metric].dtype):
        return one.values[metric], two.values[metric]
    return _rounded(one, metric), _rounded(two, metric)


def _rounded(values: QueryValues, metric: str) -> np.ndarray:
    # queries.parquet has rounded values per seed, so the values are rounded before the mean over seeds is taken.
    seeds = values.by_seed.get(metric, values.values[metric][None]).astype(np.float64)
    return np.round(seeds, DECIMALS).mean(axis=0)
