"""Training of linear rankers to convergence by L-BFGS, for any smooth convex loss and a grid of L2 penalties.

Products of a matrix and a vector are compiled loops. Unlike with BLAS, the results do not depend on the number of
threads.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback
from gradrank.training.nets.net import Net, standardisation


@compiled("f8[:,:], f8[:]")
def times(matrix, vector):
    """Return the (n,) product M v. Four rows are processed at a time, because their sums are independent."""
    out = np.zeros(len(matrix))
    whole = len(matrix) // 4 * 4
    for i in range(0, whole, 4):
        a = b = c = d = 0.0
        for j in range(len(vector)):
            a += matrix[i, j] * vector[j]
            b += matrix[i + 1, j] * vector[j]
            c += matrix[i + 2, j] * vector[j]
            d += matrix[i + 3, j] * vector[j]
        out[i : i + 4] = a, b, c, d
    for i in range(whole, len(matrix)):
        for j in range(len(vector)):
            out[i] += matrix[i, j] * vector[j]
    return out


@compiled("f8[:,:], f8[:]")
def transposed_times(matrix, vector):
    """Return the (m,) product M^T v."""
    out = np.zeros(matrix.shape[1])
    for i in range(len(matrix)):
        for j in range(len(out)):
            out[j] += vector[i] * matrix[i, j]
    return out


BLOCK = 1 << 21  # features per block; a block has less than two of these, and its float64 copy less than 34 MB
# OpenBLAS adds the products of some hundred rows at a time. With blocks of a multiple of this number of rows, the order
# of the additions is that of one product of all rows.
ALIGNED = 4096


def blocks(features: np.ndarray) -> list[slice]:
    """Return slices of rows that cover the (n, d) features, of which float64 copies are small."""
    size = max(BLOCK // features.shape[1] // ALIGNED, 1) * ALIGNED
    starts = [number * size for number in range(max(len(features) // size, 1))]
    return [slice(*ends) for ends in pairwise([*starts, len(features)])]


def times_in_blocks(features: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the (n,) float64 product of (n, d) float32 features and a (d,) vector, by BLAS."""
    return np.concatenate([features[rows].astype(np.float64) @ vector for rows in blocks(features)])


def transposed_times_in_blocks(features: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the (d,) float64 product of the transposed (n, d) float32 features and an (n,) vector, by BLAS."""
    # scipy.linalg.blas creates its functions at import, so type checkers do not know them.
    from scipy.linalg.blas import dgemv  # pyright: ignore[reportAttributeAccessIssue]

    out = np.zeros(features.shape[1])
    for rows in blocks(features):
        dgemv(1.0, features[rows].astype(np.float64).T, vector[rows], beta=1.0, y=out, overwrite_y=True)
    return out


@compiled("f4[:,:], f8[:], f8[:]", reassociated=True)
def centred_times(matrix, mean, vector):
    """Return the (n,) float64 product (M - mean) v without a copy of the (n, m) float32 matrix M."""
    out = np.zeros(len(matrix))
    for i in range(len(matrix)):
        total = 0.0
        for j in range(len(vector)):
            total += (matrix[i, j] - mean[j]) * vector[j]
        out[i] = total
    return out


@compiled("f4[:,:], f8[:], f8[:]")
def transposed_centred_times(matrix, mean, vector):
    """Return the (m,) float64 product (M - mean)^T v without a copy of the (n, m) float32 matrix M."""
    out = np.zeros(matrix.shape[1])
    for i in range(len(matrix)):
        for j in range(len(out)):
            out[j] += vector[i] * (matrix[i, j] - mean[j])
    return out


Loss = Callable[..., tuple[float, np.ndarray]]


def best_linear(
    train: Collection, vali: Collection, loss: Loss, grid: Sequence[float], select_by: str, callback: Callback
) -> Net:
    """Train a linear scorer for each l2 in `grid`, and return the scorer with the best `select_by` on `vali`.

    The features are standardised. loss: function of (scores, `train.targets`, offsets) that returns the cost and its
    (n,) gradient. If `train` has weights, it has the keyword argument `weights`, the (q,) weights of the queries. The
    callback is called once per l2, in descending order of l2.
    """
    mean, scale = standardisation(train.features, train.weights)
    if train.weights is not None:
        loss = partial(loss, weights=train.query_weights)
    path = l2_path(train.features, train.targets, train.offsets, loss, grid, mean, scale)
    nets = ((Net.of_layers([weights[:, None]], [np.zeros(1)], mean, scale), cost) for weights, cost in path)
    candidates = (Candidate(net, cost, net.scores(vali.features)) for net, cost in nets)
    return best_of(candidates, vali, select_by, callback).kept


def l2_path(
    features: np.ndarray,
    labels: Any,
    offsets: np.ndarray,
    loss: Loss,
    grid: Sequence[float],
    mean: np.ndarray | float = 0.0,
    scale: np.ndarray | float = 1.0,
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the (d,) float64 weights w and their cost for each l2 in `grid`, in descending order of l2.

    The weights minimise cost(Xw) / cost(0) + l2/2 |w|^2, where X = (features - mean) / scale. The minimum is found by
    L-BFGS (Liu & Nocedal 1989), starting from the weights of the previous l2. The yielded cost is the first term. The
    denominator cost(0) is the cost of zero scores. Because of this denominator, the same grid is suitable for all
    losses and sizes of data.

    X is not stored, because X in float64 would need more memory than all other data. X should be standardised, because
    the penalty is the same for all weights.

    features: (n, d) float32. mean: (d,) or a number. scale: (d,) or a number. labels: the labels of the loss. loss:
    function of (scores, labels, offsets) that returns the cost and its (n,) gradient. The cost of zero scores must be
    positive.
    """
    from scipy.optimize import minimize

    features = np.ascontiguousarray(features)
    weights = np.zeros(features.shape[1])
    mean = np.broadcast_to(np.asarray(mean, np.float64), weights.shape).copy()
    unranked, _ = loss(np.zeros(len(features)), labels, offsets)

    def objective(weights: np.ndarray, l2: float) -> tuple[float, np.ndarray]:
        cost, gradient = loss(centred_times(features, mean, weights / scale), labels, offsets)
        slope = transposed_centred_times(features, mean, gradient) / scale
        penalty = l2 / 2.0 * float(weights @ weights)
        return cost / unranked + penalty, slope / unranked + l2 * weights

    for l2 in sorted(grid, reverse=True):
        # With a relative tolerance of 1e-9 for the objective, MAP differs by less than 1e-4 from its value
        # at full convergence.
        options = {"maxiter": 1000, "ftol": 1e-9, "gtol": 1e-7}
        solution = minimize(objective, weights, args=(l2,), jac=True, method="L-BFGS-B", options=options)
        weights = solution.x
        yield weights, solution.fun - l2 / 2.0 * (weights @ weights)
