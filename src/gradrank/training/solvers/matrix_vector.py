"""Products of a matrix and a vector as compiled loops.

Unlike with BLAS, the results do not depend on the number of threads.
"""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:,:], f8[:]")
def times(matrix, vector):
    """Return the (n,) product M v. Four rows are processed at a time, because their sums are independent."""
    out = np.zeros(len(matrix))
    whole = len(matrix) // 4 * 4
    for i in range(0, whole, 4):
        a = b = c = d = 0.0
        for j in range(len(vector)):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            d += matrix[i + 3, j] * vector[j]
        out[i : i + 4] = a, b, c, d
    for i in range(whole, len(matrix)):
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]
    return out


@compiled("f8[:,:], f8[:]")
def transposed_times(matrix, vector):
    """Return the (m,) product M^T v."""
    out = np.zeros(matrix.shape[1])
    for i in range(len(matrix)):
        for j in range(len(out)):
            out[j] += vector[i] * matrix[i, j]
    return out


@compiled("f4[:,:], f8[:], f8[:]", reassociated=True)
def centred_times(matrix, mean, vector):
    """Return the (n,) float64 product (M - mean) v without a copy of the (n, m) float32 matrix M."""
    out = np.zeros(len(matrix))
    for i in range(len(matrix)):
        total = 0.0
        for j in range(len(vector)):
            total += (matrix[i, j] - mean[j]) * vector[j]
        out[i] = total
    return out


@compiled("f4[:,:], f8[:], f8[:]")
def transposed_centred_times(matrix, mean, vector):
    """Return the (m,) float64 product (M - mean)^T v without a copy of the (n, m) float32 matrix M."""
    out = np.zeros(matrix.shape[1])
    for i in range(len(matrix)):
        for j in range(len(out)):
            out[j] += vector[i] * (matrix[i, j] - mean[j])
    return out
