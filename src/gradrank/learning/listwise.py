"""ListNet's loss on whole lists (Cao et al. 2007): cross-entropy between top-one probabilities."""

import numpy as np

from gradrank.compiled import compiled


def listnet(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, temperature: float = 1.0, sigma: float = 1.0
) -> tuple[float, np.ndarray]:
    """-sum_i P_y(i) ln P_s(i), summed over queries, and its gradient sigma (P_s - P_y).

    P_y = softmax(grades / temperature), P_s = softmax(sigma * scores), each within its query: the top-one
    probabilities of Cao et al. 2007 with phi = exp.
    scores: (n,); labels: (n,) grades; offsets: (q+1,). Returns the cost and the (n,) float64 gradient.
    """
    target = softmax(labels / temperature, offsets)
    cost, gradient = _cross_entropy(sigma * np.asarray(scores, dtype=np.float64), target, offsets)
    return cost, sigma * gradient


@compiled
def softmax(values, offsets):
    """(n,) float64 probabilities exp(v_i) / sum_j exp(v_j) within each query, without overflow."""
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


@compiled
def _cross_entropy(scores, target, offsets):
    """-sum target * ln softmax(scores), the logarithm taken before anything can underflow."""
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
            cost -= target[i] * log_p
            gradient[i] = np.exp(log_p) - target[i]
    return cost, gradient
