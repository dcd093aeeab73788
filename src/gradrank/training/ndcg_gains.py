"""Gains and discounts of NDCG as losses take them: 2^y - 1 over the ideal DCG, 1 / log2(1 + rank)."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import descending

ALL_RANKS = 10_000  # a cutoff that cuts nothing


@compiled("i8, i8")
def discounts(ranks, cutoff):
    """(ranks,) float64 1 / log2(1 + rank) of ranks 1, 2, ...; 0 beyond `cutoff`."""
    out = np.zeros(ranks)
    for r in range(min(ranks, cutoff)):
        out[r] = 1.0 / np.log2(r + 2.0)
    return out


@compiled("i8[:], i8[:], i8")
def ideal_shares(labels, offsets, cutoff):
    """(n,) float64 G = (2^y - 1) / IDCG@cutoff within each query, so that DCG over G is NDCG; 0 where IDCG is 0."""
    gain = np.empty(len(labels))
    for q in range(len(offsets) - 1):
        own, discount = gain[offsets[q] : offsets[q + 1]], discounts(offsets[q + 1] - offsets[q], cutoff)
        for i in range(len(own)):
            own[i] = 2.0 ** labels[offsets[q] + i] - 1.0
        ranked = descending(own)
        ideal = 0.0
        for r in range(len(own)):
            ideal += own[ranked[r]] * discount[r]
        if ideal > 0.0:
            for i in range(len(own)):
                own[i] /= ideal
    return gain
