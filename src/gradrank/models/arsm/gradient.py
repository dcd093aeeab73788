"""The ARSM gradient of a ranking measure: augment, REINFORCE, swap, merge (Yin, Yue & Zhou 2019).

The level z in 0..C-1 of a document is drawn from softmax(phi) by a race between the C levels. With e ~ Exp(1)^C, the
vector pi = e / sum(e) has the distribution Dirichlet(1_C), and z = argmin_c(ln pi_c - phi_c). The value
ln pi_c - phi_c is called the race of level c; the smallest race wins. Documents are ranked by level, the highest first.
The measure need not be differentiable. If pi_c and pi_k are swapped in all documents of a query, the levels become
z^(c<->k). L_ck is the loss of these levels. The following expectation equals the gradient of the expected loss:

    dE[loss]/dphi_jc = E[ sum_k (L_ck - mean_m L_mk) (1/C - pi_jk) ].

The estimate is the sum for a single draw of pi, so it is unbiased.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.models.arsm.expected_measure import Measure, by_level, changed_values, sums_above


def arsm_gradient(
    phi: np.ndarray, races: np.ndarray, offsets: np.ndarray, measure: Measure
) -> tuple[float, np.ndarray]:
    """Return the loss of the drawn levels, and an unbiased (n, C) estimate of the gradient of the expected loss.

    The loss is the negative measure, summed over queries. The gradient is with respect to phi.

    phi: (n, C) logits. races: (n, C) draws from Exp(1), called e above. offsets: (q+1,).
    """
    pi = races / races.sum(axis=1, keepdims=True)
    return _gradient(phi, np.log(pi), pi, offsets, *measure)


def entropy_gradient(phi: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the (n, C) gradient of the negative entropy of softmax(phi) with respect to phi.

    The entropy is averaged over the documents of each query and summed over queries. If this gradient, times a weight,
    is added to the gradient of the loss, documents do not concentrate on a few levels too early (Williams & Peng 1991).

    phi: (n, C) logits. offsets: (q+1,).
    """
    log_p = phi - phi.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(axis=1, keepdims=True)
    sizes = np.diff(offsets)
    return p * (log_p + entropy) / np.repeat(sizes, sizes)[:, None]


@compiled("f8[:,:], f8[:,:], f8[:,:], i8[:], f8[:], f8[:], f8[:], i8, b1")
def _gradient(phi, log_pi, pi, offsets, gain, scale, cumulated, cutoff, precision):
    measure = Measure(gain, scale, cumulated, cutoff, precision)
    n, C = phi.shape
    loss, gradient = 0.0, np.zeros((n, C))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        swapped = swapped_values(phi[a:b], log_pi[a:b], gain[a:b], measure)
        swapped *= -scale[q]
        loss += swapped[0, 0]
        for k in range(C):
            swapped[k] -= np.mean(swapped[k])  # row k is L_ck for all c, because L is symmetric
        for j in range(a, b):
            for k in range(C):
                weight = 1.0 / C - pi[j, k]
                for c in range(C):
                    gradient[j, c] += swapped[k, c] * weight
    return loss, gradient


@compiled("f8[:,:], f8[:,:], f8[:], f8[:], f8[:], i8, b1")
def values_of_swaps(phi, log_pi, gain, scale, cumulated, cutoff, precision):
    """Return the result of `swapped_values` for one query. This function can be called from Python.

    gain, scale, cumulated, cutoff, precision: the fields of a Measure.
    """
    return swapped_values(phi, log_pi, gain, Measure(gain, scale, cumulated, cutoff, precision))


@compiled()
def swapped_values(phi, log_pi, gain, measure):
    """Return the symmetric (C, C) matrix of the measures of one query after each swap.

    Element (c, k) is the measure of the levels z^(c<->k), not yet multiplied by the scale. On the diagonal it is the
    measure of the drawn levels z. The histogram of the drawn levels is computed only once. For each swap, the histogram
    is updated for the documents whose level changes, about one document in eight. Only the levels up to the highest
    changed level are then evaluated again.

    phi, log_pi: (n, C). gain: (n,).
    """
    n, C = phi.shape
    winners, races, least, most = draw(phi, log_pi)
    documents, gains = by_level(winners[:, 0], gain, C)
    sums = sums_above(documents, gains, measure)
    values = np.full((C, C), sums[0][0])
    moved, moved_gains, highest = np.empty((C, C), np.int64), np.empty((C, C)), np.empty(C, np.int64)
    for c in range(C):
        highest[:] = -1
        for j in range(n):
            before, bar = winners[j, 0], races[j, 0]
            # A swap that includes the winning level can change the level of the document. Other swaps change it only if
            # the race of c or of k becomes smaller than the winning race. For most documents, the bounds `least` and
            # `most` show that this happens for no swap of c.
            first, last = c + 1, C
            if before != c and least[j] - phi[j, c] >= bar and log_pi[j, c] - most[j] >= bar:
                first, last = max(first, before), before + 1
            for k in range(first, last):
                at_c, at_k = log_pi[j, k] - phi[j, c], log_pi[j, c] - phi[j, k]
                if c == before or k == before or at_c < bar or at_k < bar:
                    level = level_after_swap(c, k, at_c, at_k, winners[j], races[j])
                    if highest[k] < 0:
                        for each in range(C):
                            moved[k, each], moved_gains[k, each] = documents[each], gains[each]
                    highest[k] = max(highest[k], before, level)
                    moved[k, before] -= 1
                    moved[k, level] += 1
                    moved_gains[k, before] -= gain[j]
                    moved_gains[k, level] += gain[j]
        rest = slice(c + 1, C)
        values[c, rest] = changed_values(highest[rest], moved[rest], moved_gains[rest], sums, measure)
        values[rest, c] = values[c, rest]
    return values


@compiled()
def draw(phi, log_pi):
    """Return four arrays that determine how the level of each document changes after a swap.

    winners: (n, 3) the levels of the three smallest races, in ascending order of the races. races: (n, 3) these races.
    least: (n,) the smallest ln pi of the levels that did not win. most: (n,) the largest phi of the levels that did not
    win. If there are only two levels, the third level is -1 and its race is infinite.

    The arguments phi and log_pi are (n, C).
    """
    n, C = phi.shape
    winners, races = np.empty((n, 3), np.int64), np.empty((n, 3))
    least, most = np.empty(n), np.empty(n)
    for j in range(n):
        first, second, third = -1, -1, -1
        best, better, good = np.inf, np.inf, np.inf
        for c in range(C):
            race = log_pi[j, c] - phi[j, c]
            if race < best:
                third, second, first = second, first, c
                good, better, best = better, best, race
            elif race < better:
                third, second = second, c
                good, better = better, race
            elif race < good:
                third, good = c, race
        winners[j, 0], winners[j, 1], winners[j, 2] = first, second, third
        races[j, 0], races[j, 1], races[j, 2] = best, better, good
        low, high = np.inf, -np.inf
        for c in range(C):
            if c != first:
                low, high = min(low, log_pi[j, c]), max(high, phi[j, c])
        least[j], most[j] = low, high
    return winners, races, least, most


@compiled()
def level_after_swap(c, k, at_c, at_k, winners, races):
    """Return the level of a document after pi_c and pi_k are swapped.

    The level is c, k, or the level with the smallest race among the other levels.

    at_c, at_k: the races of c and k after the swap. winners, races: (3,) from `draw`, before the swap.
    """
    rest = 0
    if c == winners[0] or k == winners[0]:
        rest = 2 if c + k - winners[0] == winners[1] else 1
    level, least = winners[rest], races[rest]
    if at_c < least:
        level, least = c, at_c
    if at_k < least:
        level = k
    return level
