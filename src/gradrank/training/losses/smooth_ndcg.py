"""Smooth approximations of NDCG: approximate ranks, noisy scores, and soft permutations.

Soft permutations are those of NeuralSort (Grover et al. 2019), a differentiable relaxation of sorting.
"""

import math

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.order import order
from gradrank.training.loss import loss
from gradrank.training.ndcg_gains import ALL_RANKS, discounts, ideal_shares


@loss(reads_labels="gains")
def approx_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    temperature: float = 0.1,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_i G_i / log2(1 + r_i), and its gradient with respect to the scores.

    The smooth ranks are r_i = 1 + sum_{j != i} sig((s_j - s_i) / temperature), where sig is the logistic function. The
    gains are G_i = (2^y_i - 1) / IDCG. If a query has no equal scores, its cost tends to -NDCG as the temperature tends
    to 0. Time per query: O(n^2).

    ApproxNDCG (Qin, Liu & Li 2010): NDCG with ranks replaced by differentiable approximations.

    Source: Qin, Liu & Li 2010, A general approximation framework for direct optimization of information retrieval
    measures.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: scale of score differences in the smooth ranks.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return smooth_ndcg(
        scores / temperature, ideal_shares(labels, offsets, ALL_RANKS, gains), offsets, 1.0 / temperature
    )


@compiled("f8[:], f8[:], i8[:], f8")
def smooth_ndcg(scores, share, offsets, slope):
    """Return the cost of `approx_ndcg` at temperature 1, and its (n,) gradient multiplied by `slope`.

    share: (n,) normalised gains G.
    """
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        ranks = np.ones(b - a)
        curve = np.empty((b - a, b - a))  # derivative of sig for each pair
        for i in range(a, b):
            for j in range(i + 1, b):
                o = scores[j] - scores[i]
                e = np.exp(-abs(o))
                above = (1.0 if o >= 0.0 else e) / (1.0 + e)
                ranks[i - a] += above
                ranks[j - a] += 1.0 - above
                curve[i - a, j - a] = e / (1.0 + e) ** 2
        rank_slope = np.empty(b - a)  # derivative of the cost with respect to each rank
        for i in range(b - a):
            log_rank = np.log1p(ranks[i])
            cost -= share[a + i] * np.log(2.0) / log_rank
            rank_slope[i] = share[a + i] * np.log(2.0) / (log_rank**2 * (1.0 + ranks[i]))
        for i in range(b - a):
            for j in range(i + 1, b - a):
                change = slope * curve[i, j] * (rank_slope[i] - rank_slope[j])
                gradient[a + i] -= change
                gradient[a + j] += change
    return cost, gradient


@loss(reads_labels="gains")
def gumbel_approx_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    rng: np.random.Generator | None = None,
    temperature: float = 0.1,
    draws: int = 8,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the mean cost of `approx_ndcg` over `draws` samples of noisy scores, and its gradient.

    Each sample adds Gumbel(0, 1) noise to the scores. The order of the noisy scores is a sample of the Plackett-Luce
    model. Time per query: O(draws n^2).

    ApproxNDCG averaged over scores with Gumbel noise (Bruch et al. 2020).

    Source: Bruch et al. 2020, A Stochastic Treatment of Learning to Rank Scoring Functions.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        rng: generator of the noise. If None, the cost is that of `approx_ndcg` without noise.
        temperature: as in `approx_ndcg`.
        draws: number of samples.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    share = ideal_shares(labels, offsets, ALL_RANKS, gains)
    cost, gradient = 0.0, np.zeros(len(scores))
    count = draws if rng is not None else 1
    for _ in range(count):
        noise = 0.0 if rng is None else rng.gumbel(size=len(scores))
        drawn_cost, slope = smooth_ndcg((scores + noise) / temperature, share, offsets, 1.0 / temperature)
        cost += drawn_cost
        gradient += slope
    return cost / count, gradient / count


@loss(reads_labels="gains")
def smoothrank(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    temperature: float = 1.0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_{r<=cutoff} sum_i G_i h_ir / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. The share h_ir of document i in rank r is proportional to
    exp(-(s_i - s_(r))^2 / temperature), where s_(r) is the score at rank r; the shares in a rank sum to 1. If a query
    has no equal scores, its cost tends to -NDCG@cutoff as the temperature tends to 0. Time per query:
    O(n min(n, cutoff)).

    SmoothRank (Chapelle & Wu 2010): NDCG in which documents with similar scores share a rank.

    Source: Chapelle & Wu 2010, Gradient descent optimization of smoothed information retrieval metrics. The formula was
    not checked against the text of the paper. Tests confirm its limit and compare its gradient with finite differences.
    The paper trains a linear scorer at decreasing temperatures, starting from the weights of a regression. This loss
    trains any scorer at one temperature.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: scale of squared score differences.
        cutoff: number of ranks that count.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    share = ideal_shares(labels, offsets, cutoff, gains)
    return _near_ranks(scores, share, offsets, order(scores, offsets), temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], i8[:], f8, i8")
def _near_ranks(scores, share, offsets, ranked, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        near = np.empty(b - a)
        for r, discount in enumerate(discounts(min(b - a, cutoff), cutoff)):
            centre = ranked[a + r]
            for i in range(a, b):
                near[i - a] = np.exp(-((scores[i] - scores[centre]) ** 2) / temperature)
            near /= near.sum()
            gain = (near * share[a:b]).sum()
            cost -= discount * gain
            for i in range(a, b):
                slope = 2.0 * (scores[i] - scores[centre]) / temperature
                slope *= discount * near[i - a] * (share[i] - gain)
                gradient[i] += slope
                gradient[centre] -= slope
    return cost, gradient


@loss(reads_labels="gains")
def softrank(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    delta: float = 1.0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of 1 - sum_j G_j sum_{r<=cutoff} p_j(r) / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. p_j is the distribution of the rank of document j if every other document
    i ranks above j independently, with probability Phi((s_i - s_j) / (sqrt(2) delta)). Phi is the normal distribution
    function. The cost of a query tends to 1 - NDCG@cutoff as delta tends to 0. The cost of a query without relevant
    documents is 0. Time per query: O(n^2 min(n, cutoff)).

    SoftRank (Taylor et al. 2008): the expected NDCG of scores with normal noise.

    Source: Taylor et al. 2008, SoftRank: optimizing non-smooth rank metrics. The recursion of the rank distributions
    was not checked against the text of the paper. Tests confirm that the distributions sum to 1 and that the cost has
    the right limit without noise. They also compare the gradient with finite differences.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        delta: standard deviation of the noise on the scores.
        cutoff: number of ranks that count.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _expected(scores, ideal_shares(labels, offsets, cutoff, gains), offsets, math.sqrt(2.0) * delta, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _expected(scores, share, offsets, scale, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        if share[a:b].sum() == 0.0:
            continue
        discount = discounts(min(b - a, cutoff), cutoff)
        cost += 1.0
        for j in range(a, b):
            if share[j] == 0.0:
                continue
            ranks = rank_distributions(scores[a:b], j - a, scale, len(discount))
            cost -= share[j] * (ranks[b - a - 1] * discount).sum()
            _add_gradient(scores[a:b], j - a, scale, ranks, share[j] * discount, gradient[a:b])
    return cost, gradient


@compiled()
def normal_probability(difference, scale):
    """Return Phi(difference / scale), where Phi is the normal distribution function."""
    return 0.5 * math.erfc(-difference / (scale * math.sqrt(2.0)))


@compiled()
def rank_distributions(scores, j, scale, ranks):
    """Return (n, ranks) probabilities: one distribution of document j's rank per row.

    In the first row, document j is alone; each further row adds one other document. The probability of a rank depends
    only on the previous row's probabilities of this rank and of the rank above. So only the first `ranks` columns need
    to be computed.
    """
    n = len(scores)
    out = np.zeros((n, ranks))
    out[0, 0] = 1.0
    step = 0
    for i in range(n):
        if i != j:
            p = normal_probability(scores[i] - scores[j], scale)
            out[step + 1, 0] = out[step, 0] * (1.0 - p)
            for r in range(1, min(step + 2, ranks)):
                out[step + 1, r] = out[step, r - 1] * p + out[step, r] * (1.0 - p)
            step += 1
    return out


@compiled()
def _add_gradient(scores, j, scale, ranks, values, gradient):
    """Add to `gradient` the gradient of -sum_r p_j(r) values_r with respect to the scores.

    The recursion of `rank_distributions` is differentiated in reverse order.
    """
    values = values.copy()
    step = len(scores) - 1
    for i in range(len(scores) - 1, -1, -1):
        if i == j:
            continue
        step -= 1
        difference = scores[i] - scores[j]
        p = normal_probability(difference, scale)
        slope = 0.0  # derivative of the expected value with respect to p
        for r in range(len(values)):
            after = values[r + 1] if r + 1 < len(values) else 0.0
            slope += ranks[step, r] * (after - values[r])
            values[r] = after * p + values[r] * (1.0 - p)
        density = math.exp(-0.5 * (difference / scale) ** 2) / (math.sqrt(2.0 * math.pi) * scale)
        gradient[i] -= slope * density
        gradient[j] += slope * density


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


@loss(reads_labels="gains")
def pirank(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    temperature: float = 5.0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_{r<=cutoff} (P G)_r / log2(1 + r), and its gradient.

    P is the soft permutation of NeuralSort, and the gains are G = (2^y - 1) / IDCG@cutoff. The cost of a query tends to
    -NDCG@cutoff as the temperature tends to 0. Time per query: O(n^2).

    PiRank (Swezey et al. 2021): NDCG of a soft permutation.

    Source: Swezey et al. 2021, PiRank: Scalable Learning To Rank via Differentiable Sorting.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: temperature of NeuralSort.
        cutoff: number of ranks that count.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _pirank_ndcg(scores, ideal_shares(labels, offsets, cutoff, gains), offsets, temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _pirank_ndcg(scores, share, offsets, temperature, cutoff):
    cost = 0.0
    gradient = np.zeros(len(scores))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        gains = share[a:b]
        if gains.sum() == 0.0:
            continue
        discount = discounts(min(b - a, cutoff), cutoff)
        soft = soft_sort(scores[a:b], len(discount), temperature)
        slope = np.empty(soft.shape)
        for r in range(len(discount)):
            slope[r] = -discount[r] * gains
            cost += (soft[r] * slope[r]).sum()
        gradient[a:b] = soft_sort_gradient(scores[a:b], soft, slope, temperature)
    return cost, gradient


@loss(reads_labels="gains")
def neural_ndcg(
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    *,
    temperature: float = 1.0,
    cutoff: int = ALL_RANKS,
    gains: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the sum over queries of -sum_{r<=cutoff} (P G)_r / log2(1 + r), and its gradient.

    The gains are G = (2^y - 1) / IDCG@cutoff. P is a doubly stochastic soft permutation: the matrix of NeuralSort after
    Sinkhorn scaling. The scaling divides columns and rows by their sums in turn, at most 50 times, until all sums are
    within 1e-6 of 1. The cost of a query tends to -NDCG@cutoff as the temperature tends to 0. Time per query:
    O(n^2) per Sinkhorn step.

    NeuralNDCG (Pobrotyn & Bialobrzeski 2021): NDCG of a soft permutation that is doubly stochastic.

    Source: Pobrotyn & Bialobrzeski 2021, NeuralNDCG: Direct Optimisation of a Ranking Metric via Differentiable
    Relaxation of Sorting.

    Args:
        scores: (n,) float64.
        labels: (n,) integer grades.
        offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
        temperature: temperature of NeuralSort.
        cutoff: number of ranks that count.
        gains: gain per grade from 0; None for 2^grade - 1.

    Returns:
        The cost and its (n,) float64 gradient with respect to the scores.
    """
    return _neural_ndcg(scores, ideal_shares(labels, offsets, cutoff, gains), offsets, temperature, cutoff)


@compiled("f8[:], f8[:], i8[:], f8, i8")
def _neural_ndcg(scores, share, offsets, temperature, cutoff):
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
    sums = weighted_rows(rows[0], matrix)
    for step in range(1, 51):
        columns[step] = 1.0 / np.maximum(sums, 1e-10)
        rows[step] = 1.0 / np.maximum(weighted_rows(columns[step], across), 1e-10)
        sums = weighted_rows(rows[step], matrix)
        if np.abs(sums * columns[step] - 1.0).max() < 1e-6:
            return rows[: step + 1], columns[: step + 1]
    return rows, columns


@compiled()
def weighted_rows(weights, matrix):
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
    by_row = weighted_rows(columns[-1], weighted.T.copy())
    by_column = weighted_rows(rows[-1], weighted)
    for step in range(len(rows) - 1, 0, -1):
        by_sum = np.where(rows[step] < 1e10, -by_row * rows[step] ** 2, 0.0)
        by_column += weighted_rows(by_sum, matrix)
        by_column = np.where(columns[step] < 1e10, -by_column * columns[step] ** 2, 0.0)
        for r in range(len(matrix)):
            for j in range(len(matrix)):
                out[r, j] += by_sum[r] * columns[step, j] + rows[step - 1, r] * by_column[j]
        by_row = weighted_rows(by_column, across)
        by_column[:] = 0.0
    return out
