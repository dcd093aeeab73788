"""Thresholds for Solr's MultipleAdditiveTreesModel, which adds 1e-6 to each threshold (as float32 numbers)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradrank.model_formats.format import NotExpressible
from gradrank.model_formats.writable_forms import LARGEST
from gradrank.training.scoring_form import Tree

SLACK = np.float32(1e-6)
LARGE = 64.0  # from here on, the addition of the slack changes no float32 number


def solr_trees(trees: Sequence[Tree], names: Sequence[str]) -> tuple[list[Tree], np.ndarray]:
    """Return trees with the thresholds of Solr's files, and the (d,) float32 divisors of the features.

    Every float32 value takes the same branch as before. Some thresholds have no number to which Solr can add 1e-6: for
    example, none gives 1e-9. The values of such a feature are divided by a power of two, which is exact, so that all
    its thresholds are large. Raises NotExpressible if the thresholds are too far apart for that.
    """
    divisors = np.ones(len(names), np.float32)
    thresholds = [tree.threshold.astype(np.float32) for tree in trees]
    for feature, name in enumerate(names):
        used = np.concatenate([part[tree.feature == feature] for part, tree in zip(thresholds, trees, strict=True)])
        if not _is_reached(used).all():
            divisors[feature] = _divisor(used, name)
    written = []
    for part, tree in zip(thresholds, trees, strict=True):
        with np.errstate(over="ignore"):
            divided = part / np.where(tree.feature < 0, np.float32(1.0), divisors[tree.feature])
        written.append(replace(tree, threshold=_before_slack(divided)))
    return written, divisors


def _before_slack(thresholds: np.ndarray) -> np.ndarray:
    """Return float32 numbers to which Solr adds 1e-6, as near to the thresholds as possible."""
    with np.errstate(over="ignore"):
        near = (thresholds - SLACK).astype(np.float32)
        below, above = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
        candidates = np.stack([near, below, above, thresholds])
        best = np.argmax(candidates + SLACK == thresholds, axis=0)
    number = np.take_along_axis(candidates, best[None, :], axis=0)[0]
    return np.where(thresholds >= LARGEST, np.float32(np.inf), number)  # all values go left, also after a division


def _is_reached(thresholds: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return (_before_slack(thresholds) + SLACK == thresholds) | (thresholds >= LARGEST)


def _divisor(thresholds: np.ndarray, name: str) -> np.float32:
    """Return the power of two that makes every threshold 0 or large."""
    sizes = np.abs(thresholds[(thresholds != 0.0) & (thresholds < LARGEST)]).astype(np.float64)
    divisor = 2.0 ** np.floor(np.log2(sizes.min() / LARGE))
    if sizes.max() / divisor > LARGEST or np.float32(divisor) == 0.0:
        extremes = f"from {sizes.min():.3g} to {sizes.max():.3g} in absolute value"
        raise NotExpressible(f"the thresholds of feature {name} reach {extremes}, and Solr adds 1e-6 to each threshold")
    return np.float32(divisor)
