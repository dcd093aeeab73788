"""Solver of RankSVM with the hinge loss in the primal, by L-BFGS-B on a smoothed loss.

The solver minimises R(w) + C sum_p tau_p max(0, 1 - o_p) over w, where o_p = w.(x_better - x_worse). With the penalty
`l2`, R(w) is |w|^2/2. With the penalty `l1`, R(w) is |w|_1, and w is the difference of two vectors without negative
elements, so that the penalty is linear.

The hinge loss has no derivative at its kink. It is replaced by [s(1) - s(1 - width)] / (2 width), where s(m) =
max(0, m - o)^2 (the Huber loss of Chapelle 2007, Training a support vector machine in the primal). This function is
lower than the hinge loss by at most width/2. Each s(m) is a sum over the pairs that violate the margin m, so no pair is
listed. The width shrinks in steps, and each solution starts the next step.
"""

import numpy as np

from gradrank.training.solvers.ranksvm.objective import GradeGroups, WeightedPairs

WIDTHS = (0.1, 0.02, 0.005)  # in units of the score differences
OPTIONS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-10, "gtol": 1e-8}  # of an objective that is 1 at w = 0


def solve_smoothed_hinge(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str = "l2"
) -> np.ndarray:
    """Return the (d,) weights of RankSVM with the hinge loss. The time per evaluation is O(n log n + L n + n d).

    features: (n, d) float64. start: (d,) initial weights, such as the solution for a smaller C. penalty: "l2" or "l1".
    """
    w = start
    for width in WIDTHS:
        w = _minimise(features, pairs, C, w, penalty, width)
    return w


def _minimise(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, C: float, start: np.ndarray, penalty: str, width: float
) -> np.ndarray:
    """Return the minimiser of the objective with the smoothed loss. start: (d,) initial weights."""
    from scipy.optimize import minimize

    scale = 1.0 / (C * smoothed_hinge(features, pairs, np.zeros_like(start), width)[0])

    def ridge(w: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = smoothed_hinge(features, pairs, w, width)
        return scale * (0.5 * float(w @ w) + C * loss), scale * (w + C * gradient)

    def lasso(parts: np.ndarray) -> tuple[float, np.ndarray]:
        positive, negative = np.split(parts, 2)
        loss, gradient = smoothed_hinge(features, pairs, positive - negative, width)
        slopes = np.concatenate([1.0 + C * gradient, 1.0 - C * gradient])
        return scale * (float(parts.sum()) + C * loss), scale * slopes

    if penalty == "l2":
        return minimize(ridge, start, jac=True, method="L-BFGS-B", options=OPTIONS).x
    parts = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
    bounds = [(0.0, None)] * len(parts)
    positive, negative = np.split(
        minimize(lasso, parts, jac=True, method="L-BFGS-B", bounds=bounds, options=OPTIONS).x, 2
    )
    return positive - negative


def smoothed_hinge(
    features: np.ndarray, pairs: GradeGroups | WeightedPairs, w: np.ndarray, width: float
) -> tuple[float, np.ndarray]:
    """Return the sum of tau times the smoothed hinge loss, and its (d,) gradient with respect to w."""
    scores = features @ w
    (outer, outer_slopes), (inner, inner_slopes) = (_squares(pairs, scores, margin) for margin in (1.0, 1.0 - width))
    return (outer - inner) / (2.0 * width), features.T @ (outer_slopes - inner_slopes) / (2.0 * width)


def _squares(pairs: GradeGroups | WeightedPairs, scores: np.ndarray, margin: float) -> tuple[float, np.ndarray]:
    """Return sum_p tau_p max(0, margin - o_p)^2, and its (n,) derivatives with respect to the scores.

    The margin of `violations` is 1, so the scores are divided by `margin`.
    """
    slopes, total = pairs.violations(scores / margin)(scores[:, None], margin)
    # With m_p = tau_p (o_p - margin), tau (margin - o)^2 is m o - margin m.
    return float(scores @ slopes[:, 0] - margin * total[0]), 2.0 * slopes[:, 0]
