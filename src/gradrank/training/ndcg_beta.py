"""NDCG_beta (Jin et al. 2018).

1 - NDCG_beta is the sum of the grade differences of all inverted pairs, divided by the DCG_beta of the ideal order.
"""

import numpy as np


def ideal_dcg_beta(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return (q,) float64 DCG_beta of the ideal order of each query: sum_i y_i (n - i), grades y in descending order.

    i: position from 1. labels: (n,) grades; offsets: (q+1,). The result is exact, because all terms are integers, and
    positive for each query with two different grades.
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    below = offsets[query + 1] - 1 - np.arange(len(labels))
    return np.bincount(query, labels[np.lexsort((-labels, query))] * below, len(offsets) - 1)
