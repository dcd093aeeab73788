"""The difference that a comparison could have detected."""

import math
from functools import cache

from gradrank.comparison.statistics import LEVEL

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
