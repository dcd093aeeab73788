"""Kernel RankNet (Burges et al. 2005, Eq. 17-18): f(x) = sum_i a_i K(x_i, x), trained on RankNet's cost.

The penalty l2/2 |f|_H^2 is added to the cost. In the paper, the sum over i includes all training documents. Here it
includes only a sample of them, the landmarks (the Nystroem method). The saved model contains the landmarks. The
landmarks are standardised training documents, so the licence of the data covers the model.

In the function space of the kernel, the minimiser of cost(f) + l2/2 |f|_H^2 is a sum of this form over all training
documents (representer theorem). Here the sum is restricted to m documents, the landmarks (Williams & Seeger 2001). A
pass over n documents then costs O(n m) instead of O(n^2). If every document is a landmark, the solution is exact.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, Model, ModelParams, param, register
from gradrank.training.model_files import Content, check_arrays, check_types, check_width, parse_content, read_arrays
from gradrank.training.scoring_form import KernelForm
from gradrank.training.search_space import Grid, LogUniform
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.linear import transposed_times
from gradrank.training.training_queries import with_pairs_to_order

# A landmark is dropped if the part of its K(x, x) that the landmarks chosen before it do not explain is at most this
# share of the largest K(x, x).
SPANNED = 1e-6
BLOCK = 64  # documents per matrix product; constant, so that the values of a document do not depend on other documents
SAMPLED = 2  # documents per landmark in the sample from which the second derivative of the cost is computed


@dataclass(frozen=True)
class Kernel:
    """A kernel. `rbf` is exp(-gamma |x - z|^2), and `polynomial` is (1 + gamma x.z)^degree."""

    name: str
    gamma: float
    degree: int

    def matrix(self, x: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        """Return the (n, m) float32 values K(x_i, z_j). They are float32 to halve the memory traffic.

        x: (n, d). landmarks: (m, d), the rows z_j.
        """
        left, right = self._factors(np.asarray(x, np.float64), np.asarray(landmarks, np.float64))
        out = np.empty((len(x), len(landmarks)), np.float32)
        for start in range(0, len(x), BLOCK):
            block = left[start : start + BLOCK]
            target = out[start : start + BLOCK]
            whole = np.concatenate([block, np.zeros((BLOCK - len(block), left.shape[1]))])
            argument = (whole @ right)[: len(block)]
            if self.name == "rbf":
                np.exp(argument.astype(np.float32), out=target)
            else:
                with np.errstate(over="ignore"):  # callers check for infinite values
                    target[:] = np.prod([argument] * self.degree, axis=0)
        return out

    def expansion(self, x: np.ndarray, landmarks: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the (n,) float64 sums sum_j a_j K(x_i, z_j). Equal documents have exactly equal sums.

        x: (n, d). landmarks: (m, d), the rows z_j. coefficients: (m,) a_j.
        """
        blocks = (self.matrix(x[i : i + 16 * BLOCK], landmarks) for i in range(0, len(x), 16 * BLOCK))
        return np.concatenate([expanded(block, coefficients) for block in blocks])

    def _factors(self, x: np.ndarray, landmarks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two matrices. Their product is -gamma |x_i - z_j|^2 (`rbf`) or 1 + gamma x_i.z_j (`polynomial`)."""
        ones = np.ones((len(x), 1)), np.ones((len(landmarks), 1))
        if self.name != "rbf":
            return np.hstack([x, ones[0]]), np.hstack([self.gamma * landmarks, ones[1]]).T
        x_norms, z_norms = (-self.gamma * np.square(rows).sum(axis=1, keepdims=True) for rows in (x, landmarks))
        return np.hstack([x, x_norms, ones[0]]), np.hstack([2.0 * self.gamma * landmarks, ones[1], z_norms]).T


def independent(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that are independent under the kernel, and a Cholesky factor of their kernel matrix.

    The returned rows are (r, d), a subset of the (m, d) rows. The factor R is (r, r) and lower triangular, with
    K = R R^T. The pivoted factorisation stops when only rounding errors remain. Therefore no ridge is needed if rows
    are duplicates.

    Raises GradrankError if values of the kernel overflow.
    """
    # scipy.linalg.lapack creates its functions at import, so type checkers do not know them.
    from scipy.linalg.lapack import dpstrf  # pyright: ignore[reportAttributeAccessIssue]

    matrix = kernel.matrix(rows, rows).astype(np.float64)
    if not np.isfinite(matrix).all():
        raise GradrankError(
            f"the kernel overflows. Fix: lower gamma, now {kernel.gamma:g}, or degree, now {kernel.degree}"
        )
    factor, pivots, rank, _ = dpstrf(matrix, tol=SPANNED * matrix.diagonal().max(), lower=1)
    return rows[pivots[:rank] - 1], np.tril(factor[:rank, :rank])


class Problem(NamedTuple):
    """A cost of scores. The cost must not change if a constant is added to all scores of a query.

    cost: function of (n,) scores that returns the cost and its (n,) gradient. curvature: (n,) approximate second
    derivatives of the cost with respect to each score, at scores of zero. offsets: (q+1,).
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
    """Yield the solution for each l2 of `grid`, from the largest to the smallest.

    A solution consists of the (r, d) landmarks, their (r,) coefficients a, and the cost divided by the cost of equal
    scores.

    The solution minimises cost(f) / cost(0) + l2/2 |f|_H^2. The solver is L-BFGS. Each search starts at the previous
    solution. The coefficients are written as a = R^-T w, where R is the result of `independent`, so that
    |f|_H^2 = |w|^2. This problem is as well conditioned as with an explicit Nystroem map, without the cost O(n m^2) of
    such a map. The variable of the search is L^T w, where L L^T approximates the second derivative of the objective. A
    search takes about seven passes over the documents.

    features: (n, d). landmarks: (m, d), of which only the r independent rows are used. tolerance: a search ends when
    the relative change of the objective is smaller.

    Raises GradrankError if values of the kernel overflow.
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
        ridge = max(l2, 1e-6 * shape.diagonal().max())  # larger than the rounding error of `shape`
        lower = cholesky(shape + ridge * np.eye(len(root)), lower=True)
        options = {"maxiter": 1000, "ftol": tolerance, "gtol": tolerance / 10.0}
        solution = minimize(objective, lower.T @ w, args=(l2, lower), jac=True, method="L-BFGS-B", options=options)
        w = solve_triangular(lower, solution.x, lower=True, trans=1)
        coefficients = solve_triangular(root, w, lower=True, trans=1)
        yield landmarks, coefficients, float(solution.fun - l2 / 2.0 * (w @ w))


def second_derivative(matrix: np.ndarray, root: np.ndarray, problem: Problem) -> np.ndarray:
    """Return the (r, r) approximate second derivative of the cost with respect to w, at w = 0.

    It is computed from a sample of the documents. The mean of each query is subtracted from the kernel values of its
    documents. The result is used only to precondition the search. If it is inaccurate, the search needs more passes
    over the documents, but the solution is as accurate.

    matrix: (n, r) kernel values. root: (r, r), from `independent`.
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
    """Return the (m,) float64 sums over i of g_i K_ij. matrix: (n, m) K. gradient: (n,) g."""
    return transposed_times(matrix, gradient)


@compiled("f4[:,:], f8[:]", reassociated=True)
def expanded(matrix, coefficients):
    """Return the (n,) float64 sums over j of a_j K_ij. Every row is summed in the same order.

    matrix: (n, m) K. coefficients: (m,) a.
    """
    out = np.zeros(len(matrix))
    for i in range(len(matrix)):
        total = 0.0
        for j in range(len(coefficients)):
            total += matrix[i, j] * coefficients[j]
        out[i] = total
    return out


Positive = Annotated[float, Field(gt=0)]


class RankNetKernelParams(ModelParams):
    kernel: Literal["rbf", "polynomial"] = param("rbf", "the 2005 paper, Eq. 17, does not state a kernel")
    gamma: Grid[Positive] = param(
        (2.0**-9,), "on standardised features; the best mean validation MAP on MQ2007 of 2^-11 to 2^-6", min_length=1
    )
    degree: int = param(
        2, "degree of the polynomial kernel; products of two features, as in quadratic PRank", ge=1, le=8
    )
    landmarks: int = param(
        2000, "number in the best published RBF RankSVM on MQ2007; at most all training documents", ge=1
    )
    l2: Grid[Positive] = param(
        (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6),
        "penalty relative to the cost of equal scores; validation MAP is best at 1e-5 on MQ2007 (1,000 training "
        "queries) and above 1e-4 on OHSUMED (60)",
        min_length=1,
    )
    select_by: str = param("map", "LETOR's protocol: gamma and l2 by the validation part's MAP", pattern=CRITERION)


class KernelContent(Content):
    name: Literal["rbf", "polynomial"]
    gamma: Positive
    degree: Annotated[int, Field(ge=1, le=8)]


SHAPES: dict[str, tuple[str, ...]] = {
    "mean": ("features",),
    "scale": ("features",),
    "landmarks": ("landmarks", "features"),
    "coefficients": ("landmarks",),
}


@register("ranknet_kernel")
class RankNetKernel(Model[RankNetKernelParams]):
    reads_labels = "order"
    Params = RankNetKernelParams
    summary = "Kernel RankNet on all pairs, RBF or polynomial by Nystroem landmarks (Burges et al. 2005)"
    needs_pairs = True
    uses_weights = "queries"
    space: ClassVar = {"gamma": LogUniform(2.0**-12, 2.0**-5, "an eighth to sixteen times the published 2^-9 to 2^-8")}
    # gamma: the value of the best published RBF RankSVM on MQ2007. l2: the middle of the grid.
    published: ClassVar = {"gamma": 2.0**-8, "l2": 1e-4}

    def __init__(
        self, kernel: "Kernel", landmarks: np.ndarray, coefficients: np.ndarray, mean: np.ndarray, scale: np.ndarray
    ) -> None:
        """Create a ranker with m landmarks.

        landmarks: (m, d) standardised features. coefficients: (m,). mean, scale: (d,) mean and standard deviation with
        which features are standardised.
        """
        self.kernel, self.landmarks, self.coefficients = kernel, landmarks, coefficients
        self.mean, self.scale = mean, scale

    @classmethod
    def fit(
        cls, train: Collection, vali: Collection, params: RankNetKernelParams, seed: int, callback: Callback
    ) -> Self:
        """Fit one model per combination of gamma and l2, and return the model that is best on validation.

        The callback is called once per combination. For each gamma, the values of l2 are in descending order. Raises
        GradrankError if no query has a pair or if the kernel overflows.
        """
        from gradrank.training.losses.pairwise import ranknet, ranknet_curvature
        from gradrank.training.nets.net import standardisation, standardised

        train = with_pairs_to_order(train, cls.name)
        targets, ties, weights = train.targets, train.ties, train.query_weights
        mean, scale = standardisation(train.features, train.weights)
        features = standardised(train.features, mean, scale)
        rng = np.random.default_rng(seed)
        landmarks = features[np.sort(rng.permutation(train.rows)[: params.landmarks])]

        def cost(scores: np.ndarray) -> tuple[float, np.ndarray]:
            return ranknet(scores, targets, train.offsets, ties=ties, weights=weights)

        curvature = ranknet_curvature(targets, train.offsets, ties)
        problem = Problem(cost, curvature if train.weights is None else train.weights * curvature, train.offsets)
        validated = standardised(vali.features, mean, scale)

        def candidates() -> Iterator[Candidate]:
            for gamma in params.gamma:
                kernel, matrix = Kernel(params.kernel, gamma, params.degree), None
                for used, coefficients, loss in regularised_path(features, kernel, landmarks, problem, params.l2):
                    matrix = kernel.matrix(validated, used) if matrix is None else matrix
                    model = cls(kernel, used, coefficients, mean, scale)
                    scores = expanded(matrix, coefficients)
                    if not np.isfinite(scores).all():
                        raise GradrankError(
                            f"{cls.name}: the kernel overflows. Fix: lower gamma, now {gamma:g}, or degree, now "
                            f"{params.degree}"
                        )
                    yield Candidate(model, loss, scores)

        return best_of(candidates(), vali, params.select_by, callback).kept

    def score(self, features: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from gradrank.training.nets.net import standardised

        x = standardised(features, self.mean, self.scale)
        return self.kernel.expansion(x, self.landmarks, self.coefficients)

    def scoring_form(self, features: int) -> KernelForm:
        return KernelForm(self.kernel, self.landmarks, self.coefficients, self.mean, self.scale)

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save

        names = ("landmarks", "coefficients", "mean", "scale")
        # The metadata has a single key, because safetensors writes several keys in an order that varies between calls.
        metadata = {"kernel": json.dumps(dataclasses.asdict(self.kernel))}
        with atomic(folder / "kernel.safetensors") as partial:
            partial.write_bytes(save({name: getattr(self, name) for name in names}, metadata=metadata))

    @classmethod
    def load(cls, folder: Path) -> Self:

        path = folder / "kernel.safetensors"
        arrays, metadata = read_arrays(path)
        stored = parse_content(path, metadata.get("kernel", ""), KernelContent, "kernel.")
        check_arrays(path, arrays, SHAPES)
        check_types(path, arrays, {"landmarks": np.float32})
        return cls(Kernel(stored.name, stored.gamma, stored.degree), **arrays)

    def check_width(self, features: int) -> None:
        check_width("kernel.safetensors", len(self.mean), features)
