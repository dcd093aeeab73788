"""Contrasts pooled over collections, in two ways that answer different questions.

The mean over the collections is a statement about these collections alone. Its variance is the sum of the variances on
the collections, divided by the square of their number.

The random-effects mean is a statement about other collections like these. The effect on a collection k is taken as a
draw from a distribution with mean mu and variance tau^2, and is estimated by d_k with variance v_k:

    w_k = 1 / v_k,   d = sum w_k d_k / sum w_k,   Q = sum w_k (d_k - d)^2
    tau^2 = max(0, (Q - (K - 1)) / (sum w_k - sum w_k^2 / sum w_k))          DerSimonian & Laird 1986, Eq. 8
    u_k = 1 / (v_k + tau^2),   mu = sum u_k d_k / sum u_k
    se^2 = max(1, sum u_k (d_k - mu)^2 / (K - 1)) / sum u_k                  Hartung & Knapp 2001; Roever et al. 2015

The interval of mu is mu +- t_(K-1) se. The maximum with 1 (Roever et al. 2015) avoids intervals that are shorter than
without the correction. The interval for the effect on a new collection is mu +- t_(K-2) sqrt(tau^2 + se^2) (Higgins et
al. 2009, section 4.1), and needs three collections.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gradrank.comparison.variance import CONFIDENCE
from studies.factorial.effects import Terms, p_values

LEAST = 1e-18  # a variance of 0, of two methods with equal values, would have an infinite weight


class RandomEffects(NamedTuple):
    """The (K,) random-effects means of K contrasts, their standard errors and p values, and the limits of intervals.

    tau: (K,) standard deviations of the effect between collections. low, high: (K,) ends of the 95% interval of the
    mean. new_low, new_high: (K,) ends of the 95% interval for the effect on a new collection; nan for two collections.
    """

    means: np.ndarray
    errors: np.ndarray
    p: np.ndarray
    tau: np.ndarray
    low: np.ndarray
    high: np.ndarray
    new_low: np.ndarray
    new_high: np.ndarray


def mean_of(collections: Sequence[Terms]) -> Terms:
    """Return the mean of the contrasts over the collections, with the terms of all collections."""
    count = len(collections)
    estimates = np.mean([terms.estimates for terms in collections], axis=0)
    variances = np.concatenate([terms.variances for terms in collections], axis=1) / count**2
    return Terms(estimates, variances, np.concatenate([terms.freedoms for terms in collections]))


def random_effects(collections: Sequence[Terms]) -> RandomEffects:
    """Return the random-effects means over at least two collections."""
    from scipy.stats import t

    count = len(collections)
    effects = np.stack([terms.estimates for terms in collections])
    variances = np.maximum(LEAST, np.stack([terms.errors**2 for terms in collections]))
    weights = 1 / variances
    common = (weights * effects).sum(axis=0) / weights.sum(axis=0)
    excess = (weights * (effects - common) ** 2).sum(axis=0) - (count - 1)
    scale = weights.sum(axis=0) - (weights**2).sum(axis=0) / weights.sum(axis=0)
    tau_squared = np.maximum(0.0, excess / scale)
    weights = 1 / (variances + tau_squared)
    means = (weights * effects).sum(axis=0) / weights.sum(axis=0)
    ratio = (weights * (effects - means) ** 2).sum(axis=0) / (count - 1)
    errors = np.sqrt(np.maximum(1.0, ratio) / weights.sum(axis=0))
    half = t.ppf((1 + CONFIDENCE) / 2, count - 1) * errors
    new_half = np.full(len(means), np.nan)
    if count > 2:
        new_half = t.ppf((1 + CONFIDENCE) / 2, count - 2) * np.sqrt(tau_squared + errors**2)
    p = p_values(means, errors, count - 1)
    intervals = (means - half, means + half, means - new_half, means + new_half)
    return RandomEffects(means, errors, p, np.sqrt(tau_squared), *intervals)
