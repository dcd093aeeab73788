"""Solver of RankSVM in the dual by coordinate descent (Hsieh et al. 2008, Algorithm 1).

The solver minimises |w|^2/2 + C sum_p tau_p loss(w.(x_better - x_worse)) over w. The loss `l1` is
loss(o) = max(0, 1 - o), and `l2` is its square. The feature differences of pairs are computed when needed and not
stored.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gradrank.base.compiled import compiled

SWEEPS = 10_000  # maximum number of sweeps over all pairs


def solve_dual(
    features: np.ndarray,
    better: np.ndarray,
    worse: np.ndarray,
    cost: np.ndarray,
    loss: str,
    start: np.ndarray,
    gap: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (d,) weights and the (p,) dual variables of RankSVM. The time per sweep is O(p d).

    features: (n, d) float64. better, worse: (p,) row numbers. cost: (p,) factors C tau_p of the loss. loss: "l1" or
    "l2". start: (p,) initial dual variables >= 0, and <= cost for `l1`. gap: the iteration ends when
    primal - dual <= gap * primal. This implies |w - w*|^2 <= 2 gap primal, where w* is the optimum. rng: determines the
    order of the pairs.
    """
    square = _squared_distances(features, better, worse)
    apart = np.flatnonzero(square > 0.0)  # pairs of equal documents have a constant loss
    better, worse, square, cost = better[apart], worse[apart], square[apart], cost[apart]
    # With the squared hinge loss, the dual has a term alpha^2 / (4 C tau) instead of an upper bound on alpha.
    ridge = 0.5 / cost if loss == "l2" else np.zeros(len(apart))
    limit = np.full(len(apart), np.inf) if loss == "l2" else cost
    curve = square + ridge
    alpha = start[apart]
    w = _weights(features, better, worse, alpha)

    def sweep(visits: np.ndarray) -> None:
        _sweep(features, better, worse, visits, curve, ridge, limit, alpha, w)

    for _ in range(SWEEPS):
        sweep(rng.permutation(len(apart)))
        # The few alphas strictly between their bounds converge slowly. Additional sweeps over these alphas, which take
        # as long as one full sweep, reduce the time to a tenth for large C (simplified shrinking, Hsieh et al. 2008).
        inside = np.flatnonzero((alpha > 0.0) & (alpha < limit))
        for _ in range(min(len(apart) // max(len(inside), 1), 20)):
            sweep(rng.permutation(inside))
        scores = features @ w
        hinge = np.maximum(1.0 - (scores[better] - scores[worse]), 0.0)
        primal = 0.5 * (w @ w) + cost @ (hinge**2 if loss == "l2" else hinge)
        dual = alpha.sum() - 0.5 * (w @ w) - 0.5 * (ridge @ alpha**2)
        if primal - dual <= gap * primal:
            break
    out = start.copy()
    out[apart] = alpha
    return w, out


def weights_after_visits(
    features: np.ndarray,
    better: np.ndarray,
    worse: np.ndarray,
    C: float,
    visits: Sequence[int],
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return the (d,) weights during the first sweep, once for each number of visited pairs in `visits`.

    The loss is the hinge loss with tau = 1. The sweep starts from w = 0 and visits each pair once, in random order.
    visits: ascending numbers of pairs; a number larger than the number of pairs means the complete sweep. The other
    arguments are those of `solve_dual`.
    """
    square = _squared_distances(features, better, worse)
    apart = rng.permutation(np.flatnonzero(square > 0.0))
    alpha, w, weights = np.zeros(len(square)), np.zeros(features.shape[1]), []
    ridge, limit = np.zeros(len(square)), np.full(len(square), C)
    for before, until in pairwise([0, *visits]):
        _sweep(features, better, worse, apart[before:until], square, ridge, limit, alpha, w)
        weights.append(w.copy())
    return weights


@compiled("f8[:,:], i4[:], i4[:]")
def _squared_distances(features, better, worse):
    out = np.zeros(len(better))
    for p in range(len(better)):
        for c in range(features.shape[1]):
            out[p] += (features[better[p], c] - features[worse[p], c]) ** 2
    return out


@compiled("f8[:,:], i4[:], i4[:], f8[:]")
def _weights(features, better, worse, alpha):
    """Return the (d,) weights w = sum_p alpha_p (x_better - x_worse)."""
    w = np.zeros(features.shape[1])
    for p in range(len(better)):
        if alpha[p] > 0.0:
            w += alpha[p] * (features[better[p]] - features[worse[p]])
    return w


@compiled("f8[:,:], i4[:], i4[:], i8[:], f8[:], f8[:], f8[:], f8[:] out, f8[:] out")
def _sweep(features, better, worse, visits, curve, ridge, limit, alpha, w):
    """Minimise the dual objective over one variable at a time, in the order of `visits`. Updates alpha and w."""
    for p in visits:
        high, low = features[better[p]], features[worse[p]]
        slope = ridge[p] * alpha[p] - 1.0
        for c in range(len(w)):
            slope += w[c] * (high[c] - low[c])
        new = min(max(alpha[p] - slope / curve[p], 0.0), limit[p])
        change = new - alpha[p]
        if change != 0.0:
            alpha[p] = new
            for c in range(len(w)):
                w[c] += change * (high[c] - low[c])
