"""Tukey's HSD for rankings of the same queries (Carterette 2012)."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from gradrank.comparison.statistics import complete_values


def tukey_p_values(per_query: Mapping[str, np.ndarray]) -> dict[tuple[str, str], float]:
    """Return the p value of each pair of m methods, corrected for all pairs by Tukey's HSD.

    The model is a two-way layout without interaction: value = method + query + error. p is the probability that the
    studentised range of m means with (m - 1)(q - 1) degrees of freedom is at least |difference| / sqrt(s^2 / q), where
    s^2 is the mean square of the errors over q queries. For two methods, p is that of Student's paired t test.

    per_query: (q,) values per method. Queries without a value for every method are left out. p is nan for fewer than
    two queries. Without errors, p is 1 for equal means and 0 for others.
    """
    from scipy.stats import studentized_range

    names, values, _ = complete_values(per_query)
    queries, methods = values.shape
    pairs = list(combinations(range(methods), 2))
    named = [(names[i], names[j]) for i, j in pairs]
    if queries < 2:
        return dict.fromkeys(named, np.nan)
    means = values.mean(axis=0)
    errors = values - values.mean(axis=1, keepdims=True) - means + values.mean()
    freedom = (methods - 1) * (queries - 1)
    scale = np.sqrt(np.sum(np.square(errors)) / freedom / queries)
    gaps = np.array([abs(means[i] - means[j]) for i, j in pairs])
    if scale < 1e-12:
        return {pair: float(gap < 1e-12) for pair, gap in zip(named, gaps, strict=True)}
    return {
        pair: float(studentized_range.sf(gap / scale, methods, freedom)) for pair, gap in zip(named, gaps, strict=True)
    }
