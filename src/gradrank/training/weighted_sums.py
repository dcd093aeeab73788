"""Weighted sums over queries of a cost that can be computed for any set of queries."""

from collections.abc import Callable

import numpy as np

from gradrank.data.row_ranges import row_ranges

# A function of the (k,) positions of queries, the row numbers of their documents, and the (k+1,) offsets of the queries
# within these rows. It returns the sum of a cost over these queries, and its gradient for each of these rows.
CostOfQueries = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def weighted_sum(cost_of: CostOfQueries, offsets: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of weight times cost, and its gradient with one element or row per document.

    The cost of all queries with the same weight is computed by one call. offsets: (q+1,). weights: (q,).
    """
    queries = np.argsort(weights, kind="stable")
    groups = np.split(queries, np.flatnonzero(np.diff(weights[queries])) + 1)
    total, gradient = 0.0, None
    for group in groups:
        rows, own_offsets = row_ranges(offsets[group], offsets[group + 1])
        cost, slopes = cost_of(group, rows, own_offsets)
        if gradient is None:
            gradient = np.empty((offsets[-1], *slopes.shape[1:]))
        total += float(weights[group[0]]) * cost
        gradient[rows] = weights[group[0]] * slopes
    return total, np.empty(0) if gradient is None else gradient
