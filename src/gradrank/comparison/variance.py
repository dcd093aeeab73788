"""Variance of a method's mean by source: the sample of queries, the seed and the tuner.

A tuner is one independent search for hyperparameters. A run is the configuration that one tuner chose, trained with one
seed on every fold. The value of a run is the mean over folds of the mean over the fold's test queries. All variances in
this module are variances of such values or of their means (Bouthillier et al. 2021, sections 2 and 3).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Runs:
    """The runs of one method under one metric.

    values: (T, S, q) values for T tuners, S seeds and q test queries. folds: (q,) fold of each query. queries: (q,) id
    of each query, by which queries of overlapping test parts are recognised; None if the test parts do not overlap.
    """

    values: np.ndarray
    folds: np.ndarray
    queries: np.ndarray | None = None

    @property
    def tuners(self) -> int:
        """Number of tuners, T."""
        return self.values.shape[0]

    @property
    def seeds(self) -> int:
        """Number of seeds, S."""
        return self.values.shape[1]

    @cached_property
    def fold_means(self) -> np.ndarray:
        """(T, S, F) means over the queries of each of the F folds."""
        return np.stack([self.values[:, :, queries].mean(axis=2) for queries in fold_queries(self.folds)], axis=2)

    @cached_property
    def per_query(self) -> np.ndarray:
        """(q,) means over all runs."""
        return self.values.mean(axis=(0, 1))

    @property
    def mean(self) -> float:
        """Mean value of the runs."""
        return float(self.fold_means.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the value over the runs of all tuners and seeds; nan for a single run."""
        runs = self.fold_means.mean(axis=2).ravel()
        return float(runs.std(ddof=1)) if len(runs) > 1 else math.nan

    @property
    def varies(self) -> bool:
        """Whether the runs have different values on any fold."""
        return bool(np.any(self.fold_means != self.fold_means[:1, :1]))

    @cached_property
    def variances(self) -> "Variances":
        """Variance components of the runs."""
        return variances(self)

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval of the mean. The interval covers queries, seeds and tuning."""
        return half_width(self.variances.of_mean)


class Term(NamedTuple):
    """One component of the variance of an estimate, with the degrees of freedom of this component."""

    variance: float
    freedom: float


class Variances(NamedTuple):
    """Variance components of the value of one run.

    query: variance that is due to the sample of test queries. seed: variance that is due to the seed of training; 0
    with a single seed. between: variance of the tuners' means over seeds, which includes 1/S of the variance `seed`; 0
    with a single tuner. tuners: number of tuners T. seeds: number of seeds S.
    """

    query: Term
    seed: Term
    between: Term
    tuners: int
    seeds: int

    @property
    def tuning(self) -> float:
        """Variance that is due to the tuner: the variance between tuners minus the part due to seeds; at least 0."""
        return max(0.0, self.between.variance - self.seed.variance / self.seeds)

    @property
    def chance(self) -> float:
        """Variance of a run's value that is due to its tuner and its seed."""
        return self.tuning + self.seed.variance

    @property
    def total(self) -> float:
        """Variance of a run's value that is due to all sources together."""
        return self.query.variance + self.chance

    @property
    def chance_of_mean(self) -> Term:
        """The part of the variance of the overall mean that is due to tuners and seeds: V_tuning / T + V_seed / (T S).

        This is computed as the larger of `between` and V_seed / S, divided by T.
        """
        of_seeds = Term(self.seed.variance / self.seeds, self.seed.freedom)
        term = max(self.between, of_seeds) if self.tuners > 1 else of_seeds
        return Term(term.variance / self.tuners, self.between.freedom if self.tuners > 1 else term.freedom)

    @property
    def of_mean(self) -> list[Term]:
        """Variance components of the mean over all runs."""
        return [self.query, self.chance_of_mean]

    def shares(self) -> dict[str, float]:
        """Return the share of `queries`, `seeds` and `tuning` in the total variance; nan if the total is 0."""
        parts = {"queries": self.query.variance, "seeds": self.seed.variance, "tuning": self.tuning}
        return {name: part / self.total if self.total else math.nan for name, part in parts.items()}


def variances(runs: Runs) -> Variances:
    """Return the variance components of a method's runs."""
    tuners, seeds, folds = runs.fold_means.shape
    # Seeds are independent across folds. The variance of the mean over folds is therefore the mean variance of a fold,
    # divided by the number of folds.
    seed = float(runs.fold_means.var(axis=1, ddof=1).mean()) / folds if seeds > 1 else 0.0
    between = float(runs.fold_means.mean(axis=(1, 2)).var(ddof=1)) if tuners > 1 else 0.0
    return Variances(
        query_term(runs.per_query, runs.folds, runs.queries),
        Term(seed, tuners * folds * (seeds - 1)),
        Term(between, tuners - 1),
        tuners,
        seeds,
    )


def query_term(values: np.ndarray, folds: np.ndarray, queries: np.ndarray | None = None) -> Term:
    """Return the variance of a method's mean that is due to the sample of queries. The mean is taken over folds.

    The variance is the limit of a bootstrap over queries within each fold. It is nan if a fold has a single query.
    values: (q,). folds: (q,) fold of each query. queries: (q,) query ids. The deviations of a query that is tested in
    several folds are added before they are squared, because they are not independent.
    """
    queries_by_fold = fold_queries(folds)
    if min(map(len, queries_by_fold)) < 2:
        return Term(math.nan, 0)
    if queries is not None and len(distinct := np.unique(queries)) < len(queries):
        shares = np.zeros(len(values))
        for fold in queries_by_fold:
            size = len(fold)
            shares[fold] = (values[fold] - values[fold].mean()) / math.sqrt(size * (size - 1))
        of_query = np.bincount(np.searchsorted(distinct, queries), shares) / len(queries_by_fold)
        return Term(float(np.sum(of_query**2)), max(1, len(distinct) - len(queries_by_fold)))
    parts = [values[fold].var(ddof=1) / len(fold) for fold in queries_by_fold]
    return Term(float(np.sum(parts)) / len(queries_by_fold) ** 2, len(values) - len(queries_by_fold))


def fold_queries(folds: np.ndarray) -> list[np.ndarray]:
    """Return one array per fold with the positions of its queries. Folds are in ascending order."""
    return [np.flatnonzero(folds == fold) for fold in np.unique(folds)]


def standard_error(terms: Iterable[Term]) -> float:
    """Return the standard error of an estimate whose variance is the sum of independent terms."""
    return math.sqrt(sum(term.variance for term in terms))


def freedom(terms: Iterable[Term]) -> float:
    """Return the degrees of freedom of a sum of independent terms (Satterthwaite 1946); infinite if all are 0."""
    varying = [term for term in terms if term.variance > 0 and term.freedom > 0]
    spread = sum(term.variance**2 / term.freedom for term in varying)
    return sum(term.variance for term in varying) ** 2 / spread if spread else math.inf


def half_width(terms: Iterable[Term], confidence: float = CONFIDENCE) -> float:
    """Return half the width of Student's interval of an estimate whose variance is the sum of independent terms."""
    from scipy.stats import t

    terms = list(terms)
    return float(t.ppf((1 + confidence) / 2, freedom(terms))) * standard_error(terms)
