"""The contrasts of a factorial study, their estimates on one collection, pooled over collections, and in every scope.

A cell is one combination of a scorer and a loss. The mean of a cell is y_ij for scorer i and loss j. Three questions
are asked, each with its contrasts:

- scorer: y_a. - y_b. for every two scorers, where y_i. is the mean over losses;
- loss: y_.a - y_.b for every two losses, where y_.j is the mean over scorers;
- interaction: y_ij - y_i. - y_.j + y_.. for every cell. It is 0 if the effects of scorer and loss add up.

Estimates of contrasts on one collection, with the variance that is due to queries, seeds and tuning.

The variance of a contrast is a sum of independent terms. The first term is that of the sample of test queries, computed
from the contrast per query. The others are those of tuners and seeds, one term per cell: the variance between the
tuners of a cell, which includes that of the seeds. With a single tuner, it is the variance between seeds.

Two tuners estimate the variance of a cell poorly, and too small an estimate leads to false claims. Therefore, the
variance of a cell is the largest of three estimates: its own, the mean over the losses of its scorer, and the mean over
the scorers of its loss. Each term keeps the degrees of freedom of its cell alone. p values are those of Student's t
with the degrees of freedom of Satterthwaite 1946. The tests are conservative if the runs of all cells vary alike.

Intervals are percentile bootstrap intervals (Efron 1979). A draw resamples the queries within every fold, and adds to
the mean of each cell a normal deviate with the variance of this cell that is due to tuners and seeds.

Contrasts pooled over collections, in two ways that answer different questions.

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

A scope is what a statement is about: one collection, the mean over the collections of the study, or other collections
like these. With a single collection, this collection is the only scope. In each scope, the p values of all contrasts
are corrected by Holm 1979, and then multiplied by the number of scopes (Bonferroni). The probability that the page
makes any false claim is therefore at most 5%.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gradrank.comparison.significance import detectable_difference
from gradrank.comparison.statistics import LEVEL, holm
from gradrank.comparison.variance import CONFIDENCE, fold_queries

QUESTIONS = ("scorer", "loss", "interaction")


class Contrast(NamedTuple):
    """A contrast. first, second: the two compared scorers or losses, or the scorer and the loss of an interaction.

    weights: (scorers, losses) weights of the cells, which sum to 0.
    """

    question: str
    first: str
    second: str
    weights: np.ndarray


def contrasts(scorers: Sequence[str], losses: Sequence[str]) -> list[Contrast]:
    """Return all contrasts of the three questions."""
    rows, columns = np.eye(len(scorers)), np.eye(len(losses))
    over_losses, over_scorers = np.full(len(losses), 1 / len(losses)), np.full(len(scorers), 1 / len(scorers))
    found = [
        Contrast("scorer", scorers[a], scorers[b], np.outer(rows[a] - rows[b], over_losses))
        for a, b in combinations(range(len(scorers)), 2)
    ]
    found += [
        Contrast("loss", losses[a], losses[b], np.outer(over_scorers, columns[a] - columns[b]))
        for a, b in combinations(range(len(losses)), 2)
    ]
    return found + [
        Contrast("interaction", scorer, loss, np.outer(rows[i] - over_scorers, columns[j] - over_losses))
        for i, scorer in enumerate(scorers)
        for j, loss in enumerate(losses)
    ]


def deviations(scorers: Sequence[str], losses: Sequence[str]) -> list[Contrast]:
    """Return the effect of each scorer, y_i. - y_.., and of each loss, y_.j - y_.. (question: `scorer` or `loss`)."""
    rows, columns = np.eye(len(scorers)), np.eye(len(losses))
    over_losses, over_scorers = np.full(len(losses), 1 / len(losses)), np.full(len(scorers), 1 / len(scorers))
    return [
        Contrast("scorer", scorer, "", np.outer(rows[i] - over_scorers, over_losses))
        for i, scorer in enumerate(scorers)
    ] + [Contrast("loss", loss, "", np.outer(over_scorers, columns[j] - over_losses)) for j, loss in enumerate(losses)]


def matrix(found: Sequence[Contrast]) -> np.ndarray:
    """Return the (K, cells) weights of K contrasts. The cells are in the order of scorers, then losses."""
    return np.stack([contrast.weights.ravel() for contrast in found])


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


MEAN, BEYOND = "mean", "beyond"  # the scopes of several collections
NO_EVIDENCE = "no evidence"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Analysis:
    """The results of the analysis.

    scopes: for each scope, one row per tested contrast. effects: for each collection, one row per scorer and loss with
    its deviation from the mean of all cells. cells: for each collection, one row per cell with its mean. shares: for
    each collection, one row per question with the standard deviation of the effects.
    """

    scopes: dict[str, Rows]
    effects: dict[str, Rows]
    cells: dict[str, Rows]
    shares: dict[str, Rows]


def analyse(collections: Mapping[str, Cells], scorers: list[str], losses: list[str], draws: int = DRAWS) -> Analysis:
    """Return the analysis of the cells of each collection. draws: number of draws of the bootstrap."""
    tested, described = contrasts(scorers, losses), deviations(scorers, losses)
    combinations = [Contrast("cell", scorer, loss, np.empty(0)) for scorer in scorers for loss in losses]
    weights = np.vstack([matrix(tested), matrix(described), np.eye(len(combinations))])
    terms = {name: estimate(cells, weights) for name, cells in collections.items()}
    drawn = {name: draw(cells, weights, seed, draws) for seed, (name, cells) in enumerate(collections.items())}
    count, ends = len(tested), {name: intervals(own) for name, own in drawn.items()}
    parts = {"effects": slice(count, count + len(described)), "cells": slice(count + len(described), None)}
    described_rows = {
        part: {
            name: _described([*tested, *described, *combinations][place], own, ends[name], place)
            for name, own in terms.items()
        }
        for part, place in parts.items()
    }
    scopes = {name: _scope(tested, _first(own, count), ends[name][:, :count]) for name, own in terms.items()}
    if len(collections) > 1:
        own = [_first(each, count) for each in terms.values()]
        average = np.mean([each[:, :count] for each in drawn.values()], axis=0)
        scopes[MEAN] = _scope(tested, mean_of(own), intervals(average))
        scopes[BEYOND] = _beyond(tested, own)
    for rows in scopes.values():
        _decide(rows, len(scopes))
    shares = {name: _shares(described_rows["effects"][name], scopes[name], own, count) for name, own in terms.items()}
    return Analysis(scopes, described_rows["effects"], described_rows["cells"], shares)


def _first(terms: Terms, count: int) -> Terms:
    return Terms(terms.estimates[:count], terms.variances[:count], terms.freedoms)


def _described(found: list[Contrast], terms: Terms, ends: np.ndarray, place: slice) -> Rows:
    """Return one row per effect or cell, without a test."""
    columns = terms.estimates[place], ends[0, place], ends[1, place]
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second}
        | {"value": float(value), "low": float(low), "high": float(high)}
        for contrast, value, low, high in zip(found, *columns, strict=True)
    ]


def _scope(tested: list[Contrast], terms: Terms, ends: np.ndarray) -> Rows:
    columns = terms.estimates, ends[0], ends[1], terms.errors, terms.freedom, terms.p
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second}
        | {"difference": float(value), "low": float(low), "high": float(high)}
        | {"error": float(error), "freedom": float(freedom), "p": float(p)}
        for contrast, value, low, high, error, freedom, p in zip(tested, *columns, strict=True)
    ]


def _beyond(tested: list[Contrast], collections: list[Terms]) -> Rows:
    """Return one row per contrast with the random-effects mean."""
    found = random_effects(collections)
    names = ("difference", "error", "p", "tau", "low", "high", "new_low", "new_high")
    freedom = float(len(collections) - 1)
    return [
        {"question": contrast.question, "first": contrast.first, "second": contrast.second, "freedom": freedom}
        | {name: float(value) for name, value in zip(names, values, strict=True)}
        for contrast, *values in zip(tested, *found, strict=True)
    ]


def _decide(rows: Rows, scopes: int) -> None:
    """Add the corrected p value, the verdict and the detectable difference to every row of a scope."""
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["corrected"] = min(1.0, float(p) * scopes)
        direction = "better" if row["difference"] > 0 else "worse"
        row["verdict"] = direction if row["corrected"] < LEVEL else NO_EVIDENCE
        row["detectable"] = detectable_difference(row["error"], row["freedom"] + 1, len(rows) * scopes)


def _shares(effects: Rows, tested: Rows, terms: Terms, count: int) -> Rows:
    """Return the standard deviation of the effects of scorers, of losses and of interactions, without that of noise.

    The sum of the squares of the estimated effects exceeds that of the true effects by the sum of their variances,
    which is subtracted. The result is divided by the number of effects that are free: R - 1, C - 1, (R - 1)(C - 1).
    """
    interactions = [place for place, row in enumerate(tested) if row["question"] == "interaction"]
    places = {"interaction": interactions}
    for question in ("scorer", "loss"):
        places[question] = [count + place for place, row in enumerate(effects) if row["question"] == question]
    free = {name: len(places[name]) - 1 for name in ("scorer", "loss")}
    free["interaction"] = free["scorer"] * free["loss"]
    variances = terms.errors**2
    rows = []
    for question in ("scorer", "loss", "interaction"):
        own, values = places[question], terms.estimates[places[question]]
        true = max(0.0, float(np.sum(values**2) - np.sum(variances[own]))) / free[question]
        spread = float(np.ptp(values))
        rows.append({"question": question, "deviation": float(np.sqrt(true)), "range": spread})
    return rows
