"""Agreement of two collections on the order of methods: Kendall's tau with a bootstrap interval over queries."""

from typing import NamedTuple

import numpy as np

from gradrank.comparison.variance import CONFIDENCE, fold_queries

DRAWS, SEED = 2000, 0


class Agreement(NamedTuple):
    """Kendall's tau, from -1 (opposite orders) to 1 (equal orders), with its 95% interval from `low` to `high`."""

    tau: float
    low: float
    high: float


def agreement(first: np.ndarray, first_folds: np.ndarray, second: np.ndarray, second_folds: np.ndarray) -> Agreement:
    """Return the agreement of two collections on the order of m methods.

    first: (q1, m) values of the methods on the queries of the first collection. first_folds: (q1,) folds of these
    queries. second, second_folds: the same for the second collection, with the methods in the same order. The interval
    is a percentile bootstrap interval (Efron 1979). Each draw resamples the queries within every fold of both
    collections.
    """
    rng = np.random.default_rng(SEED)
    means = [_means(first, first_folds), _means(second, second_folds)]
    drawn_means = [_drawn_means(first, first_folds, rng), _drawn_means(second, second_folds, rng)]
    ends = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.nanquantile(kendall_tau(*drawn_means), ends)
    return Agreement(float(kendall_tau(*means)), float(low), float(high))


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b (Kendall 1945) along the last axis.

    first, second: (..., m) values. The result has the shape (...). It is nan if all m values of one array are equal.
    """
    upper = np.triu_indices(first.shape[-1], 1)
    first_signs, second_signs = (np.sign(values[..., upper[0]] - values[..., upper[1]]) for values in (first, second))
    scale = np.sqrt((first_signs * first_signs).sum(axis=-1) * (second_signs * second_signs).sum(axis=-1))
    concordance = (first_signs * second_signs).sum(axis=-1)
    return np.divide(concordance, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def _means(values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the (m,) means over folds of (q, m) values."""
    return np.mean([values[rows].mean(axis=0) for rows in fold_queries(folds)], axis=0)


def _drawn_means(values: np.ndarray, folds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the (DRAWS, m) means over folds. Each draw resamples the queries of every fold with replacement."""
    fold_means = []
    for rows in fold_queries(folds):
        counts = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=DRAWS)
        fold_means.append(np.einsum("dq,qm->dm", counts / len(rows), values[rows]))
    return np.mean(fold_means, axis=0)
