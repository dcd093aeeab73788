"""The ARSM gradient of a ranking measure: augment, REINFORCE, swap, merge (Yin, Yue & Zhou 2019).

A document's level z in 0..C-1 is drawn from softmax(phi) by C exponential races: with e ~ Exp(1)^C,
pi = e / sum(e) is Dirichlet(1_C) and z = argmin_c(ln pi_c - phi_c). Documents rank by level, the highest
first; the measure needs no derivative. Swapping pi_c and pi_k in all documents of a query at once gives the
levels z^(c<->k) and their loss L_ck; then, without bias,

    dE[loss]/dphi_jc = E[ sum_k (L_ck - mean_m L_mk) (1/C - pi_jk) ].
"""

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gradrank.compiled import compiled
from gradrank.errors import GradrankError


class Measure(NamedTuple):
    """A ranking measure, larger being better: scale * sum over ranks of discount * gain.

    gain: (n,) float64. scale: (q,) float64. cumulated: (longest query + 1,) float64, the sum of the discounts
    of the first ranks, constant from rank `cutoff` on. precision: for AP, with 1 / rank as discount, a rank's
    term is multiplied by the relevant documents down to it.
    """

    gain: np.ndarray
    scale: np.ndarray
    cumulated: np.ndarray
    cutoff: int
    precision: bool

    def of(self, rows: np.ndarray, queries: np.ndarray) -> "Measure":
        """The measure on some of the queries, whose documents are `rows`."""
        return self._replace(gain=self.gain[rows], scale=self.scale[queries])


def measure_of(name: str, labels: np.ndarray, offsets: np.ndarray) -> Measure:
    """`ndcg@K` under `letor4` (a shorter query: NDCG@n), `p@K` or `ap`; a grade of 1 or more is relevant.

    labels: (n,) grades; offsets: (q+1,). Raises GradrankError for another name.
    """
    match = re.fullmatch(r"(ndcg|p)@([1-9]\d*)|ap", name)
    if match is None:
        raise GradrankError(f"measure {name!r}: expected 'ndcg@K', 'p@K' or 'ap', as in 'ndcg@10'")
    rank = np.arange(1, np.diff(offsets).max() + 1)
    cutoff = len(rank) if name == "ap" else int(match[2])
    relevant = (labels > 0).astype(np.float64)
    if name == "ap":
        gain, discount = relevant, 1.0 / rank
        best = np.add.reduceat(relevant, offsets[:-1])
    elif match[1] == "p":
        gain, discount = relevant, (rank <= cutoff).astype(np.float64)
        best = np.full(len(offsets) - 1, float(cutoff))
    else:
        gain, discount = 2.0**labels - 1.0, (rank <= cutoff) / np.log2(np.maximum(rank, 2))
        best = np.array([np.sort(gain[a:b])[::-1] @ discount[: b - a] for a, b in pairwise(offsets)])
    scale = np.divide(1.0, best, out=np.zeros(len(best)), where=best > 0)
    return Measure(gain, scale, np.r_[0.0, np.cumsum(discount)], cutoff, name == "ap")


def arsm_gradient(
    phi: np.ndarray, races: np.ndarray, offsets: np.ndarray, measure: Measure
) -> tuple[float, np.ndarray]:
    """The loss of the drawn levels and an unbiased (n, C) estimate of its expectation's gradient.

    phi: (n, C) logits; races: (n, C) draws from Exp(1); offsets: (q+1,). The loss is the negative of the
    measure, summed over queries.
    """
    pi = races / races.sum(axis=1, keepdims=True)
    return _gradient(np.asarray(phi, dtype=np.float64), np.log(pi), pi, offsets, measure)


def entropy_gradient(phi: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(n, C) gradient of minus the entropy of softmax(phi), a mean over each query's documents, summed over queries.

    Added with a weight it keeps a policy from settling on few levels early (Williams & Peng 1991).
    phi: (n, C); offsets: (q+1,).
    """
    log_p = phi - phi.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(axis=1, keepdims=True)
    sizes = np.diff(offsets)
    return p * (log_p + entropy) / np.repeat(sizes, sizes)[:, None]


@compiled
def _gradient(phi, log_pi, pi, offsets, measure):
    n, C = phi.shape
    loss, gradient = 0.0, np.zeros((n, C))
    for q in range(len(offsets) - 1):
        a, b = offsets[q], offsets[q + 1]
        swapped = swapped_values(phi[a:b], log_pi[a:b], measure.gain[a:b], measure)
        swapped *= -measure.scale[q]
        loss += swapped[0, 0]
        for k in range(C):
            swapped[k] -= np.mean(swapped[k])  # row k is L_ck for all c: L is symmetric
        for j in range(a, b):
            for k in range(C):
                weight = 1.0 / C - pi[j, k]
                for c in range(C):
                    gradient[j, c] += swapped[k, c] * weight
    return loss, gradient


@compiled
def swapped_values(phi, log_pi, gain, measure):
    """(C, C) symmetric: one query's measure, before its scale, of the levels z^(c<->k), z where c = k.

    phi, log_pi: (n, C); gain: (n,). The histogram of the drawn levels serves all pairs, with the documents moved
    whose level a swap changes, which is about one in eight.
    """
    n, C = phi.shape
    winners, races = np.empty((n, 3), np.int64), np.empty((n, 3))
    documents, gains = np.zeros(C, np.int64), np.zeros(C)
    race, least, most = np.empty(C), np.full(n, np.inf), np.full(n, -np.inf)
    for j in range(n):
        for c in range(C):
            race[c] = log_pi[j, c] - phi[j, c]
        three_smallest(race, winners[j], races[j])
        documents[winners[j, 0]] += 1
        gains[winners[j, 0]] += gain[j]
        for c in range(C):
            if c != winners[j, 0]:
                least[j], most[j] = min(least[j], log_pi[j, c]), max(most[j], phi[j, c])
    values = np.full((C, C), expected_value(documents, gains, measure))
    moved, moved_gains = np.empty((C, C), np.int64), np.empty((C, C))
    for c in range(C):
        for k in range(c + 1, C):
            for level in range(C):
                moved[k, level], moved_gains[k, level] = documents[level], gains[level]
        for j in range(n):
            before, bar = winners[j, 0], races[j, 0]
            # Swaps with the winner change it, others only where they bring c or k below its race: few do, and of most
            # documents it is plain that none does.
            first, last = c + 1, C
            if before != c and least[j] - phi[j, c] >= bar and log_pi[j, c] - most[j] >= bar:
                first, last = max(first, before), before + 1
            for k in range(first, last):
                at_c, at_k = log_pi[j, k] - phi[j, c], log_pi[j, c] - phi[j, k]
                if c == before or k == before or at_c < bar or at_k < bar:
                    level = level_after_swap(c, k, at_c, at_k, winners[j], races[j])
                    moved[k, before] -= 1
                    moved[k, level] += 1
                    moved_gains[k, before] -= gain[j]
                    moved_gains[k, level] += gain[j]
        for k in range(c + 1, C):
            values[c, k] = values[k, c] = expected_value(moved[k], moved_gains[k], measure)
    return values


@compiled
def three_smallest(race, winners, races):
    """Write into (3,) arrays where the smallest of (C,) races are, and these, ascending; none: infinite."""
    winners[:], races[:] = -1, np.inf
    for c in range(len(race)):
        at = 3
        while at > 0 and race[c] < races[at - 1]:
            at -= 1
        for i in range(2, at, -1):
            winners[i], races[i] = winners[i - 1], races[i - 1]
        if at < 3:
            winners[at], races[at] = c, race[c]


@compiled
def level_after_swap(c, k, at_c, at_k, winners, races):
    """A document's level with pi_c and pi_k swapped: c, k, or the best of the others, one of three_smallest.

    at_c, at_k: the races of c and k after the swap; winners, races: (3,) before it.
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


@compiled
def expected_value(documents, gains, measure):
    """A query's measure, before its scale, in expectation over random orders within levels.

    documents, gains: (C,) documents of each level and sum of their gains. A level's n documents at ranks
    a+1..a+n have gain G / n each and share the discounts of these ranks. Under AP a relevant one of G at rank
    a+i has G_above + 1 + (i - 1)(G - 1)/(n - 1) relevant documents down to it (McSherry & Najork 2008).
    """
    value, above, gain_above = 0.0, 0, 0.0
    for level in range(len(documents) - 1, -1, -1):
        n, gain = documents[level], gains[level]
        if gain > 0.0:
            weight = measure.cumulated[above + n] - measure.cumulated[above]
            if measure.precision:
                spread = (gain - 1.0) / (n - 1.0) if n > 1 else 0.0
                weight = (gain_above + 1.0) * weight + spread * (n - (above + 1.0) * weight)
            value += gain / n * weight
        above += n
        gain_above += gain
        if above >= measure.cutoff:
            break
    return value
