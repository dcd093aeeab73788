"""RankSVM in the primal: min R(w) + C sum_p tau_p max(0, 1 - w.(x_better - x_worse))^2 by Newton's method.

R = |w|^2/2 (penalty `l2`; Keerthi & DeCoste 2005) or |w|_1 (`l1`: proximal Newton; Yuan, Ho & Lin 2012).
The loss is piecewise quadratic: once the set of violating pairs is right, one step ends at the optimum.
"""

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.training.solvers.ranksvm.objective import Grades, Listed

STEPS = 100  # three to eight are usual
CONVERGED = 1e-12  # of the optimality violation at w = 0; a step on the right pairs goes far below
ROUNDING = 1e-13  # near the optimum a step lowers the objective by less than its sum over pairs resolves


def solve_primal(
    features: np.ndarray, pairs: Grades | Listed, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """(d,) weights of L2-loss RankSVM.

    features: (n, d) float64. start: (d,) weights to start from, such as those for a smaller C.
    A step costs O(n log n + L n d + n d^2) for L grades, and O(p d + n d^2) for p listed pairs.
    """
    zero = np.zeros(features.shape[1])
    enough = CONVERGED * np.linalg.norm(_violation(zero, C * _loss(features, pairs, zero)[1], penalty))
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
    """sum_p tau_p max(0, 1 - o_p)^2, its (d,) gradient in w, and what sums over the violating pairs."""
    scores = features @ w
    sums = pairs.violations(scores)
    slopes, total = sums(scores[:, None], 1.0)
    # With m_p = tau_p (o_p - 1) on violating pairs: sum tau (1 - o)^2 = sum m o - sum m.
    loss = float(scores @ slopes[:, 0] - total[0])
    return loss, 2.0 * (features.T @ slopes[:, 0]), sums


def _penalty(w: np.ndarray, penalty: str) -> float:
    return 0.5 * float(w @ w) if penalty == "l2" else float(np.abs(w).sum())


def _violation(w: np.ndarray, gradient: np.ndarray, penalty: str) -> np.ndarray:
    """(d,) gradient of the objective, or its shortest subgradient where |w_c| has its kink."""
    if penalty == "l2":
        return w + gradient
    return np.where(w == 0.0, _shrink(gradient), gradient + np.sign(w))


def _shrink(values: np.ndarray) -> np.ndarray:
    """Soft threshold at 1."""
    return np.sign(values) * np.maximum(np.abs(values) - 1.0, 0.0)


def _lasso(w: np.ndarray, linear: np.ndarray, hessian: np.ndarray, enough: float) -> np.ndarray:
    """(d,) minimiser x of linear.x + x.hessian.x / 2 + |x|_1, from w.

    A sweep of coordinate descent finds the non-zero weights; coordinate descent alone needs 10^5 sweeps on
    correlated features, so a linear system then takes x to the optimum of its signs, or to the first change.
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
    """Minimise in one coordinate after another; a coordinate without curvature is best at 0."""
    slope = linear + hessian @ x
    for c in range(len(x)):
        curve = hessian[c, c]
        best = curve * x[c] - slope[c]
        new = np.sign(best) * max(abs(best) - 1.0, 0.0) / curve if curve > 0.0 else 0.0
        slope += (new - x[c]) * hessian[c]
        x[c] = new
