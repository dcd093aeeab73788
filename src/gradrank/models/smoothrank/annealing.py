"""Annealing of a linear ranker on a smooth measure (Chapelle & Wu 2010, Algorithm 1)."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.nets.net import standardisation
from gradrank.training.solvers.matrix_vector import times, transposed_times

Smooth = Callable[..., tuple[float, np.ndarray]]  # a loss with the keyword argument `temperature`


def annealed(
    train: Collection, loss: Smooth, start: np.ndarray, l2: float, temperatures: Sequence[float]
) -> Iterator[tuple[np.ndarray, float, float]]:
    """Yield the (d,) weights, the weighted mean of the loss per query, and the temperature, for each temperature.

    The weights minimise loss / queries + l2 / 2 |w - start|^2 with standardised features. The solver is L-BFGS (the
    paper: conjugate gradients). The search at each temperature starts at the solution of the previous temperature.

    loss: a loss with the keyword argument `temperature`, which contains the weights of the queries. start: (d,)
    weights. `start` and the yielded weights are weights of the original features, not of the standardised features.
    """
    from scipy.optimize import minimize

    mean, scale = standardisation(train.features, train.weights)
    queries = train.queries if train.query_weights is None else train.query_weights.sum()
    features = (train.features - mean) / scale
    first = start * scale
    weights = first

    def objective(weights: np.ndarray, temperature: float) -> tuple[float, np.ndarray]:
        cost, gradient = loss(times(features, weights), train.labels, train.offsets, temperature=temperature)
        moved = weights - first
        value = cost / queries + l2 / 2.0 * float(moved @ moved)
        return value, transposed_times(features, gradient) / queries + l2 * moved

    for temperature in temperatures:
        options = {"maxiter": 100, "ftol": 1e-7, "gtol": 1e-6}
        solution = minimize(objective, weights, args=(temperature,), jac=True, method="L-BFGS-B", options=options)
        weights = solution.x
        moved = weights - first
        cost = float(solution.fun) - l2 / 2.0 * float(moved @ moved)
        yield weights / scale, cost, temperature
