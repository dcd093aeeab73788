"""Top-one probabilities of documents and their cross-entropy, for the losses `listnet` and `softmax`."""

import numpy as np

from gradrank.base.compiled import compiled


@compiled("f8[:], i8[:]")
def softmax(values, offsets):
    """Return the (n,) float64 probabilities exp(v_i) / sum_j exp(v_j) within each query, without overflow.

    values: (n,) float64. offsets: (q+1,) int64.
    """
    out = np.empty(len(values))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if a == b:
            continue
        highest = np.max(values[a:b])
        total = 0.0
        for i in range(a, b):
            out[i] = np.exp(values[i] - highest)
            total += out[i]
        for i in range(a, b):
            out[i] /= total
    return out


@compiled("f8[:], f8[:], f8[:], i8[:]")
def cross_entropy(scores, target, weight, offsets):
    """Return the weighted cross-entropy, and its (n,) gradient with respect to the scores.

    The cost is the sum over queries of -weight_q sum_i target_i ln softmax(scores)_i. The logarithm is computed from
    the scores, so small probabilities do not underflow.

    scores: (n,) float64. target: (n,) float64 probabilities, which sum to 1 within each query, or are all 0 if the
    weight of the query is 0. weight: (q,) float64. offsets: (q+1,) int64.
    """
    cost = 0.0
    gradient = np.empty(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if a == b:
            continue
        highest = np.max(scores[a:b])
        total = 0.0
        for i in range(a, b):
            total += np.exp(scores[i] - highest)
        norm = np.log(total)
        for i in range(a, b):
            log_p = scores[i] - highest - norm
            cost -= weight[q] * target[i] * log_p
            gradient[i] = weight[q] * (np.exp(log_p) - target[i])
    return cost, gradient
