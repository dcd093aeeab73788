"""The interface of losses.

A loss is a function `loss(scores, labels, offsets, *, rng=None, **settings) -> (cost, gradient)`:

    scores: (n,) float64, or (n, K) for a loss of K outputs per document.
    labels: (n,) integer grades.
    offsets: (q+1,) int64; query i has the rows offsets[i]:offsets[i+1].
    rng: NumPy generator for losses that draw random numbers.
    settings: keywords of this loss, with the defaults of its paper.
    cost: float, a sum over queries.
    gradient: float64 derivatives of the cost in the scores, of the shape of the scores.

Losses are pure: equal arguments and an rng in an equal state give equal results.
"""

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from typing import Any, overload

import numpy as np

Loss = Callable[..., tuple[float, np.ndarray]]


class LossFunction:
    """A loss that accepts `rng` even if it draws no random numbers, and converts scores to contiguous float64.

    outputs: returns K, the outputs per document, from the (n,) grades of the training part. on_pairs: whether the loss
    also accepts `gradrank.data.pairs.Pairs` in place of the grades and has the keyword `ties`, with which equal grades
    form pairs too.
    """

    def __init__(self, function: Loss, outputs: Callable[[np.ndarray], int], on_pairs: bool) -> None:
        update_wrapper(self, function)
        self.function, self.outputs, self.on_pairs = function, outputs, on_pairs
        self.uses_rng = "rng" in signature(function).parameters

    def __call__(
        self,
        scores: np.ndarray,
        labels: Any,
        offsets: np.ndarray,
        *,
        rng: np.random.Generator | None = None,
        **settings: Any,
    ) -> tuple[float, np.ndarray]:
        if self.uses_rng:
            settings["rng"] = rng
        return self.function(np.ascontiguousarray(scores, dtype=np.float64), labels, offsets, **settings)


def one_output(labels: np.ndarray) -> int:
    """Return 1, the outputs per document of most losses."""
    return 1


@overload
def loss(function: Loss) -> LossFunction: ...


@overload
def loss(
    *, outputs: Callable[[np.ndarray], int] = one_output, on_pairs: bool = False
) -> Callable[[Loss], LossFunction]: ...


def loss(
    function: Loss | None = None, *, outputs: Callable[[np.ndarray], int] = one_output, on_pairs: bool = False
) -> LossFunction | Callable[[Loss], LossFunction]:
    """Make a function a LossFunction. Used as the decorator `@loss` or `@loss(outputs=..., on_pairs=...)`."""
    if function is None:

        def decorate(function: Loss) -> LossFunction:
            return LossFunction(function, outputs, on_pairs)

        return decorate
    return LossFunction(function, outputs, on_pairs)
