"""Linear rankers trained to convergence: any smooth convex loss on scores, L-BFGS, L2 from a grid."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradrank.data.collection import Collection
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback
from gradrank.training.nets.net import Net, standardisation
from gradrank.training.solvers.matrix_vector import centred_times, transposed_centred_times

Loss = Callable[[np.ndarray, Any, np.ndarray], tuple[float, np.ndarray]]


def best_linear(
    train: Collection, vali: Collection, loss: Loss, grid: Sequence[float], select_by: str, callback: Callback
) -> Net:
    """The linear scorer of standardised features whose l2, of `grid`, ranks the validation part best.

    A step of the callback is one value of l2, strongest first.
    """
    mean, scale = standardisation(train.features)
    path = l2_path(train.features, train.targets, train.offsets, loss, grid, mean, scale)
    nets = ((Net([weights[:, None]], [np.zeros(1)], mean, scale), cost) for weights, cost in path)
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
    """((d,) float64 weights, cost) for each l2 of `grid`, strongest first, each starting from the last.

    X are the features less `mean`, over `scale`, both (d,): computed as they are read, for a standardised copy in
    float64 would be the largest thing in memory.
    Minimises cost(Xw) / cost(0) + l2/2 |w|^2 (L-BFGS, Liu & Nocedal 1989). Dividing by the cost of no ranking
    at all makes one grid serve every loss and size of data. The cost yielded is the first term alone.
    features: (n, d); X is best standardised: the penalty treats all weights alike. labels: what `loss` wants as such.
    loss: (scores, labels, offsets) -> cost, (n,) gradient; its cost of zero scores must be positive.
    """
    from scipy.optimize import minimize

    features = np.ascontiguousarray(features)
    weights = np.zeros(features.shape[1])
    mean = np.broadcast_to(np.asarray(mean, np.float64), weights.shape).copy()
    unranked, _ = loss(np.zeros(len(features)), labels, offsets)

    def objective(weights: np.ndarray, l2: float) -> tuple[float, np.ndarray]:
        cost, gradient = loss(centred_times(features, mean, weights / scale), labels, offsets)
        slope = transposed_centred_times(features, mean, gradient) / scale
        penalty = l2 / 2.0 * (weights @ weights)
        return cost / unranked + penalty, slope / unranked + l2 * weights

    for l2 in sorted(grid, reverse=True):
        # An objective known to 1e-9 of itself: MAP is then within 1e-4 of where it would settle.
        options = {"maxiter": 1000, "ftol": 1e-9, "gtol": 1e-7}
        solution = minimize(objective, weights, args=(l2,), jac=True, method="L-BFGS-B", options=options)
        weights = solution.x
        yield weights, solution.fun - l2 / 2.0 * (weights @ weights)
