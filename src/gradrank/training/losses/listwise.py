"""Losses on whole lists: cross-entropies with a softmax, likelihoods of the Plackett-Luce model, and RankCosine.

In the Plackett-Luce model, the document at each rank is drawn from the remaining documents, with probabilities
softmax(scores).
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import discounts, gains_of


@compiled("f8[:], i8[:]")
def top_one(values, offsets):
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


@loss(reads_labels="numbers")
def listnet(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, temperature: float = 1.0, sigma: float = 1.0
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i P_y(i) ln P_s(i), and its gradient sigma (P_s - P_y).

    P_y = softmax(labels / temperature) and P_s = softmax(sigma * scores), each within one query. They are the top-one
    probabilities of Cao et al. 2007 with phi = exp. Time per query: O(n).

    ListNet (Cao et al. 2007): cross-entropy between the top-one probabilities of grades and scores.

    Source: Cao et al. 2007, Learning to Rank: From Pairwise Approach to Listwise Approach.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: divisor of the grades.
        sigma: factor of the scores.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    target = top_one(labels / temperature, offsets)
    cost, gradient = cross_entropy(sigma * scores, target, np.ones(len(offsets) - 1), offsets)
    return cost, sigma * gradient


@loss(reads_labels="numbers")
def softmax(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i y_i ln p_i, where p = softmax(scores), and its gradient.

    ListNet uses the targets softmax(y) instead of y. The cost of a query without relevant documents is 0. Time per
    query: O(n).

    Softmax cross-entropy on grades. The weight of a query is the sum of its grades.

    Source: Bruch et al. 2019, An Analysis of the Softmax Cross Entropy Loss for Learning-to-Rank with Binary Relevance.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = np.bincount(queries, labels, len(offsets) - 1)
    target = labels / np.where(total > 0.0, total, 1.0)[queries]
    return cross_entropy(scores, target, total, offsets)


@loss(reads_labels="gains")
def xe_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i phi_i ln p_i, where p = softmax(scores), and its gradient.

    The targets phi_i are proportional to 2^y_i - gamma_i and sum to 1 in each query. The numbers gamma_i are drawn
    uniformly from [0, 1). Each query has the same weight. Time per query: O(n).

    XE-NDCG: a cross-entropy between random targets and the softmax of the scores, which bounds NDCG.

    Source: Bruch 2021, An Alternative Cross Entropy Loss for Learning-to-Rank, Eqs. 5 and 6.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of gamma. If None, every gamma is its mean, 1/2.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    gamma = np.full(len(scores), 0.5) if rng is None else rng.random(len(scores))
    mass = gains_of(labels, gains) + 1.0 - gamma
    total = np.bincount(queries, mass, len(offsets) - 1)
    weight = (np.diff(offsets) > 0).astype(np.float64)
    return cross_entropy(scores, mass / total[queries], weight, offsets)


@compiled("f8[:], i8[:], i8[:], f8[:]")
def order_likelihood(scores, offsets, ordered, weights):
    """Return the weighted negative log-likelihood of an order, and its (n,) gradient with respect to the scores.

    The cost is the sum over queries of -sum_r w_r ln P_r, where P_r is the probability that the document at rank r is
    drawn from the documents at ranks r, ..., n. Sums are stored as logarithms, because documents with scores far below
    the others would vanish from plain sums. Time per query: O(n).

    scores: (n,) float64. offsets: (q+1,) int64. ordered: (n,) int64 row numbers in the order of the ranks, query by
    query. weights: (n,) float64 >= 0, the weights w of the ranks, query by query.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    left = np.empty(len(scores))  # ln sum of exp(score) over this rank and all later ranks
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        log_sum = -np.inf
        for r in range(b - 1, a - 1, -1):
            log_sum = log_add(log_sum, scores[ordered[r]])
            left[r] = log_sum
        log_shares = -np.inf  # ln sum of w_r / (sum of exp(score) from rank r on), over the previous ranks
        for r in range(a, b):
            row = ordered[r]
            cost += weights[r] * (left[r] - scores[row])
            if weights[r] > 0.0:
                log_shares = log_add(log_shares, np.log(weights[r]) - left[r])
            gradient[row] = np.exp(scores[row] + log_shares) - weights[r]
    return cost, gradient


@compiled()
def log_add(x, y):
    """Return ln(e^x + e^y) without overflow; -inf stands for an empty sum."""
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@loss(reads_labels="gains")
def unique_softmax(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, gains: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of the cost below, and its gradient with respect to the scores.

    The cost of a query is -sum_i (2^y_i - 1) ln [e^s_i / (e^s_i + sum_{y_j < y_i} e^s_j)]. Time per query:
    O(n log n), because documents of one grade share the sum over the lower grades.

    Unique softmax (Zhu & Klabjan 2020): a softmax over each document and all documents of lower grades.

    Source: Zhu & Klabjan 2020, Listwise Learning to Rank by Exploring Unique Ratings.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _by_grade(scores, labels, gains_of(labels, gains), offsets, order(labels.astype(np.float64), offsets))


@compiled("f8[:], i8[:], f8[:], i8[:], i8[:]")
def _by_grade(scores, labels, gains, offsets, ordered):
    cost = 0.0
    gradient = np.zeros(len(scores))
    below = np.empty(len(scores))  # ln sum of exp(score) over the lower grades
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        lower, level = -np.inf, -np.inf
        for place in range(b - 1, a - 1, -1):
            row = ordered[place]
            if place < b - 1 and labels[row] != labels[ordered[place + 1]]:
                lower = level
            below[place] = lower
            level = log_add(level, scores[row])
        higher, level = -np.inf, -np.inf  # ln sum of gain / denominator over the higher grades
        for place in range(a, b):
            row = ordered[place]
            if place > a and labels[row] != labels[ordered[place - 1]]:
                higher = level
            gain = gains[row]
            log_sum = log_add(scores[row], below[place])
            cost += gain * (log_sum - scores[row])
            gradient[row] = gain * np.expm1(scores[row] - log_sum) + np.exp(scores[row] + higher)
            if gain > 0.0:
                level = log_add(level, np.log(gain) - log_sum)
    return cost, gradient


@loss(reads_labels="order")
def listmle(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    positions: bool = False,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of sum_r w_r [ln sum_{k>=r} exp s_(k) - s_(r)], and its gradient.

    s_(r) is the score of the document at rank r in the order by grade. Time per query: O(n log n).

    ListMLE (Xia et al. 2008): the likelihood of the order by grade, optionally weighted by position (Lan et al. 2014).

    Sources: Xia et al. 2008, Listwise Approach to Learning to Rank: Theory and Algorithm; Lan et al. 2014,
    Position-Aware ListMLE: A Sequential Learning Process for Ranking.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator that shuffles documents of equal grades (Xia et al. 2008). If None, documents of equal grades
            keep the order of the rows.
        positions: whether w_r is proportional to 2^(n-r) - 1, with sum 1 (Lan et al. 2014). Otherwise w_r = 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    if rng is not None:
        shuffled = order(rng.random(len(scores)), offsets)
        ordered = shuffled[order(labels[shuffled].astype(np.float64), offsets)]
    else:
        ordered = order(labels.astype(np.float64), offsets)
    weights = position_weights(offsets) if positions else np.ones(len(scores))
    return order_likelihood(scores, offsets, ordered, weights)


@compiled("i8[:]")
def position_weights(offsets):
    """Return the (n,) weights of the ranks of all queries, proportional to 2^(n-r) - 1 for rank r of n documents.

    The weights of a query sum to 1. If a query has only one document, its weight is 0. The powers are scaled by 2^-n,
    because 2^n overflows from 1,024 documents on.
    """
    out = np.zeros(offsets[-1])
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        for r in range(a, b):
            out[r] = 0.5 ** (r - a + 1.0) - 0.5 ** float(b - a)
        total = out[a:b].sum()
        if total > 0.0:
            out[a:b] /= total
    return out


@loss(reads_labels="gains")
def mdprank(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_t G_t ln pi_t for one drawn ranking per query, and its gradient.

    pi_t is the probability that the document at rank t is drawn from the documents at ranks t, ..., n. The return is
    G_t = sum_{k>=t} (2^y_(k) - 1) / log2(1 + k), where y_(k) is the grade at rank k. The gradient treats the returns as
    constants. The expectation of this gradient is the gradient of the expected -DCG. The rewards are discounted only by
    DCG. Time per query:
    O(n log n).

    MDPRank (Wei et al. 2017): policy gradient (REINFORCE) on rankings drawn from a Plackett-Luce model.

    Source: Wei et al. 2017, Reinforcement Learning to Rank with Markov Decision Process.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of Gumbel noise; the ranking is the order of the noisy scores (Yellott 1977). If None, no noise
            is added.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
    ordered = order(scores + noise, offsets)
    return order_likelihood(scores, offsets, ordered, returns(gains_of(labels, gains)[ordered], offsets))


@compiled("f8[:], i8[:]")
def returns(ranked, offsets):
    """Return the (n,) float64 returns: for each rank, the part of DCG from this rank and all later ranks.

    ranked: (n,) gains in rank order, query by query.
    """
    out = np.empty(len(ranked))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        discount = discounts(b - a, b - a)
        total = 0.0
        for r in range(b - 1, a - 1, -1):
            total += ranked[r] * discount[r - a]
            out[r] = total
    return out


@loss(reads_labels="numbers")
def rankcosine(
    scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, *, centred: bool = False
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of (1 - cos(y, s)) / 2, and its gradient with respect to the scores.

    The cosine is 0 if all grades or all scores are 0. Time per query: O(n).

    RankCosine (Qin et al. 2008): the cosine distance between scores and grades.

    Source: Qin et al. 2008, Query-level loss functions for information retrieval.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        centred: whether each query's means of grades and scores are subtracted first. If so, adding a
            constant to all scores changes neither their order nor the cost.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _cosine_costs(scores, labels.astype(np.float64), offsets, centred)


@compiled("f8[:], f8[:], i8[:], b1")
def _cosine_costs(scores, grades, offsets, centred):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        s, y = scores[a:b].copy(), grades[a:b].copy()
        if centred and b > a:
            s -= s.mean()
            y -= y.mean()
        lengths = np.sqrt((s * s).sum()) * np.sqrt((y * y).sum())
        cosine = 0.0
        if lengths > 0.0:
            cosine = (s * y).sum() / lengths
            gradient[a:b] = (cosine * s / (s * s).sum() - y / lengths) / 2.0
        cost += (1.0 - cosine) / 2.0
    return cost, gradient
