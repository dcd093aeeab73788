"""SmoothRank (Chapelle & Wu 2010): a linear ranker that maximises a smooth NDCG at decreasing temperatures.

The training starts with the ridge regression that is best on validation. It deviates from the paper in two ways: the
solver is L-BFGS instead of conjugate gradients, and the strength of the penalty and the temperature are selected on
validation.

The temperatures decrease as in Algorithm 1 of the paper.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from gradrank.data.collection import Collection
from gradrank.models.regression import Regression, RegressionParams
from gradrank.training.best_of import Candidate, best_of
from gradrank.training.model import Callback, ModelParams, param, register
from gradrank.training.nets.net import standardisation
from gradrank.training.search_space import Choice, Dimension, Grid
from gradrank.training.selection import CRITERION
from gradrank.training.solvers.linear import times, transposed_times
from gradrank.training.training_queries import with_grades_to_order

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


class AnnealingParams(ModelParams):
    """The temperatures of the annealing, and the cutoff of the smooth NDCG."""

    warmest: int = param(6, "log2 of the first temperature; Chapelle & Wu 2010: 2^6", ge=-20, le=20)
    coldest: int = param(-6, "log2 of the last temperature; Chapelle & Wu 2010: 2^-6", ge=-20, le=20)
    cutoff: int = param(10, "NDCG@10, the measure of LETOR's tables", ge=1)


class SmoothRankParams(RegressionParams, AnnealingParams):
    """The parameters of SmoothRank. The fields of AnnealingParams precede the fields of RegressionParams."""

    l2: Grid[Annotated[float, Field(ge=0)]] = param(
        (1.0, 0.1, 0.01, 0.001, 0.0001),
        "penalty on the distance from the regression, on standardised features; decades, as in the paper",
        min_length=1,
    )
    select_by: str = param(
        "map", "LETOR's protocol: l2 and temperature by the validation part's MAP", pattern=CRITERION
    )


@register("smoothrank")
class SmoothRank(Regression[SmoothRankParams]):
    """A linear ranker whose training starts at the weights of a regression.

    `l2` penalises the distance from these weights.
    """

    reads_labels = "gains"
    Params = SmoothRankParams
    uses_weights = "queries"
    summary = "SmoothRank: a linear ranker on smooth NDCG, annealed from regression on (Chapelle & Wu 2010)"
    space: ClassVar[Mapping[str, Dimension]] = {
        "l2": Choice([(10.0**e,) for e in range(-4, 1)], "one value of the grid"),
        "cutoff": Choice((5, 10, 10_000), "the usual cutoffs of NDCG, and all ranks"),
    }

    @classmethod
    def fit(cls, train: Collection, vali: Collection, params: SmoothRankParams, seed: int, callback: Callback) -> Self:
        """For each value of l2, train at decreasing temperatures. Return the model that is best on validation.

        The callback is called once per l2 and temperature, both in descending order. Raises GradrankError if no query
        has two different grades.
        """
        train = with_grades_to_order(train, cls.name)
        plain = RegressionParams(select_by=params.select_by)
        start = Regression.fit(train, vali, plain, seed, lambda step, **values: None).weights
        return best_of(cls._candidates(train, params, start), vali, params.select_by, callback).kept

    @classmethod
    def _candidates(cls, train: Collection, params: SmoothRankParams, start: np.ndarray) -> Iterator[Candidate]:
        from gradrank.training.losses.smooth_ndcg import smoothrank

        loss = partial(smoothrank, cutoff=params.cutoff, weights=train.query_weights, gains=train.gains)
        coldest = min(params.coldest, params.warmest)
        temperatures = [2.0**e for e in range(params.warmest, coldest - 1, -1)]
        for l2 in sorted(params.l2, reverse=True):
            for weights, cost, temperature in annealed(train, loss, start, l2, temperatures):
                yield Candidate(cls(weights, l2), cost, reported={"l2": l2, "temperature": temperature})
