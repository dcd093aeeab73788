"""The members of a model that combines the scores of other models: their scores as features, and their copies.

A member is one of the models whose scores are combined.
"""

from collections.abc import Sequence
from itertools import count, takewhile

import numpy as np

from gradrank.training.fold_folder import FoldFolder


def member_features(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return (n, m) float32 features, whose columns are the (n,) scores of m members."""
    return np.stack(scores, axis=1).astype(np.float32)


def copied_members(fold: FoldFolder) -> list[FoldFolder]:
    """Return the members that `copy_members` copied into `fold`, in the same order."""
    return list(takewhile(lambda member: member.finished, map(fold.member, count(1))))
