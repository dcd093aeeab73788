"""Checks of the scores of a model: one finite real number per document, and different numbers within a query."""

from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError


class InvalidScores(GradrankError):
    """Raised if a model does not return one finite real number per document."""


def check_scores(scores: Any, rows: int, source: str) -> np.ndarray:
    """Return the scores of a model for `rows` documents as a (rows,) float64 array.

    source: origin of the scores; the error message begins with this text. Raises InvalidScores if the scores do not
    have the shape (rows,), are not real numbers, or are not finite.
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


def has_order(scores: np.ndarray, offsets: np.ndarray) -> bool:
    """Return whether a query has two different scores. scores: (n,) numbers. offsets: (q+1,) as in Collection."""
    starts = offsets[:-1]
    return bool(np.any(np.maximum.reduceat(scores, starts) != np.minimum.reduceat(scores, starts)))
