"""Compiled functions of layers: affine maps, layer norm, SELU, and attention within a document and over documents.

The order of the sums for a document depends only on this document. Sums over the documents of a query are computed in
float64. So equal documents of a query have exactly equal results, and a permutation of the documents permutes them.
"""

import numpy as np

from gradrank.base.compiled import compiled


def affine(x: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Return x W + b of shape (n, outputs), in the type of the weights (float32 or float64); see `_affine`."""
    return (_affine_single if weights.dtype == np.float32 else _affine_double)(x, weights, biases)


@compiled("f4[:,:], f4[:,:], f4[:]")
def _affine_single(x, weights, biases):
    return _affine(x, weights, biases)


@compiled("f8[:,:], f8[:,:], f8[:]")
def _affine_double(x, weights, biases):
    return _affine(x, weights, biases)


@compiled()
def _affine(x, weights, biases):
    """Return x W + b of shape (n, outputs), summed in the order of the inputs.

    Four inputs of four rows are processed at a time, so that the weights are read once per four rows. The order of the
    sums of a row does not depend on the other rows.
    """
    out = np.empty((x.shape[0], weights.shape[1]), weights.dtype)
    full = x.shape[0] // 4 * 4
    for i in range(0, full, 4):
        _affine_four_rows(x[i : i + 4], weights, biases, out[i : i + 4])
    for i in range(full, x.shape[0]):
        _affine_one_row(x[i], weights, biases, out[i])
    return out


@compiled()
def _affine_four_rows(x, weights, biases, out):
    a, b, c, d = out[0], out[1], out[2], out[3]
    for k in range(len(biases)):
        a[k] = b[k] = c[k] = d[k] = biases[k]
    whole = x.shape[1] // 4 * 4
    for j in range(0, whole, 4):
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        a0, a1, a2, a3 = x[0, j], x[0, j + 1], x[0, j + 2], x[0, j + 3]
        b0, b1, b2, b3 = x[1, j], x[1, j + 1], x[1, j + 2], x[1, j + 3]
        c0, c1, c2, c3 = x[2, j], x[2, j + 1], x[2, j + 2], x[2, j + 3]
        d0, d1, d2, d3 = x[3, j], x[3, j + 1], x[3, j + 2], x[3, j + 3]
        for k in range(len(biases)):
            a[k] = a[k] + a0 * w0[k] + a1 * w1[k] + a2 * w2[k] + a3 * w3[k]
            b[k] = b[k] + b0 * w0[k] + b1 * w1[k] + b2 * w2[k] + b3 * w3[k]
            c[k] = c[k] + c0 * w0[k] + c1 * w1[k] + c2 * w2[k] + c3 * w3[k]
            d[k] = d[k] + d0 * w0[k] + d1 * w1[k] + d2 * w2[k] + d3 * w3[k]
    for j in range(whole, x.shape[1]):
        for k in range(len(biases)):
            a[k] += x[0, j] * weights[j, k]
            b[k] += x[1, j] * weights[j, k]
            c[k] += x[2, j] * weights[j, k]
            d[k] += x[3, j] * weights[j, k]


@compiled()
def _affine_one_row(x, weights, biases, row):
    for k in range(len(row)):
        row[k] = biases[k]
    whole = len(x) // 4 * 4
    for j in range(0, whole, 4):
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for k in range(len(row)):
            row[k] = row[k] + x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
    for j in range(whole, len(x)):
        for k in range(len(row)):
            row[k] += x[j] * weights[j, k]


@compiled("f4[:,:], f4[:], f4[:]")
def layer_norm(x, gain, shift):
    """Return the (n, width) rows, each normalised to mean 0 and variance 1, times `gain`, plus `shift`.

    Source: Ba et al. 2016. The sums are computed in float64.
    """
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        total, squares = 0.0, 0.0
        for k in range(x.shape[1]):
            total += x[i, k]
        mean = total / x.shape[1]
        for k in range(x.shape[1]):
            squares += (x[i, k] - mean) ** 2
        unit = 1.0 / np.sqrt(squares / x.shape[1] + 1e-5)  # torch's epsilon
        for k in range(x.shape[1]):
            out[i, k] = (x[i, k] - mean) * unit * gain[k] + shift[k]
    return out


@compiled("f4[:,:,:], f4[:,:,:]")
def linear_per_token(x, weights):
    """Return the (n, tokens, outputs) float32 products of (n, tokens, width) x, summed in the order of the inputs.

    weights: (tokens, width, outputs).
    """
    n, tokens, width = x.shape
    out = np.zeros((n, tokens, weights.shape[2]), x.dtype)
    for i in range(n):
        for t in range(tokens):
            row = out[i, t]
            for j in range(width):
                for k in range(len(row)):
                    row[k] += x[i, t, j] * weights[t, j, k]
    return out


@compiled("f4[:]")
def selu(x):
    """Return SELU of (n,) x, computed in float64 (Klambauer et al. 2017): c x if x > 0, and c a (exp(x) - 1) if not."""
    out = np.empty_like(x)
    for i in range(len(x)):
        value = float(x[i])
        out[i] = 1.0507009873554805 * (value if value > 0.0 else 1.6732632423543772 * np.expm1(value))
    return out


@compiled("f4[:,:,:], f4[:,:,:], f4[:,:,:], i8")
def attend_within(query, key, value, heads):
    """Return the (n, queries, width) float32 outputs of softmax attention within each of n documents.

    Each head uses its own width / heads columns, as in `attend`. All numbers are float32.

    query: (n, queries, width). key, value: (n, tokens, width) each. heads: number of heads.
    """
    n, queries, width = query.shape
    tokens, head_width = key.shape[1], width // heads
    out = np.zeros((n, queries, width), query.dtype)
    unit = np.float32(1.0 / np.sqrt(head_width))
    logits, columns = np.empty(tokens, np.float32), np.empty((width, tokens), np.float32)
    for i in range(n):
        for j in range(tokens):
            for k in range(width):
                columns[k, j] = key[i, j, k]
        for q in range(queries):
            for start in range(0, width, head_width):
                logits[:] = 0.0
                for k in range(start, start + head_width):
                    column, factor = columns[k], query[i, q, k] * unit
                    for j in range(tokens):
                        logits[j] += factor * column[j]
                highest = logits.max()
                total = np.float32(0.0)
                for j in range(tokens):
                    logits[j] = np.exp(logits[j] - highest)
                    total += logits[j]
                row = out[i, q, start : start + head_width]
                for j in range(tokens):
                    weight, values = logits[j] / total, value[i, j, start : start + head_width]
                    for k in range(head_width):
                        row[k] += weight * values[k]
    return out


@compiled("f4[:,:], f4[:,:], f4[:,:], i8[:], i8")
def attend(query, key, value, offsets, heads):
    """Return the (n, width) float32 outputs of attention from each document to all documents of its query.

    Each head uses its own width / heads columns. The output of a head for document i is the mean of the values of the
    documents j, with the weights softmax_j(query_i . key_j / sqrt(width / heads)).

    query, key, value: (n, width) float32 each. offsets: (q+1,) int64. heads: number of heads.
    """
    n, width = query.shape
    head_width = width // heads
    out = np.empty((n, width), query.dtype)
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        # The inner loop runs over the documents j, because sums over k in a fixed order cannot use wide registers.
        columns, logits = np.ascontiguousarray(key[a:b].T), np.empty(b - a)
        for i in range(a, b):
            for start in range(0, width, head_width):
                logits[:] = 0.0
                for k in range(start, start + head_width):
                    for j in range(b - a):
                        logits[j] += query[i, k] * columns[k, j]
                highest = -np.inf
                for j in range(b - a):
                    logits[j] /= np.sqrt(head_width)
                    highest = max(highest, logits[j])
                total, sums = 0.0, np.zeros(head_width)
                for j in range(a, b):
                    weight = np.exp(logits[j - a] - highest)
                    total += weight
                    for k in range(head_width):
                        sums[k] += weight * value[j, start + k]
                for k in range(head_width):
                    out[i, start + k] = sums[k] / total
    return out
