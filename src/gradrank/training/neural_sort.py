"""NeuralSort (Grover et al. 2019), a differentiable relaxation of sorting, and its gradient."""

import numpy as np

from gradrank.base.compiled import compiled


@compiled()
def soft_sort(scores, ranks, temperature):
    """Return the (ranks, n) soft permutation matrix that sorts the scores of one query in descending order.

    Row r, from 1, contains the probabilities of the documents at rank r:
    softmax_j(((n + 1 - 2r) s_j - sum_k |s_j - s_k|) / temperature). The matrix tends to the permutation matrix of the
    sort as the temperature tends to 0.
    scores: (n,) float64. ranks: number of rows.
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
def soft_sort_gradient(scores, soft, slope, temperature):
    """Return the (n,) gradient of a cost with respect to the scores.

    soft: (ranks, n) matrix that `soft_sort` returned. slope: (ranks, n) derivatives of the cost with respect to the
    entries of this matrix.
    """
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
