"""Estimates of contrasts on one collection, with the variance that is due to queries, seeds and tuning.

The variance of a contrast is a sum of independent terms. The first term is that of the sample of test queries, computed
from the contrast per query. The others are those of tuners and seeds, one term per cell: the variance between the
tuners of a cell, which includes that of the seeds. With a single tuner, it is the variance between seeds.

Two tuners estimate the variance of a cell poorly, and too small an estimate leads to false claims. Therefore, the
variance of a cell is the largest of three estimates: its own, the mean over the losses of its scorer, and the mean over
the scorers of its loss. Each term keeps the degrees of freedom of its cell alone. p values are those of Student's t
with the degrees of freedom of Satterthwaite 1946. The tests are conservative if the runs of all cells vary alike.

Intervals are percentile bootstrap intervals (Efron 1979). A draw resamples the queries within every fold, and adds to
the mean of each cell a normal deviate with the variance of this cell that is due to tuners and seeds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradrank.comparison.variance import CONFIDENCE, fold_queries

DRAWS = 2000


@dataclass(frozen=True)
class Cells:
    """The test values of all cells on one collection.

    values: (R, C, T, S, q) for R scorers, C losses, T tuners, S seeds and q test queries. folds: (q,) fold of each
    query.
    """

    values: np.ndarray
    folds: np.ndarray

    @cached_property
    def weights(self) -> np.ndarray:
        """(q,) weights of the queries in a mean over folds. The sum is 1."""
        weights = np.empty(len(self.folds))
        rows_of_folds = fold_queries(self.folds)
        for rows in rows_of_folds:
            weights[rows] = 1 / (len(rows_of_folds) * len(rows))
        return weights

    @cached_property
    def per_query(self) -> np.ndarray:
        """(R * C, q) means over tuners and seeds."""
        queries = self.values.shape[-1]
        return self.values.mean(axis=(2, 3)).reshape(-1, queries)

    @cached_property
    def means(self) -> np.ndarray:
        """(R, C) means over folds, tuners and seeds."""
        return (self.per_query @ self.weights).reshape(self.values.shape[:2])

    @cached_property
    def runs(self) -> np.ndarray:
        """(R, C, n) values of the n independent repetitions of a cell: its tuners or, with one tuner, its seeds."""
        by_run = self.values @ self.weights
        return by_run.mean(axis=3) if by_run.shape[2] > 1 else by_run[:, :, 0]

    @cached_property
    def run_variances(self) -> np.ndarray:
        """(R, C) variances of the means of the cells that are due to tuners and seeds; 0 with a single run per cell."""
        repetitions = self.runs.shape[2]
        if repetitions < 2:
            return np.zeros(self.runs.shape[:2])
        own = self.runs.var(axis=2, ddof=1) / repetitions
        return np.maximum(own, np.maximum(own.mean(axis=1, keepdims=True), own.mean(axis=0)))

    @property
    def run_freedom(self) -> int:
        """Degrees of freedom of each element of `run_variances`."""
        return self.runs.shape[2] - 1


class Terms(NamedTuple):
    """The estimates of K contrasts, and the terms of their variances.

    estimates: (K,). variances: (K, n) independent terms. freedoms: (n,) degrees of freedom of the terms.
    """

    estimates: np.ndarray
    variances: np.ndarray
    freedoms: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """(K,) standard errors."""
        return np.sqrt(self.variances.sum(axis=1))

    @property
    def freedom(self) -> np.ndarray:
        """(K,) degrees of freedom (Satterthwaite 1946). Terms without variance do not count."""
        counted = self.freedoms > 0
        spread = (self.variances[:, counted] ** 2 / self.freedoms[counted]).sum(axis=1)
        total = self.variances[:, counted].sum(axis=1)
        return np.divide(total**2, spread, out=np.full(len(total), np.inf), where=spread > 0)

    @property
    def p(self) -> np.ndarray:
        """(K,) two-sided p values of the hypotheses that the contrasts are 0."""
        return p_values(self.estimates, self.errors, self.freedom)


def p_values(estimates: np.ndarray, errors: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """Return the (K,) two-sided p values of Student's t. An estimate without an error has p = 1 if it is 0, else 0."""
    from scipy.stats import t

    ratios = np.divide(np.abs(estimates), errors, out=np.where(estimates == 0, 0.0, np.inf), where=errors > 0)
    return np.minimum(1.0, 2 * t.sf(ratios, freedom))


def estimate(cells: Cells, weights: np.ndarray) -> Terms:
    """Return the estimates of contrasts and the terms of their variances. weights: (K, R * C), as of `matrix`."""
    per_query = weights @ cells.per_query
    rows_of_folds = fold_queries(cells.folds)
    parts = [per_query[:, rows].var(axis=1, ddof=1) / len(rows) for rows in rows_of_folds]
    of_queries = np.sum(parts, axis=0) / len(rows_of_folds) ** 2
    freedoms = np.r_[len(cells.folds) - len(rows_of_folds), np.full(cells.means.size, cells.run_freedom)]
    variances = np.column_stack([of_queries, weights**2 * cells.run_variances.ravel()])
    return Terms(per_query @ cells.weights, variances, freedoms)


def draw(cells: Cells, weights: np.ndarray, seed: int, draws: int) -> np.ndarray:
    """Return the (draws, K) bootstrap draws of the contrasts. seed: differs between collections."""
    rng = np.random.default_rng(seed)
    per_query, rows_of_folds = weights @ cells.per_query, fold_queries(cells.folds)
    drawn = np.zeros((draws, len(weights)))
    for rows in rows_of_folds:
        counts = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=draws)
        drawn += counts @ per_query[:, rows].T / (len(rows) * len(rows_of_folds))
    noise = rng.normal(size=(draws, cells.means.size)) * np.sqrt(cells.run_variances.ravel())
    return drawn + noise @ weights.T


def intervals(drawn: np.ndarray) -> np.ndarray:
    """Return the (2, K) ends of the 95% percentile intervals of (draws, K) draws."""
    return np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
