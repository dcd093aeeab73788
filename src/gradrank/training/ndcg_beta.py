"""NDCG_beta (Jin et al. 2018).

1 - NDCG_beta is the sum of the grade differences of all inverted pairs, divided by the DCG_beta of the ideal order.
"""

import numpy as np


def ideal_dcg_beta(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (q,) float64 values of DCG_beta for the ideal order of each query.

    The value of a query of n documents is sum_i y_i (n - i), where y_i is the i-th highest grade and i is counted from
    1. The value is exact, because all terms are integers. The value is positive for each query with two different
    grades. labels: (n,) grades. offsets: (q+1,).
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    below = offsets[query + 1] - 1 - np.arange(len(labels))
    return np.bincount(query, labels[np.lexsort((-labels, query))] * below, len(offsets) - 1)
