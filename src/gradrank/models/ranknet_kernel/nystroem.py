"""Kernel rankers f = sum_i a_i K(x_i, .) of a few thousand landmarks, and their regularised fit (Nystroem).

The minimiser of cost(f) + l2/2 |f|_H^2 over the kernel's function space lies in the span of all training
documents (representer theorem). Restricting it to landmarks (Williams & Seeger 2001) makes a pass O(n m)
instead of O(n^2); with every document a landmark it is the exact solution.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.training.solvers.matrix_vector import transposed_times

SPANNED = 1e-6  # of the largest K(x, x): a document that others explain to this is no landmark of its own
BLOCK = 64  # documents whose kernel values are computed at once, always: a document's do not depend on its neighbours
SAMPLED = 2  # documents a landmark that the shape of the cost is taken from


@dataclass(frozen=True)
class Kernel:
    """exp(-gamma |x - z|^2) (`rbf`), or (1 + gamma x.z)^degree (`polynomial`)."""

    name: str
    gamma: float
    degree: int

    def matrix(self, x: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        """(n, m) float32 K(x_i, z_j) of (n, d) and (m, d) rows; half the memory traffic of float64."""
        left, right = self._factors(np.float64(x), np.float64(landmarks))
        out = np.empty((len(x), len(landmarks)), np.float32)
        for start in range(0, len(x), BLOCK):
            block = left[start : start + BLOCK]
            own = out[start : start + BLOCK]
            whole = np.concatenate([block, np.zeros((BLOCK - len(block), left.shape[1]))])
            argument = (whole @ right)[: len(block)]
            if self.name == "rbf":
                np.exp(argument.astype(np.float32), out=own)
            else:
                with np.errstate(over="ignore"):  # who uses the values notices
                    own[:] = np.prod([argument] * self.degree, axis=0)
        return out

    def expansion(self, x: np.ndarray, landmarks: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """(n,) float64 sum_j a_j K(x_i, z_j), of x_i alone: equal documents get equal values."""
        blocks = (self.matrix(x[i : i + 16 * BLOCK], landmarks) for i in range(0, len(x), 16 * BLOCK))
        return np.concatenate([expanded(block, coefficients) for block in blocks])

    def _factors(self, x: np.ndarray, landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two matrices whose product is -gamma |x_i - z_j|^2, or 1 + gamma x_i.z_j."""
        ones = np.ones((len(x), 1)), np.ones((len(landmarks), 1))
        if self.name != "rbf":
            return np.hstack([x, ones[0]]), np.hstack([self.gamma * landmarks, ones[1]]).T
        own, theirs = (-self.gamma * np.square(rows).sum(axis=1, keepdims=True) for rows in (x, landmarks))
        return np.hstack([x, own, ones[0]]), np.hstack([2.0 * self.gamma * landmarks, ones[1], theirs]).T


def independent(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(r, d) of the (m, d) rows that the others do not span, and the (r, r) lower R of their K = R R^T.

    Cholesky with pivots stops where the rest is rounding error, so duplicates need no ridge on K. Raises
    GradrankError where the kernel's values overflow.
    """
    from scipy.linalg.lapack import dpstrf

    own = kernel.matrix(rows, rows).astype(np.float64)
    if not np.isfinite(own).all():
        raise GradrankError(f"the kernel overflows; lower gamma, now {kernel.gamma:g}, or degree, now {kernel.degree}")
    factor, pivots, rank, _ = dpstrf(own, tol=SPANNED * own.diagonal().max(), lower=1)
    return rows[pivots[:rank] - 1], np.tril(factor[:rank, :rank])


class Problem(NamedTuple):
    """A cost of the scores of documents in queries, which adding a constant to a query's scores does not change.

    cost: (n,) scores -> cost, (n,) gradient. curvature: (n,) about its second derivative in each score, at zero scores.
    offsets: (q+1,).
    """

    cost: Callable[[np.ndarray], tuple[float, np.ndarray]]
    curvature: np.ndarray
    offsets: np.ndarray


def regularised_path(
    features: np.ndarray,
    kernel: Kernel,
    landmarks: np.ndarray,
    problem: Problem,
    grid: Sequence[float],
    tolerance: float = 1e-6,
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """(landmarks, coefficients, cost / cost of no ranking) for each l2 of `grid`, strongest first.

    Minimises cost(f) / cost(0) + l2/2 |f|_H^2 by L-BFGS, each from the solution before it. With a = R^-T w
    the penalty is |w|^2: the conditioning of an explicit Nystroem map without its O(n m^2). The search is over
    L^T w, L L^T = about the objective's second derivative: some seven passes over the documents a value of l2.
    features: (n, d). landmarks: (m, d); only the independent ones are used and returned. tolerance: relative
    change of the objective that ends a fit.
    """
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import minimize

    landmarks, root = independent(kernel, landmarks)
    matrix = kernel.matrix(features, landmarks)
    unranked, _ = problem.cost(np.zeros(len(features)))
    shape = second_derivative(matrix, root, problem) / unranked

    def objective(searched: np.ndarray, l2: float, lower: np.ndarray) -> tuple[float, np.ndarray]:
        w = solve_triangular(lower, searched, lower=True, trans=1)
        value, gradient = problem.cost(expanded(matrix, solve_triangular(root, w, lower=True, trans=1)))
        slope = solve_triangular(root, contracted(matrix, gradient), lower=True) / unranked + l2 * w
        return value / unranked + l2 / 2.0 * (w @ w), solve_triangular(lower, slope, lower=True)

    w = np.zeros(len(root))
    for l2 in sorted(grid, reverse=True):
        ridge = max(l2, 1e-6 * shape.diagonal().max())  # its own rounding error is less
        lower = cholesky(shape + ridge * np.eye(len(root)), lower=True)
        options = {"maxiter": 1000, "ftol": tolerance, "gtol": tolerance / 10.0}
        solution = minimize(objective, lower.T @ w, args=(l2, lower), jac=True, method="L-BFGS-B", options=options)
        w = solve_triangular(lower, solution.x, lower=True, trans=1)
        coefficients = solve_triangular(root, w, lower=True, trans=1)
        yield landmarks, coefficients, float(solution.fun - l2 / 2.0 * (w @ w))


def second_derivative(matrix: np.ndarray, root: np.ndarray, problem: Problem) -> np.ndarray:
    """(r, r) about the second derivative of the cost in w, at zero: from a sample of documents less their query's mean.

    It says how far to step, not where to: what it lacks costs passes, not accuracy.
    """
    from scipy.linalg import solve_triangular

    sizes = np.diff(problem.offsets)
    means = np.add.reduceat(matrix, problem.offsets[:-1], axis=0) / sizes[:, None].astype(np.float32)
    step = max(1, len(matrix) // (SAMPLED * len(root)))
    rows = np.arange(0, len(matrix), step)
    query = np.repeat(np.arange(len(sizes)), sizes)[rows]
    weights = np.sqrt(step * problem.curvature[rows, None]).astype(np.float32)
    mapped = solve_triangular(root.astype(np.float32), ((matrix[rows] - means[query]) * weights).T, lower=True)
    return (mapped @ mapped.T).astype(np.float64)


@compiled("f4[:,:], f8[:]")
def contracted(matrix, gradient):
    """(m,) float64 sums over i of g_i K_ij."""
    return transposed_times(matrix, gradient)


@compiled("f4[:,:], f8[:]", reassociated=True)
def expanded(matrix, coefficients):
    """(n,) float64 sums over j of a_j K_ij, each row's in the same order."""
    out = np.zeros(len(matrix))
    for i in range(len(matrix)):
        total = 0.0
        for j in range(len(coefficients)):
            total += matrix[i, j] * coefficients[j]
        out[i] = total
    return out
