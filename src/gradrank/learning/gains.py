"""Gains and discounts of NDCG as losses take them: 2^y - 1 over the ideal DCG, 1 / log2(1 + rank)."""

import numpy as np

from gradrank.compiled import compiled

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
    gain = 2.0 ** labels.astype(np.float64) - 1.0
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        best = np.sort(gain[a:b])[::-1]
        ideal = 0.0
        for r, discount in enumerate(discounts(b - a, cutoff)):
            ideal += best[r] * discount
        if ideal > 0.0:
            gain[a:b] /= ideal
    return gain
