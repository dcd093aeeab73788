"""Checks of the scores that a model returns: one finite real number per document."""

from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError


class InvalidScores(GradrankError):
    """The error of a model that returns something else than one finite real number per document."""


def check_scores(scores: Any, rows: int, source: str) -> np.ndarray:
    """Return a model's scores of `rows` documents as (rows,) float64.

    source: origin of the scores, with which the error message begins. Raises InvalidScores if the scores have another
    shape, are not real numbers, or are not finite.
    """
    try:
        array = np.asarray(scores)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, or a tensor that requires gradients
        raise InvalidScores(
            f"{source}: not an array of numbers ({error}). Fix: return an array of shape ({rows},)"
        ) from None
    if array.shape != (rows,):
        fix = "return scores[:, 0]" if array.shape == (rows, 1) else "return one number per document"
        raise InvalidScores(f"{source}: shape {array.shape}, expected ({rows},). Fix: {fix}")
    if array.dtype.kind not in "fiub":
        raise InvalidScores(f"{source}: type {array.dtype}, expected real numbers. Fix: return float64 numbers")
    finite = np.isfinite(array)
    if not finite.all():
        first = int(np.argmin(finite))
        raise InvalidScores(
            f"{source}: {rows - finite.sum():,} of {rows:,} are not finite, the first is {array[first]}, of document "
            f"{first + 1}. Fix: lower the learning rate if training diverged; otherwise correct the model"
        )
    return array.astype(np.float64, copy=False)
