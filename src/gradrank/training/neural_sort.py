"""NeuralSort (Grover et al. 2019): a sort as a matrix of probabilities, and what scores get back through it."""

import numpy as np

from gradrank.base.compiled import compiled


@compiled()
def soft_sort(scores, ranks, temperature):
    """(ranks, n): row r is softmax_j(((n + 1 - 2r) s_j - sum_k |s_j - s_k|) / temperature), rank r's document.

    scores: (n,) of one query. The permutation of a descending sort as the temperature falls.
    """
    n = len(scores)
    spread = np.empty(n)
    for j in range(n):
        spread[j] = np.abs(scores - scores[j]).sum()
    out = np.empty((ranks, n))
    for r in range(ranks):
        row = ((n - 1 - 2 * r) * scores - spread) / temperature
        row = np.exp(row - row.max())
        out[r] = row / row.sum()
    return out


@compiled()
def through_soft_sort(scores, soft, slope, temperature):
    """(n,) gradient of the scores, given the (ranks, n) slope of what `soft_sort` returned, `soft`."""
    n = len(scores)
    gradient, by_spread = np.zeros(n), np.zeros(n)
    for r in range(len(soft)):
        inner = soft[r] * (slope[r] - (soft[r] * slope[r]).sum()) / temperature
        gradient += (n - 1 - 2 * r) * inner
        by_spread -= inner
    for j in range(n):
        for k in range(n):
            if scores[j] != scores[k]:
                both = by_spread[j] + by_spread[k]
                gradient[j] += both if scores[j] > scores[k] else -both
    return gradient
