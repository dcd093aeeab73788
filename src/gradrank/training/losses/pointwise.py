"""Losses on single documents."""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.loss import loss


@loss(reads_labels="numbers")
def squared_error(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over documents of (y_i - s_i)^2, and its gradient with respect to the scores.

    Unlike `query_rmse`, the loss has no free constant per query. Time per query: O(n).

    Squared error between score and grade of each document, the pointwise loss of Cossock & Zhang 2006.

    Source: Cossock & Zhang 2006, Subset Ranking Using Regression (with equal weights of all documents).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; the loss does not depend on the queries.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    errors = scores - labels
    return float(errors @ errors), 2.0 * errors


@loss(reads_labels="numbers")
def pointwise_rmse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of sqrt(mean_i (y_i - s_i)^2), and its gradient with respect to the scores.

    For a query with cost 0, the gradient is set to 0. Time per query: O(n).

    Root mean squared error per query.

    Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (the pointwise RMSE of allRank).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _errors(scores, labels, offsets)


@compiled("f8[:], i8[:], i8[:]")
def _errors(scores, labels, offsets):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        squares = 0.0
        for i in range(a, b):
            squares += (scores[i] - labels[i]) ** 2
        if squares > 0.0:
            error = np.sqrt(squares / (b - a))
            cost += error
            for i in range(a, b):
                gradient[i] = (scores[i] - labels[i]) / ((b - a) * error)
    return cost, gradient


@loss(reads_labels="numbers")
def query_rmse(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of sum_i (d_i - mean(d))^2 with d_i = y_i - s_i, and its gradient.

    This is the squared error that remains after the best constant is added to all scores of the query. Time per query:
    O(n).

    Squared error after the best constant is added to the scores of each query. This constant does not change the order.

    Source: QueryRMSE of CatBoost (without its mean and square root).

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return centred_squares(scores, labels, offsets, False)


@compiled("f8[:], i8[:], i8[:], b1")
def centred_squares(scores, labels, offsets, times_documents):
    """Return the sum over queries of sum_i (d_i - mean(d))^2 with d = labels - scores, and its (n,) gradient.

    times_documents: whether the cost of each query is multiplied by its number of documents.
    """
    cost = 0.0
    gradient = np.empty(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        mean = 0.0
        for i in range(a, b):
            mean += (labels[i] - scores[i]) / (b - a)
        times = b - a if times_documents else 1
        for i in range(a, b):
            d = labels[i] - scores[i] - mean
            cost += times * d * d
            gradient[i] = -2.0 * times * d
    return cost, gradient


def _highest_grade(labels: np.ndarray) -> int:
    return max(int(labels.max(initial=0)), 1)


@loss(outputs=_highest_grade, reads_labels="grades")
def ordinal(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_i sum_{k=1..K} BCE(sig(o_ik), [y_i >= k]), and its gradient with respect to the outputs o.

    BCE is the binary cross-entropy, and sig is the logistic function. A trained model scores a document by
    sum_k sig(o_ik). Time: O(n K).

    Ordinal regression with one binary classifier per grade k, which predicts whether the grade is at least k.

    Source: Pobrotyn et al. 2020, Context-Aware Learning to Rank with Self-Attention (the ordinal loss of allRank).

    Args:
        scores: (n, K) float64 outputs o, where K is the highest grade; (n,) is accepted if K = 1.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; not used, because the documents are independent.

    Returns:
        The cost and its float64 gradient, which has the shape of `scores`.
    """
    cost, gradient = _binary_cross_entropies(scores[:, None] if scores.ndim == 1 else scores, labels)
    return cost, gradient.reshape(scores.shape)


@compiled("f8[:,:], i8[:]")
def _binary_cross_entropies(outputs, labels):
    cost = 0.0
    gradient = np.empty(outputs.shape)
    for i in range(len(outputs)):
        for k in range(outputs.shape[1]):
            target = 1.0 if labels[i] > k else 0.0
            o = outputs[i, k]
            e = np.exp(-abs(o))
            cost += max(o, 0.0) - target * o + np.log1p(e)
            gradient[i, k] = (1.0 if o >= 0.0 else e) / (1.0 + e) - target
    return cost, gradient
