"""Whether two collections rank the methods alike: Kendall's tau, with an interval over samples of their queries."""

from typing import NamedTuple

import numpy as np

from gradrank.evaluation.variance import CONFIDENCE, fold_queries

DRAWS, SEED = 2000, 0


class Agreement(NamedTuple):
    """tau: 1 where both orders are the same, -1 where one is the other reversed. low, high: its 95% interval."""

    tau: float
    low: float
    high: float


def agreement(first: np.ndarray, first_folds: np.ndarray, second: np.ndarray, second_folds: np.ndarray) -> Agreement:
    """Of (q, m) values of the same m methods on two collections' queries; folds: (q,) of each collection's queries.

    The interval is the bootstrap's percentiles (Efron 1979): in each draw the queries of both collections' folds are
    drawn anew, and both orders with them.
    """
    rng = np.random.default_rng(SEED)
    means = [_means(first, first_folds), _means(second, second_folds)]
    drawn = [_drawn_means(first, first_folds, rng), _drawn_means(second, second_folds, rng)]
    ends = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.nanquantile(kendall_tau(*drawn), ends)
    return Agreement(float(kendall_tau(*means)), float(low), float(high))


def kendall_tau(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(...) tau-b (Kendall 1945) of (..., m) and (..., m) values; nan where all of one side are equal."""
    upper = np.triu_indices(first.shape[-1], 1)
    a, b = (np.sign(each[..., upper[0]] - each[..., upper[1]]) for each in (first, second))
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.divide((a * b).sum(axis=-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def _means(values: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """(m,) means over folds of (q, m) values."""
    return np.mean([values[own].mean(axis=0) for own in fold_queries(folds)], axis=0)


def _drawn_means(values: np.ndarray, folds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(DRAWS, m) such means, each fold's queries drawn with replacement."""
    drawn = []
    for own in fold_queries(folds):
        counts = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), size=DRAWS)
        drawn.append(np.einsum("dq,qm->dm", counts / len(own), values[own]))
    return np.mean(drawn, axis=0)
