"""What seeds do to a difference: how far they alone would move it; and both sides' values in one precision."""

import math

import numpy as np

from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import PairedTest
from gradrank.evaluation.variance import Term, half_width

DECIMALS = 6  # of the values that git keeps, as float32


def seed_noise(a: QueryValues, b: QueryValues, metric: str) -> float:
    """Half the 95% interval of the difference of two means that seeds alone make; nan where both have a single one.

    Of one side's single seed it is assumed that seeds move it as they move the other's.
    """
    if not (a.has_several_seeds(metric) or b.has_several_seeds(metric)):
        return math.nan
    return half_width([_of_seeds(a, b, metric), _of_seeds(b, a, metric)])


def _of_seeds(side: QueryValues, other: QueryValues, metric: str) -> Term:
    """The variance of a side's mean over its seeds."""
    if side.has_several_seeds(metric):
        return side.runs(metric).variances.chance_of_mean
    return other.runs(metric).variances.seed


def widened(test: PairedTest, noise: float) -> PairedTest:
    """Its interval over queries with what seeds do in it; as it is where that is not known."""
    if math.isnan(noise):
        return test
    down, up = (math.hypot(end - test.difference, noise) for end in (test.low, test.high))
    return test._replace(low=test.difference - down, high=test.difference + up)


def in_one_precision(one: QueryValues, two: QueryValues, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """(q,) float64 of each; where one is as git keeps it, both are rounded to the decimals that it is sure of.

    Differences that are equal stay equal, which the signed ranks depend on.
    """
    if np.float32 not in (one.values[metric].dtype, two.values[metric].dtype):
        return one.values[metric], two.values[metric]
    return _rounded(one, metric), _rounded(two, metric)


def _rounded(side: QueryValues, metric: str) -> np.ndarray:
    """Seed by seed, whose mean has more decimals."""
    seeds = side.by_seed.get(metric, side.values[metric][None]).astype(np.float64)
    return np.round(seeds, DECIMALS).mean(axis=0)
