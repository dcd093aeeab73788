"""NDCG_beta (Jin et al. 2018), the measure in which an inverted pair costs its grade gap over the ideal's DCG."""

import numpy as np


def ideal_dcg_beta(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(q,) float64 sum_i y_i (n - i) over the 1-based positions i of each query's documents, best grades first.

    labels: (n,) grades; offsets: (q+1,). Positive wherever two grades differ. Exact: the terms are integers.
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    below = offsets[query + 1] - 1 - np.arange(len(labels))
    return np.bincount(query, labels[np.lexsort((-labels, query))] * below, len(offsets) - 1)
