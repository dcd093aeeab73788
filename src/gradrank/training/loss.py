"""What a loss is: `loss(scores, labels, offsets, *, rng) -> (cost, gradient)`, summed over queries.

scores: (n,), or (n, K) where the loss says how many outputs it is about; labels: (n,) grades; offsets: (q+1,) of
contiguous queries; rng: the NumPy generator of what the loss draws, if it does. cost: float; gradient: float64, as the
scores. Pure: equal arguments and an rng in an equal state give equal results. Further keywords are the loss's own
settings, with the defaults of its paper.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature

import numpy as np

Loss = Callable[..., tuple[float, np.ndarray]]


def one_output(labels: np.ndarray) -> int:
    return 1


def loss(
    function: Loss | None = None, *, outputs: Callable[[np.ndarray], int] = one_output, on_pairs: bool = False
) -> Loss:
    """Decorator: every loss takes `rng`, whether it draws or not, and sees contiguous float64 scores.

    outputs: the scores' width K, of the (n,) grades of the training part. on_pairs: in place of the grades the loss
    takes a `gradrank.data.pairs.Pairs` too, and has the keyword `ties`: of grades it takes equal ones as pairs.
    """
    if function is None:
        return lambda function: loss(function, outputs=outputs, on_pairs=on_pairs)
    draws = "rng" in signature(function).parameters

    @wraps(function)
    def of_scores(scores, labels, offsets, *, rng=None, **settings) -> tuple[float, np.ndarray]:
        drawn_from = {"rng": rng} if draws else {}
        return function(np.ascontiguousarray(scores, dtype=np.float64), labels, offsets, **drawn_from, **settings)

    of_scores.outputs, of_scores.on_pairs = outputs, on_pairs
    return of_scores
