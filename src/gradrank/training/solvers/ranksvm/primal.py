"""Solver of RankSVM in the primal by Newton's method.

It minimises R(w) + C sum_p tau_p max(0, 1 - w.(x_better - x_worse))^2 over w. R(w) is |w|^2/2 with the penalty `l2`
(Keerthi & DeCoste 2005) or |w|_1 with the penalty `l1`, by proximal Newton steps (Yuan, Ho & Lin 2012). The loss is
piecewise quadratic, so a step reaches the optimum once the set of violating pairs is that of the optimum.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.solvers.ranksvm.objective import GradeGroups, WeightedPairs

STEPS = 100  # maximum; three to eight are usual
CONVERGED = 1e-12  # relative to the optimality violation at w = 0
ROUNDING = 1e-13  # relative rounding error of the objective, which can exceed the decrease near the optimum


def solve_primal(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """Return the (d,) weights of RankSVM with the squared hinge loss.

    features: (n, d) float64. start: (d,) initial weights, such as the solution for a smaller C. penalty: "l2" or "l1".
    Time per step: O(n log n + L n d + n d^2) for L grades, and O(p d + n d^2) for p listed pairs.
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
    """Return sum_p tau_p max(0, 1 - o_p)^2, its (d,) gradient in w, and the sums over the violating pairs."""
    scores = features @ w
    sums = pairs.violations(scores)
    slopes, total = sums(scores[:, None], 1.0)
    # With m_p = tau_p (o_p - 1) for violating pairs, sum tau (1 - o)^2 = sum m o - sum m.
    loss = float(scores @ slopes[:, 0] - total[0])
    return loss, 2.0 * (features.T @ slopes[:, 0]), sums


def _penalty(w: np.ndarray, penalty: str) -> float:
    return 0.5 * float(w @ w) if penalty == "l2" else float(np.abs(w).sum())


def _violation(w: np.ndarray, gradient: np.ndarray, penalty: str) -> np.ndarray:
    """Return the (d,) gradient of the objective; with the penalty `l1`, the shortest subgradient."""
    if penalty == "l2":
        return w + gradient
    return np.where(w == 0.0, _shrink(gradient), gradient + np.sign(w))


def _shrink(values: np.ndarray) -> np.ndarray:
    """Return the values after soft thresholding at 1."""
    return np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0)


def _lasso(w: np.ndarray, linear: np.ndarray, hessian: np.ndarray, enough: float) -> np.ndarray:
    """Return the (d,) minimiser x of linear.x + x.hessian.x / 2 + |x|_1, starting from w.

    Each iteration consists of a sweep of coordinate descent, which finds the non-zero weights, and a linear system,
    which moves x to the optimum for its signs or to the first change of a sign. Coordinate descent alone needs 10^5
    sweeps for correlated features.
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
    """Minimise in one coordinate after another, in place. A coordinate without curvature becomes 0."""
    slope = linear + hessian @ x
    for c in range(len(x)):
        curve = hessian[c, c]
        best = curve * x[c] - slope[c]
        new = np.sign(best) * max(abs(best) - 1.0, 0.0) / curve if curve > 0.0 else 0.0
        slope += (new - x[c]) * hessian[c]
        x[c] = new
