"""Compiled loops over the grades of each query in rank order: the criteria of gradrank.learning.selection."""

import numpy as np

from gradrank.compiled import compiled


@compiled
def average_precision(ranked, offsets):
    """AP = sum over relevant (grade >= 1) ranks i of P@i / number of relevant documents; 0 without any."""
    out = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        hits, precision = 0, 0.0
        for i in range(offsets[q], offsets[q + 1]):
            if ranked[i] > 0:
                hits += 1
                precision += hits / (i - offsets[q] + 1.0)
        if hits > 0:
            out[q] = precision / hits
    return out


@compiled
def ndcg(ranked, offsets, k):
    """Gain 2^y - 1; discount 1 at ranks 1 and 2, then 1/log2(rank); cut at min(k, n); no gain: 0."""
    out = np.zeros(len(offsets) - 1)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        ideal = np.sort(ranked[a:b])[::-1]
        dcg, best = 0.0, 0.0
        for i in range(min(k, b - a)):
            discount = 1.0 if i < 2 else 1.0 / np.log2(i + 1.0)
            dcg += (2.0 ** ranked[a + i] - 1.0) * discount
            best += (2.0 ** ideal[i] - 1.0) * discount
        if best > 0.0:
            out[q] = dcg / best
    return out
