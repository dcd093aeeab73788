"""The difference that a comparison could have detected."""

import math
from functools import cache

from gradrank.evaluation.statistics import LEVEL

POWER = 0.8


def detectable_difference(error: float, queries: float, comparisons: int = 1) -> float:
    """Return the true difference that Student's paired t test declares significant with a probability of 80%.

    The result is (t_a + t_p) * error. t_a is the critical value of the two-sided test at the level .05, divided by the
    number of comparisons (Bonferroni), and t_p is the 80% quantile of Student's distribution. error: standard error of
    the difference. queries: number of queries. Holm's correction detects somewhat smaller differences than Bonferroni's
    if other differences are significant. The result is nan for fewer than two queries.
    """
    return error * _errors_needed(queries, comparisons)


@cache
def _errors_needed(queries: float, comparisons: int) -> float:
    """Return t_a + t_p: the number of standard errors that a difference needs."""
    from scipy.special import stdtrit

    if queries < 2:
        return math.nan
    return float(stdtrit(queries - 1, POWER) - stdtrit(queries - 1, LEVEL / 2 / comparisons))
