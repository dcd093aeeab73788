"""A model's scores, held against what every model promises: one finite number a document."""

from typing import Any

import numpy as np

from gradrank.base.errors import GradrankError


class WrongScores(GradrankError):
    """What a model gave as scores is none."""


def checked(scores: Any, rows: int, whose: str) -> np.ndarray:
    """(rows,) float64 of what a model gave for that many documents.

    Raises WrongScores, naming `whose`, for another shape, for what is no real number, and for one that is not finite.
    """
    try:
        found = np.asarray(scores)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, a tensor that is being trained
        raise WrongScores(f"{whose}: no array of numbers ({error}); expected shape ({rows},)") from None
    if found.shape != (rows,):
        advice = "; return scores[:, 0]" if found.shape == (rows, 1) else ""
        raise WrongScores(f"{whose}: of shape {found.shape}, expected ({rows},), one number a document{advice}")
    if found.dtype.kind not in "fiub":
        raise WrongScores(f"{whose}: of type {found.dtype}, expected real numbers, float64 best")
    finite = np.isfinite(found)
    if not finite.all():
        first = int(np.argmin(finite))
        raise WrongScores(
            f"{whose}: {rows - finite.sum():,} of {rows:,} are not finite, the first is {found[first]}, of document "
            f"{first + 1}; training diverged or the model is wrong"
        )
    return found.astype(np.float64, copy=False)
