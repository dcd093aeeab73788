"""Solver of RankSVM in the primal by Newton's method.

The solver minimises R(w) + C sum_p tau_p max(0, 1 - w.(x_better - x_worse))^2 over w. With the penalty `l2`, R(w) is
|w|^2/2 (Keerthi & DeCoste 2005). With the penalty `l1`, R(w) is |w|_1, and the steps are proximal Newton steps (Yuan,
Ho & Lin 2012). The loss is piecewise quadratic. So once the pairs that violate the margin are the same as at the
optimum, the next step reaches the optimum.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.solvers.ranksvm.objective import GradeGroups, WeightedPairs

STEPS = 100  # maximum number of Newton steps; three to eight are usual
CONVERGED = 1e-12  # the norm of the (sub)gradient at the solution, relative to its norm at w = 0
ROUNDING = 1e-13  # relative rounding error of the objective; near the optimum, the decrease can be smaller


def solve_primal(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """Return the (d,) weights of RankSVM with the squared hinge loss.

    features: (n, d) float64. start: (d,) initial weights, such as the solution for a smaller C. penalty: "l2" or "l1".
    The time per step is O(n log n + L n d + n d^2) for L grades, or O(p d + n d^2) for a list of p pairs.
    """
    zero = np.zeros(features.shape[1])
    enough = CONVERGED * float(np.linalg.norm(_violation(zero, C * _loss(features, pairs, zero)[1], penalty)))
    w = start
    loss, gradient, sums = _loss(features, pairs, w)
    for _ in range(STEPS):
        gradient = C * gradient
        if np.linalg.norm(_violation(w, gradient, penalty)) <= enough:
            break
        curvature, _ = sums(features, 0.0)
        hessian = 2.0 * C * (features.T @ curvature)
        if penalty == "l2":
            direction = np.linalg.solve(hessian + np.eye(len(w)), -(w + gradient))
            slope = (w + gradient) @ direction
        else:
            direction = _lasso(w, gradient - hessian @ w, hessian, enough) - w
            slope = gradient @ direction + np.abs(w + direction).sum() - np.abs(w).sum()
        before, step = _penalty(w, penalty) + C * loss, 1.0
        while True:
            candidate = w + step * direction
            loss, gradient, sums = _loss(features, pairs, candidate)
            after = _penalty(candidate, penalty) + C * loss
            if after <= before * (1.0 + ROUNDING) + 1e-4 * step * slope:  # Armijo
                break
            step /= 2.0
        w = candidate
    return w


def _loss(features, pairs, w):
    """Return the loss, its (d,) gradient with respect to w, and the function `pairs.violations(scores)`.

    The loss is sum_p tau_p max(0, 1 - o_p)^2, where o_p is the score difference of pair p.
    """
    scores = features @ w
    sums = pairs.violations(scores)
    slopes, total = sums(scores[:, None], 1.0)
    # With m_p = tau_p (o_p - 1), sum tau (1 - o)^2 = sum m o - sum m over the pairs that violate the margin.
    loss = float(scores @ slopes[:, 0] - total[0])
    return loss, 2.0 * (features.T @ slopes[:, 0]), sums


def _penalty(w: np.ndarray, penalty: str) -> float:
    return 0.5 * float(w @ w) if penalty == "l2" else float(np.abs(w).sum())


def _violation(w: np.ndarray, gradient: np.ndarray, penalty: str) -> np.ndarray:
    """Return the (d,) gradient of the objective. With the penalty `l1`, return the shortest subgradient.

    gradient: (d,) gradient of the loss, multiplied by C.
    """
    if penalty == "l2":
        return w + gradient
    return np.where(w == 0.0, _shrink(gradient), gradient + np.sign(w))


def _shrink(values: np.ndarray) -> np.ndarray:
    """Return the values after soft thresholding: their absolute values decrease by 1, but not below 0."""
    return np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0)


def _lasso(w: np.ndarray, linear: np.ndarray, hessian: np.ndarray, enough: float) -> np.ndarray:
    """Return the (d,) minimiser x of linear.x + x.hessian.x / 2 + |x|_1. The iteration starts from w.

    Each iteration begins with a sweep of coordinate descent, which finds the non-zero weights. Then it solves a linear
    system for the optimum with the current signs of x. It moves x to this optimum, or up to the point where the first
    sign changes. Coordinate descent alone needs 10^5 sweeps for correlated features. enough: norm of the subgradient at
    which the iteration ends.
    """
    x = w.copy()
    for _ in range(1000):
        _sweep(x, linear, hessian)
        used = np.flatnonzero(x)
        slope = linear[used] + hessian[used] @ x + np.sign(x[used])
        move = np.linalg.lstsq(hessian[np.ix_(used, used)], -slope, rcond=None)[0]
        crossing = x[used] * (x[used] + move) < 0.0
        reach = np.where(crossing, -x[used] / np.where(crossing, move, 1.0), 1.0)
        step = reach.min(initial=1.0)
        x[used] = np.where(crossing & (reach == step), 0.0, x[used] + step * move)
        if step == 1.0 and np.linalg.norm(_violation(x, linear + hessian @ x, "l1")) <= enough:
            break
    return x


@compiled("f8[:] out, f8[:], f8[:,:]")
def _sweep(x, linear, hessian):
    """Minimise over one coordinate of x at a time, in place. A coordinate without curvature becomes 0."""
    slope = linear + hessian @ x
    for c in range(len(x)):
        curve = hessian[c, c]
        best = curve * x[c] - slope[c]
        new = np.sign(best) * max(abs(best) - 1.0, 0.0) / curve if curve > 0.0 else 0.0
        slope += (new - x[c]) * hessian[c]
        x[c] = new
