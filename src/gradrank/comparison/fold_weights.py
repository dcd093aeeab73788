"""The weight of each test query in the mean over folds, and queries that are tested in several folds."""

import numpy as np


def once_per_query(values: np.ndarray, folds: np.ndarray, queries: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (u, m) values of the u distinct queries, and their (u,) weights in the mean over folds.

    values: (q, m). folds: (q,) fold of each row. queries: (q,) query id of each row; with None, every row is a distinct
    query. The value of a query is the mean of its rows, weighted as in the mean over folds. The weighted mean of the
    result equals the mean over folds of the fold means.
    """
    weights = fold_weights(folds)
    if queries is None:
        return values, weights
    _, first, query = np.unique(queries, return_index=True, return_inverse=True)
    if len(first) == len(queries):
        return values, weights
    totals = np.bincount(query, weights)
    means = [np.bincount(query, weights * column) / totals for column in values.T]
    order = np.argsort(first)  # the order of first appearance
    return np.column_stack(means)[order], totals[order]


def fold_weights(folds: np.ndarray) -> np.ndarray:
    """Return (q,) weights for which the weighted mean over queries equals the mean of the fold means.

    If the folds have equal sizes, all weights are 1.
    """
    _, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
    return len(folds) / (len(sizes) * sizes[fold])
