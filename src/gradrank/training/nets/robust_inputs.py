"""Quantiles of features, and the robust scaling of RealMLP (Holzmüller et al. 2024, section 3)."""

import numpy as np


def quantiles(features: np.ndarray, levels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the (d, k) quantiles of (n, d) features at (k,) levels, in the type of the features.

    A quantile is the smallest value whose share of rows that are at most as large reaches the level. So a row with the
    weight 2 counts like two equal rows. weights: (n,) weights of the rows. If None, all rows have the same weight.
    """
    shares = np.ones(len(features)) if weights is None else weights.astype(np.float64)
    out = np.empty((features.shape[1], len(levels)), features.dtype)
    for feature, column in enumerate(features.T):
        order = np.argsort(column, kind="stable")
        sums = np.cumsum(shares[order])
        positions = np.searchsorted(sums, levels * sums[-1] * (1.0 - 1e-12))  # less the rounding errors of the sums
        out[feature] = column[order[np.minimum(positions, len(column) - 1)]]
    return out


def robust_standardisation(features: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (d,) float64 medians and the (d,) float64 interquartile ranges of (n, d) features.

    If the range is 0, half of the difference between the largest and the smallest value is returned instead. If it is
    0, too, 1 is returned. weights: (n,) weights of the rows. If None, all rows have the same weight.
    """
    found = quantiles(features, np.array([0.0, 0.25, 0.5, 0.75, 1.0]), weights)
    lowest, first, median, third, highest = np.ascontiguousarray(found.T, np.float64)
    scale = np.where(third > first, third - first, 0.5 * (highest - lowest))
    return median, np.where(scale > 0.0, scale, 1.0)
