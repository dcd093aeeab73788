"""Gains and discounts of NDCG for losses, and NDCG_beta (Jin et al. 2018).

The gain of a document is G / IDCG with G = 2^y - 1, or the gain that the user gives for grade y. The discount of a
rank is 1 / log2(1 + rank).

1 - NDCG_beta is the sum of the grade differences of all inverted pairs, divided by the DCG_beta of the ideal order.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import descending

ALL_RANKS = 10_000  # a cutoff that is meant to exceed the number of documents of any query


@compiled("i8, i8")
def discounts(ranks, cutoff):
    """Return the (ranks,) float64 discounts 1 / log2(1 + rank) of the ranks 1, 2, ...; they are 0 beyond `cutoff`."""
    out = np.zeros(ranks)
    for r in range(min(ranks, cutoff)):
        out[r] = 1.0 / np.log2(r + 2.0)
    return out


def gains_of(labels: np.ndarray, gains: np.ndarray | None = None) -> np.ndarray:
    """Return the (n,) float64 gains of (n,) grades. gains: gain per grade from 0; None for 2^grade - 1."""
    return np.ldexp(1.0, labels) - 1.0 if gains is None else gains[labels]


def ideal_shares(labels: np.ndarray, offsets: np.ndarray, cutoff: int, gains: np.ndarray | None = None) -> np.ndarray:
    """Return the (n,) float64 normalised gains G / IDCG@cutoff of all documents.

    DCG@cutoff with these gains equals NDCG@cutoff. If the IDCG of a query is 0, its gains are 0.

    labels: (n,) grades. offsets: (q+1,) int64. gains: as in `gains_of`.
    """
    return _shares(gains_of(labels, gains), offsets, cutoff)


@compiled("f8[:], i8[:], i8")
def _shares(given, offsets, cutoff):
    shares = given.copy()
    for q in range(len(offsets) - 1):
        gains, discount = shares[offsets[q] : offsets[q + 1]], discounts(offsets[q + 1] - offsets[q], cutoff)
        ranked = descending(gains)
        ideal = 0.0
        for r in range(len(gains)):
            ideal += gains[ranked[r]] * discount[r]
        if ideal > 0.0:
            for i in range(len(gains)):
                gains[i] /= ideal
    return shares


def ideal_dcg_beta(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (q,) float64 values of DCG_beta for the ideal order of each query.

    The value of a query of n documents is sum_i y_i (n - i), where y_i is the i-th highest grade and i is counted from
    1. The value is exact, because all terms are integers. The value is positive for each query with two different
    grades. labels: (n,) grades. offsets: (q+1,).
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    below = offsets[query + 1] - 1 - np.arange(len(labels))
    return np.bincount(query, labels[np.lexsort((-labels, query))] * below, len(offsets) - 1)
