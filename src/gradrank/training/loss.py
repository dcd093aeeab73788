"""The interface of losses, and weighted sums over queries of their costs.

A loss is a function `loss(scores, labels, offsets, *, rng=None, **settings) -> (cost, gradient)`:

    scores: (n,) float64, or (n, K) if the loss needs K outputs per document.
    labels: (n,) integer grades.
    offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
    rng: NumPy generator for losses that draw random numbers.
    settings: keyword arguments of the loss. Their defaults are the values of the loss's paper.
    cost: float, the sum over all queries.
    gradient: float64 derivatives of the cost with respect to the scores. It has the shape of the scores.

A loss has no side effects except on `rng`. Equal arguments and an rng in an equal state give equal results.
"""

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from typing import Any, overload

import numpy as np

from gradrank.data.collection import Collection
from gradrank.data.order import row_ranges
from gradrank.training.model import LabelReading, param

# A function of the (k,) positions of queries, the row numbers of their documents, and the (k+1,) offsets of the queries
# within these rows. It returns the sum of a cost over these queries, and its gradient for each of these rows.
CostOfQueries = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def weighted_sum(cost_of: CostOfQueries, offsets: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the sum over queries of weight times cost, and its gradient with one element or row per document.

    The cost of all queries with the same weight is computed by one call. offsets: (q+1,). weights: (q,).
    """
    queries = np.argsort(weights, kind="stable")
    groups = np.split(queries, np.flatnonzero(np.diff(weights[queries])) + 1)
    total, gradient = 0.0, None
    for group in groups:
        rows, own_offsets = row_ranges(offsets[group], offsets[group + 1])
        cost, slopes = cost_of(group, rows, own_offsets)
        if gradient is None:
            gradient = np.empty((offsets[-1], *slopes.shape[1:]))
        total += float(weights[group[0]]) * cost
        gradient[rows] = weights[group[0]] * slopes
    return total, np.empty(0) if gradient is None else gradient


Loss = Callable[..., tuple[float, np.ndarray]]
# the parameter `cutoff` of models whose loss has one
CUTOFF = param(10_000, "number of ranks that count; the default covers all ranks, as published; 10: as NDCG@10", ge=1)


class LossFunction:
    """A wrapper that gives all losses the same interface.

    The wrapper accepts `rng` even if the loss draws no random numbers, accepts weights of queries, and converts the
    scores to contiguous float64.

    outputs: function from the (n,) grades of the training part to K, the number of outputs per document. on_pairs:
    whether the loss also accepts `gradrank.data.pairs.Pairs` in place of the grades. Such a loss has the keyword
    `ties`. If `ties` is True, two documents of equal grades also form a pair. reads_labels: as in
    `gradrank.training.model.Model`. A loss that reads gains has the keyword `gains`, the gain of each grade from 0.
    """

    def __init__(
        self, function: Loss, outputs: Callable[[np.ndarray], int], on_pairs: bool, reads_labels: LabelReading
    ) -> None:
        update_wrapper(self, function)
        self.function, self.outputs, self.on_pairs = function, outputs, on_pairs
        self.reads_labels: LabelReading = reads_labels
        self.uses_rng = "rng" in signature(function).parameters

    def labels_of(self, train: Collection) -> np.ndarray:
        """Return the (n,) labels of the training part for this loss: numbers, or grades in the order of the labels."""
        return train.numbers if self.reads_labels == "numbers" else train.labels

    def gain_setting(self, train: Collection) -> dict[str, np.ndarray]:
        """Return the keyword `gains` if this loss reads gains and the user gives gains for the training part."""
        gains = train.gains
        return {} if gains is None or self.reads_labels != "gains" else {"gains": gains}

    def __call__(
        self,
        scores: np.ndarray,
        labels: Any,
        offsets: np.ndarray,
        *,
        rng: np.random.Generator | None = None,
        weights: np.ndarray | None = None,
        **settings: Any,
    ) -> tuple[float, np.ndarray]:
        """Return the cost and its gradient. weights: (q,) factors of the costs of the queries; None if all are 1."""
        if self.uses_rng:
            settings["rng"] = rng
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if weights is None:
            return self.function(scores, labels, offsets, **settings)

        def cost_of(queries: np.ndarray, rows: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
            labels_of = labels[rows] if isinstance(labels, np.ndarray) else labels.of_queries(queries, offsets)
            return self.function(scores[rows], labels_of, own, **settings)

        return weighted_sum(cost_of, offsets, weights)


def one_output(labels: np.ndarray) -> int:
    """Return 1, the number of outputs per document that most losses need."""
    return 1


@overload
def loss(function: Loss) -> LossFunction: ...


@overload
def loss(
    *,
    outputs: Callable[[np.ndarray], int] = one_output,
    on_pairs: bool = False,
    reads_labels: LabelReading = "exponential",
) -> Callable[[Loss], LossFunction]: ...


def loss(
    function: Loss | None = None,
    *,
    outputs: Callable[[np.ndarray], int] = one_output,
    on_pairs: bool = False,
    reads_labels: LabelReading = "exponential",
) -> LossFunction | Callable[[Loss], LossFunction]:
    """Turn a function into a LossFunction. Use it as the decorator `@loss` or `@loss(reads_labels=..., ...)`."""
    if function is None:

        def decorate(function: Loss) -> LossFunction:
            return LossFunction(function, outputs, on_pairs, reads_labels)

        return decorate
    return LossFunction(function, outputs, on_pairs, reads_labels)
