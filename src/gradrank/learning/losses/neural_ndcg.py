"""NeuralNDCG (Pobrotyn & Bialobrzeski 2021): soft NDCG, each document shared out over the ranks exactly once."""

import numpy as np

from gradrank.compiled import compiled
from gradrank.learning.gains import ALL_RANKS, discounts, ideal_shares
from gradrank.learning.loss import loss
from gradrank.learning.neural_sort import soft_sort, through_soft_sort


@loss
def neural_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    temperature: float = 1.0,
    cutoff: int = ALL_RANKS,
) -> tuple[float, np.ndarray]:
    """-sum_{r<=cutoff} (P G)_r / log2(1 + r), P NeuralSort's, doubly stochastic, G = (2^y - 1) / IDCG@cutoff.

    By Sinkhorn: columns, then rows divided by their sums, at most 50 times, or until all sums are within 1e-6 of 1.
    -NDCG@cutoff as the temperature falls. O(n^2) a step.
    """
    return _soft_ndcg(scores, ideal_shares(labels, offsets, cutoff), offsets, temperature, cutoff)


@compiled
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


@compiled
def sinkhorn(matrix):
    """(steps + 1, n) factors of the rows and of the columns after each step; rows * matrix * columns is the result.

    A sum below 1e-10, allRank's least, counts as that.
    """
    n = len(matrix)
    rows, columns = np.ones((51, n)), np.ones((51, n))
    sums = _column_sums(matrix, rows[0])
    for step in range(1, 51):
        columns[step] = 1.0 / np.maximum(sums, 1e-10)
        for r in range(n):
            rows[step, r] = 1.0 / max((matrix[r] * columns[step]).sum(), 1e-10)
        sums = _column_sums(matrix, rows[step])
        if np.abs(sums * columns[step] - 1.0).max() < 1e-6:
            return rows[: step + 1], columns[: step + 1]
    return rows, columns


@compiled
def _column_sums(matrix, rows):
    out = np.zeros(matrix.shape[1])
    for r in range(len(matrix)):
        out += rows[r] * matrix[r]
    return out


@compiled
def through_sinkhorn(matrix, rows, columns, slope):
    """(n, n) slope of the matrix, given that of rows[-1] * matrix * columns[-1]: the steps, backwards.

    A factor that stands at its bound passes nothing on.
    """
    n = len(matrix)
    out = np.empty((n, n))
    by_row, by_column = np.zeros(n), np.zeros(n)
    for r in range(n):
        weighted = slope[r] * matrix[r]
        out[r] = rows[-1, r] * slope[r] * columns[-1]
        by_row[r] = (weighted * columns[-1]).sum()
        by_column += rows[-1, r] * weighted
    for step in range(len(rows) - 1, 0, -1):
        for r in range(n):
            factor = rows[step, r]
            sum_slope = -by_row[r] * factor * factor if factor < 1e10 else 0.0
            out[r] += sum_slope * columns[step]
            by_column += sum_slope * matrix[r]
        for j in range(n):
            factor = columns[step, j]
            by_column[j] = -by_column[j] * factor * factor if factor < 1e10 else 0.0
        for r in range(n):
            out[r] += rows[step - 1, r] * by_column
            by_row[r] = (matrix[r] * by_column).sum()
        by_column[:] = 0.0
    return out
