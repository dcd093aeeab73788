"""Thresholds for Solr's MultipleAdditiveTreesModel, which adds 1e-6 to each threshold (as float32 numbers)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradrank.export.format import NotExpressible
from gradrank.export.writable_forms import LARGEST
from gradrank.training.scoring_form import Tree

SLACK = np.float32(1e-6)
SMALLEST_EXPONENT = -149  # of a power of two that is a float32


def solr_trees(trees: Sequence[Tree], names: Sequence[str]) -> tuple[list[Tree], np.ndarray]:
    """Return trees with the thresholds of Solr's files, and the (d,) float32 divisors of the features.

    Every float32 value takes the same branch as before. Solr's sum reaches most float32 numbers, but not all: for
    example, no float32 plus 1e-6 is 1e-35, which LightGBM uses as a threshold next to 0. The values of such a feature
    are divided by a power of two, which is exact, so that the sum reaches all thresholds of the feature. Raises
    NotExpressible if the thresholds are too far apart for that.
    """
    divisors = np.ones(len(names), np.float32)
    thresholds = [tree.threshold.astype(np.float32) for tree in trees]
    for feature, name in enumerate(names):
        used = np.concatenate([part[tree.feature == feature] for part, tree in zip(thresholds, trees, strict=True)])
        divisors[feature] = _divisor(used, name)
    written = []
    for part, tree in zip(thresholds, trees, strict=True):
        divided = _divided(part, np.where(tree.feature < 0, np.float32(1.0), divisors[tree.feature]))
        written.append(replace(tree, threshold=_before_slack(divided)))
    return written, divisors


def _divisor(thresholds: np.ndarray, name: str) -> np.float32:
    """Return the largest power of two, at most 1, after division by which Solr's sum reaches all thresholds."""
    thresholds = np.unique(thresholds[thresholds < LARGEST])  # LARGEST is written as infinity
    for exponent in range(0, SMALLEST_EXPONENT - 1, -1):
        divisor = np.float32(2.0**exponent)
        divided = _divided(thresholds, divisor)
        if np.isinf(divided).any():
            break
        if (_before_slack(divided) + SLACK == divided).all():
            return divisor
    sizes = np.abs(thresholds[thresholds != 0.0])
    extremes = f"absolute values from {sizes.min():.3g} to {sizes.max():.3g}"
    raise NotExpressible(f"the thresholds of feature {name} have {extremes}, and Solr adds 1e-6 to each threshold")


def _divided(thresholds: np.ndarray, divisors: np.ndarray | np.float32) -> np.ndarray:
    with np.errstate(over="ignore"):
        return thresholds / divisors


def _before_slack(thresholds: np.ndarray) -> np.ndarray:
    """Return float32 numbers to which Solr adds 1e-6. The sums are the thresholds, where this is possible."""
    return np.where(thresholds >= LARGEST, np.float32(np.inf), thresholds - SLACK)  # all finite values go left
