"""NeuralNDCG (Pobrotyn & Bialobrzeski 2021): soft NDCG, each document shared out over the ranks exactly once."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares
from gradrank.training.neural_sort import soft_sort, through_soft_sort


@loss
def neural_ndcg(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, cutoff: int = ALL_RANKS
) -> tuple[float, np.ndarray]:
    """-sum_{r<=cutoff} (P G)_r / log2(1 + r), P NeuralSort's, doubly stochastic, G = (2^y - 1) / IDCG@cutoff.

    By Sinkhorn: columns, then rows divided by their sums, at most 50 times, or until all sums are within 1e-6 of 1.
    -NDCG@cutoff as the temperature falls. O(n^2) a step.
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
        direct = np.empty(soft.shape)  # slope of the doubly stochastic matrix
        for r, discount in enumerate(discounts(b - a, cutoff)):
            direct[r] = -discount * share[a:b]
            cost += rows[-1, r] * (soft[r] * columns[-1] * direct[r]).sum()
        slope = through_sinkhorn(soft, rows, columns, direct)
        gradient[a:b] = through_soft_sort(scores[a:b], soft, slope, temperature)
    return cost, gradient


@compiled()
def sinkhorn(matrix):
    """(steps + 1, n) factors of the rows and of the columns after each step; rows * matrix * columns is the result.

    A sum below 1e-10, allRank's least, counts as that.
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
    """(n,) sum_r weights_r matrix_r, row by row: as many sums at once as a register holds."""
    out = np.zeros(matrix.shape[1])
    for r in range(len(matrix)):
        for j in range(matrix.shape[1]):
            out[j] += weights[r] * matrix[r, j]
    return out


@compiled()
def through_sinkhorn(matrix, rows, columns, slope):
    """(n, n) slope of the matrix, given that of rows[-1] * matrix * columns[-1]: the steps, backwards.

    A factor that stands at its bound passes nothing on.
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
