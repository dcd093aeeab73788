"""Risk of a ranking: how much it loses on the queries where it is worse than others."""

from collections.abc import Mapping

import numpy as np

from gradrank.comparison.statistics import complete_values, differences


def u_risk(a: np.ndarray, baseline: np.ndarray, alpha: float = 1.0) -> float:
    """Return URisk = 1/q (sum of gains - (1 + alpha) sum of losses) of a against a baseline. a, baseline: (q,) values.

    A gain or loss is the absolute difference on a query where a is better or worse. With alpha = 0, the result is the
    mean difference. A higher value is better. Queries without both values are left out; the result is nan without
    queries. Source: Wang, Bennett and Collins-Thompson 2012; Dinçer, Macdonald and Ounis 2016.
    """
    gaps = differences(a, baseline)
    return float(np.mean(np.where(gaps < 0, (1 + alpha) * gaps, gaps))) if len(gaps) else np.nan


def geo_risk(per_query: Mapping[str, np.ndarray], alpha: float = 1.0) -> dict[str, float]:
    """Return GeoRisk = sqrt(mean * Phi(ZRisk / q)) of each of m methods, which needs no baseline.

    ZRisk is the sum over queries of z = (value - e) / sqrt(e), with negative z multiplied by 1 + alpha. e is the value
    expected from the sums of the method and of the query: (sum of method) (sum of query) / (sum of all). Phi is the
    normal distribution function. A higher value is better.

    per_query: (q,) values from 0 per method. Queries without a value for every method are left out; queries with the
    value 0 for every method add nothing to ZRisk. The results are nan without queries. Source: Dinçer, Macdonald and
    Ounis 2016.
    """
    from scipy.special import ndtr

    names, values, _ = complete_values(per_query)
    if not len(values):
        return dict.fromkeys(names, np.nan)
    total = values.sum()
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / (total if total > 0 else 1.0)
    root = np.sqrt(expected)
    z = np.divide(values - expected, root, out=np.zeros_like(values), where=root > 0)
    z_risk = np.where(z < 0, (1 + alpha) * z, z).sum(axis=0)
    risks = np.sqrt(values.mean(axis=0) * ndtr(z_risk / len(values)))
    return dict(zip(names, risks.tolist(), strict=True))
