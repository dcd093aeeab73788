"""What a method's mean would be with other queries, other seeds or another tuner: the three variances, kept apart.

A run is one tuner's choice, trained once with one seed on every fold: its value is the mean over folds of the mean over
the fold's test queries. All variances here are of such a value (Bouthillier et al. 2021, sections 2 and 3).
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
    """One metric of one method. values: (T, S, q) by tuner, seed and test query; folds: (q,) of the queries."""

    values: np.ndarray
    folds: np.ndarray

    @property
    def tuners(self) -> int:
        return self.values.shape[0]

    @property
    def seeds(self) -> int:
        return self.values.shape[1]

    @cached_property
    def fold_means(self) -> np.ndarray:
        """(T, S, F) means over each fold's queries."""
        return np.stack([self.values[:, :, own].mean(axis=2) for own in fold_queries(self.folds)], axis=2)

    @cached_property
    def per_query(self) -> np.ndarray:
        """(q,) means over all runs."""
        return self.values.mean(axis=(0, 1))

    @property
    def mean(self) -> float:
        return float(self.fold_means.mean())

    @property
    def spread(self) -> float:
        """Standard deviation over the runs, tuners and seeds together; nan of a single one."""
        runs = self.fold_means.mean(axis=2).ravel()
        return float(runs.std(ddof=1)) if len(runs) > 1 else math.nan

    @property
    def varies(self) -> bool:
        """Whether tuner and seed make a difference."""
        return bool(np.any(self.fold_means != self.fold_means[:1, :1]))

    @cached_property
    def variances(self) -> "Variances":
        return variances(self)

    @property
    def half_width(self) -> float:
        """Half the interval of the mean that holds queries, seeds and tuning."""
        return half_width(self.variances.of_mean)


class Term(NamedTuple):
    """A share of the variance of an estimate, and the degrees of freedom that it was estimated with."""

    variance: float
    freedom: float


class Variances(NamedTuple):
    """Of one run's value. between: of the tuners' means over their seeds, which holds a share of `seed`.

    A single seed, or a single tuner, shows nothing of its variance: 0.
    """

    query: Term
    seed: Term
    between: Term
    tuners: int
    seeds: int

    @property
    def tuning(self) -> float:
        """What the tuners' means vary by beyond their seeds."""
        return max(0.0, self.between.variance - self.seed.variance / self.seeds)

    @property
    def chance(self) -> float:
        """Of a run, by its tuner and its seed."""
        return self.tuning + self.seed.variance

    @property
    def total(self) -> float:
        return self.query.variance + self.chance

    @property
    def chance_of_mean(self) -> Term:
        """Of the mean over all runs, V_tuning / T + V_seed / (T S): no less than what the tuners' means show."""
        least = Term(self.seed.variance / self.seeds, self.seed.freedom)
        term = max(self.between, least) if self.tuners > 1 else least
        return Term(term.variance / self.tuners, self.between.freedom if self.tuners > 1 else term.freedom)

    @property
    def of_mean(self) -> list[Term]:
        return [self.query, self.chance_of_mean]

    def shares(self) -> dict[str, float]:
        """Of the total, by source; nan where nothing varies."""
        parts = {"queries": self.query.variance, "seeds": self.seed.variance, "tuning": self.tuning}
        return {name: part / self.total if self.total else math.nan for name, part in parts.items()}


def variances(runs: Runs) -> Variances:
    """The components of a method's runs."""
    tuners, seeds, folds = runs.fold_means.shape
    # A fold's seeds are its own: their mean over folds varies by a share of what one fold does.
    seed = float(runs.fold_means.var(axis=1, ddof=1).mean()) / folds if seeds > 1 else 0.0
    between = float(runs.fold_means.mean(axis=(1, 2)).var(ddof=1)) if tuners > 1 else 0.0
    return Variances(
        query_term(runs.per_query, runs.folds),
        Term(seed, tuners * folds * (seeds - 1)),
        Term(between, tuners - 1),
        tuners,
        seeds,
    )


def query_term(values: np.ndarray, folds: np.ndarray) -> Term:
    """The variance over samples of queries of the mean over folds of (q,) values: what bootstraps a fold tend to.

    nan where a fold has a single query.
    """
    own = fold_queries(folds)
    if min(map(len, own)) < 2:
        return Term(math.nan, 0)
    parts = [values[queries].var(ddof=1) / len(queries) for queries in own]
    return Term(float(np.sum(parts)) / len(own) ** 2, len(values) - len(own))


def fold_queries(folds: np.ndarray) -> list[np.ndarray]:
    """The places of each fold's queries."""
    return [np.flatnonzero(folds == fold) for fold in np.unique(folds)]


def standard_error(terms: Iterable[Term]) -> float:
    return math.sqrt(sum(term.variance for term in terms))


def freedom(terms: Iterable[Term]) -> float:
    """Of the sum of independent terms (Satterthwaite 1946); infinite where none of them varies."""
    varying = [term for term in terms if term.variance > 0 and term.freedom > 0]
    spread = sum(term.variance**2 / term.freedom for term in varying)
    return sum(term.variance for term in varying) ** 2 / spread if spread else math.inf


def half_width(terms: Iterable[Term], confidence: float = CONFIDENCE) -> float:
    """Half of Student's interval of an estimate whose variance is the sum of these terms."""
    from scipy.stats import t

    terms = list(terms)
    return float(t.ppf((1 + confidence) / 2, freedom(terms))) * standard_error(terms)
