"""NeuralNDCG (Pobrotyn & Bialobrzeski 2021): NDCG of a soft permutation that is doubly stochastic.

Source: Pobrotyn & Bialobrzeski 2021, NeuralNDCG: Direct Optimisation of a Ranking Metric via Differentiable Relaxation
of Sorting.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares
from gradrank.training.neural_sort import soft_sort, soft_sort_gradient


@loss
def neural_ndcg(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_{r<=cutoff} (P G)_r / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. P is a doubly stochastic soft permutation: the matrix of NeuralSort after
    Sinkhorn scaling. The scaling divides columns and rows by their sums in turn, at most 50 times, until all sums are
    within 1e-6 of 1. The cost of a query tends to -NDCG@cutoff as the temperature tends to 0. Time per query:
    O(n^2) per Sinkhorn step.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: temperature of NeuralSort.
        cutoff: number of ranks that count.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _soft_ndcg(scores, ideal_shares(labels, offsets, cutoff), offsets, temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _soft_ndcg(scores, share, offsets, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        soft = soft_sort(scores[a:b], b - a, temperature)
        rows, columns = sinkhorn(soft)
        direct = np.empty(soft.shape)  # derivatives of the cost with respect to P
        for r, discount in enumerate(discounts(b - a, cutoff)):
            direct[r] = -discount * share[a:b]
            cost += rows[-1, r] * (soft[r] * columns[-1] * direct[r]).sum()
        slope = sinkhorn_gradient(soft, rows, columns, direct)
        gradient[a:b] = soft_sort_gradient(scores[a:b], soft, slope, temperature)
    return cost, gradient


@compiled()
def sinkhorn(matrix):
    """Return two (steps + 1, n) arrays: the factors of the rows, and the factors of the columns.

    Row t of each array contains the factors after t Sinkhorn steps. The scaled matrix is
    rows[-1][:, None] * matrix * columns[-1]. Sums below 1e-10 are replaced by 1e-10, as in allRank.
    """
    n = len(matrix)
    rows, columns = np.ones((51, n)), np.ones((51, n))
    across = matrix.T.copy()
    sums = weighted_sum(rows[0], matrix)
    for step in range(1, 51):
        columns[step] = 1.0 / np.maximum(sums, 1e-10)
        rows[step] = 1.0 / np.maximum(weighted_sum(columns[step], across), 1e-10)
        sums = weighted_sum(rows[step], matrix)
        if np.abs(sums * columns[step] - 1.0).max() < 1e-6:
            return rows[: step + 1], columns[: step + 1]
    return rows, columns


@compiled()
def weighted_sum(weights, matrix):
    """Return the (n,) weighted sum of the rows of a matrix, sum_r weights_r matrix_r.

    The loop adds row after row, so the compiler can use vector instructions.
    """
    out = np.zeros(matrix.shape[1])
    for r in range(len(matrix)):
        for j in range(matrix.shape[1]):
            out[j] += weights[r] * matrix[r, j]
    return out


@compiled()
def sinkhorn_gradient(matrix, rows, columns, slope):
    """Return the (n, n) gradient of the cost with respect to `matrix`.

    rows, columns: the result of `sinkhorn`. slope: (n, n) gradient of the cost with respect to the scaled matrix. The
    steps are differentiated in reverse order. A factor whose sum was replaced by 1e-10 has derivative 0.
    """
    across = matrix.T.copy()
    weighted = slope * matrix
    out = slope * columns[-1]
    for r in range(len(matrix)):
        out[r] *= rows[-1, r]
    by_row = weighted_sum(columns[-1], weighted.T.copy())
    by_column = weighted_sum(rows[-1], weighted)
    for step in range(len(rows) - 1, 0, -1):
        by_sum = np.where(rows[step] < 1e10, -by_row * rows[step] ** 2, 0.0)
        by_column += weighted_sum(by_sum, matrix)
        by_column = np.where(columns[step] < 1e10, -by_column * columns[step] ** 2, 0.0)
        for r in range(len(matrix)):
            for j in range(len(matrix)):
                out[r, j] += by_sum[r] * columns[step, j] + rows[step - 1, r] * by_column[j]
        by_row = weighted_sum(by_column, across)
        by_column[:] = 0.0
    return out
