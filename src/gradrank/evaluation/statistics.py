"""Which differences between methods are real: intervals and paired tests over queries.

Methods share their queries, and how hard a query is moves a value far more than the method does: only paired
tests separate methods that differ by a few thousandths. A query without a value (nan) is left out.

A mean is everywhere the mean over folds of the mean over a fold's queries, and a mean difference that of two such
means: folds count alike, whatever their size, so each query counts by the size of its fold. The tests (Student's,
Wilcoxon's, wins and losses) are over queries, each of which counts once.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.errors import GradrankError

RESAMPLES = 2000
BOOTSTRAP_SEED = 0
LEVEL = 0.05  # of significance, after correction


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


class PairedTest(NamedTuple):
    """a against b over the same queries: the mean difference a - b with its bootstrap interval; tests over queries.

    queries: those with a value of both. wins, ties, losses: of a. t, wilcoxon: two-sided p.
    """

    queries: int
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    t: float
    wilcoxon: float


def mean_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Mean of (q,) values and its interval, by the standard error and Student's t; one value: nan bounds."""
    values = values[~np.isnan(values)]
    return _t_interval(values, np.sqrt(1 / max(len(values), 1)), confidence)


def prediction_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Mean of (n,) values and where one more of them would lie: t s sqrt(1 + 1/n) to either side; one: nan bounds."""
    values = values[~np.isnan(values)]
    return _t_interval(values, np.sqrt(1 + 1 / max(len(values), 1)), confidence)


def _t_interval(values: np.ndarray, share: float, confidence: float) -> Interval:
    """Student's, of `share` standard deviations to a unit of t."""
    from scipy.stats import t

    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else np.nan, np.nan, np.nan)
    mean, scale = float(np.mean(values)), float(np.std(values, ddof=1)) * share
    if scale == 0:  # no distribution of this width
        return Interval(mean, mean, mean)
    low, high = t.interval(confidence, len(values) - 1, loc=mean, scale=scale)
    return Interval(mean, float(low), float(high))


def paired_t(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p of Student's paired t test; 1 where a and b are equal, nan for fewer than two queries."""
    from scipy.stats import ttest_1samp

    gaps = _differences(a, b)
    if len(gaps) < 2:
        return np.nan
    if np.all(gaps == gaps[0]):  # t is 0/0 or infinite
        return 1.0 if gaps[0] == 0 else 0.0
    return float(ttest_1samp(gaps, 0.0).pvalue)


def wilcoxon(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p of the signed-rank test (Wilcoxon 1945); equal queries are left out, 1 if all are.

    Exact for up to 50 queries without tied gaps, else the normal approximation, corrected for ties.
    """
    from scipy.stats import wilcoxon as signed_rank

    gaps = _differences(a, b)
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    exact = len(gaps) <= 50 and len(np.unique(np.abs(gaps))) == len(gaps)
    return float(signed_rank(gaps, method="exact" if exact else "asymptotic").pvalue)


def win_tie_loss(a: np.ndarray, b: np.ndarray) -> tuple[int, int, int]:
    """Queries where a is better, equal, worse."""
    gaps = _differences(a, b)
    return int(np.sum(gaps > 0)), int(np.sum(gaps == 0)), int(np.sum(gaps < 0))


def mean_difference(a: np.ndarray, b: np.ndarray, folds: np.ndarray, seed: int = BOOTSTRAP_SEED) -> Interval:
    """Mean over (q,) folds of a - b, and its percentile interval over queries drawn with replacement (Efron 1979).

    It is the mean of a minus the mean of b, each over folds, where both have values of the same queries. A query
    that is drawn keeps the weight that its fold's size gives it.
    """
    known = ~np.isnan(a - b)
    gaps, weights = _differences(a, b), _fold_weights(folds[known])
    if not len(gaps):
        return Interval(np.nan, np.nan, np.nan)
    low, high = _percentiles(_resampled_means(gaps[:, None], weights, seed)[:, 0], 0.95)
    return Interval(_weighted_mean(gaps, weights), low, high)


def paired_test(a: np.ndarray, b: np.ndarray, folds: np.ndarray, seed: int = BOOTSTRAP_SEED) -> PairedTest:
    """(q,) values of a against those of b, the queries being the same and in one order, each of its (q,) fold."""
    wins, ties, losses = win_tie_loss(a, b)
    gap = mean_difference(a, b, folds, seed)
    return PairedTest(wins + ties + losses, *gap, wins, ties, losses, t=paired_t(a, b), wilcoxon=wilcoxon(a, b))


def holm(p: Sequence[float]) -> np.ndarray:
    """p values corrected for their number m (Holm 1979): the i-th least becomes max_{j<=i} (m - j + 1) p_j.

    A nan is no test: it stays, and does not count.
    """
    p = np.asarray(p, dtype=np.float64)
    corrected = np.full(len(p), np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def compare_all(
    per_query: Mapping[str, np.ndarray], folds: np.ndarray, seed: int = BOOTSTRAP_SEED
) -> list[dict[str, Any]]:
    """A row for every two methods of {method: (q,) values}, the queries being the same and in one order.

    folds: (q,) of the queries. Keys: `model_a`, `model_b`, those of PairedTest, `t_holm` and `wilcoxon_holm`
    (corrected for the number of rows); the queries are those with a value of every method. The resamples are the
    same for all pairs. Raises GradrankError where the methods have different numbers of queries.
    """
    names, values, known = _matrix(per_query)
    if len(values) == 0:
        return []
    weights = _fold_weights(np.asarray(folds)[known])
    means = _resampled_means(values, weights, seed)
    rows = []
    for i, j in combinations(range(len(names)), 2):
        a, b = values[:, i], values[:, j]
        low, high = _percentiles(means[:, i] - means[:, j], 0.95)
        gap = _weighted_mean(_differences(a, b), weights)
        test = PairedTest(len(values), gap, low, high, *win_tie_loss(a, b), paired_t(a, b), wilcoxon(a, b))
        rows.append({"model_a": names[i], "model_b": names[j]} | test._asdict())
    for test in ("t", "wilcoxon"):
        for row, p in zip(rows, holm([row[test] for row in rows]), strict=True):
            row[f"{test}_holm"] = float(p)
    return rows


class Ranks(NamedTuple):
    """Friedman's test with Nemenyi's critical difference (Demšar 2006), for a critical-difference plot.

    ranks: mean rank over queries by method, best (1 is the highest value) first. p: Friedman's, that all
    are alike. critical_difference: two methods differ whose mean ranks are further apart.
    """

    ranks: dict[str, float]
    p: float
    critical_difference: float


def friedman_nemenyi(per_query: Mapping[str, np.ndarray], level: float = 0.05) -> Ranks:
    """Ranks of {method: (q,) values}, ties sharing theirs. Raises GradrankError for fewer than 3 methods."""
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    names, values, _ = _matrix(per_query)
    count = len(names)
    if count < 3 or len(values) < 2:
        raise GradrankError(f"ranks need 3 methods and 2 queries; there are {count} and {len(values)}")
    mean_ranks = rankdata(-values, axis=1).mean(axis=0)
    quantile = studentized_range.ppf(1 - level, count, np.inf) / np.sqrt(2)
    critical = float(quantile * np.sqrt(count * (count + 1) / (6 * len(values))))
    alike = bool(np.all(values == values[:, :1]))  # no ranks to test: the statistic is 0/0
    p = 1.0 if alike else float(friedmanchisquare(*values.T).pvalue)
    ranks = {names[i]: float(mean_ranks[i]) for i in np.argsort(mean_ranks, kind="stable")}
    return Ranks(ranks, p, critical)


def _differences(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(q,) a - b where both are known, to 12 decimals: gaps that differ by rounding alone are equal."""
    gaps = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return np.round(gaps[~np.isnan(gaps)], 12)


def _matrix(per_query: Mapping[str, np.ndarray]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Method names, (k, m) values of the queries that have one of every method, and (q,) which these are."""
    sizes = {name: len(values) for name, values in per_query.items()}
    if len(set(sizes.values())) > 1:
        raise GradrankError(f"methods measured on different numbers of queries: {sizes}")
    values = np.column_stack([np.asarray(each, dtype=np.float64) for each in per_query.values()])
    known = ~np.isnan(values).any(axis=1)
    return list(per_query), values[known], known


def _fold_weights(folds: np.ndarray) -> np.ndarray:
    """(q,) weights under which the mean over queries is the mean over their folds; all 1 where folds are equal."""
    _, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
    return len(folds) / (len(sizes) * sizes[fold])


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sum(weights * values) / np.sum(weights)) if len(values) else np.nan


def _resampled_means(values: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
    """(RESAMPLES, m) weighted means of (q, m) values over q rows drawn with replacement, the same for all columns."""
    draw = np.random.default_rng(seed)
    queries, weighted = len(values), values * weights[:, None]
    means = np.empty((RESAMPLES, values.shape[1]))
    for mean in means:
        drawn = draw.integers(queries, size=queries)
        mean[:] = weighted[drawn].sum(axis=0) / weights[drawn].sum()
    return means


def _percentiles(means: np.ndarray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
