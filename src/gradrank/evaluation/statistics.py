"""Which differences between methods are real: intervals and paired tests over queries.

Methods share their queries, and how hard a query is moves a value far more than the method does: only paired
tests separate methods that differ by a few thousandths. A query without a value (nan) is left out.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gradrank.errors import GradrankError

RESAMPLES = 2000


class Interval(NamedTuple):
    mean: float
    low: float
    high: float


def mean_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Mean of (q,) values and its interval, by the standard error and Student's t; one value: nan bounds."""
    from scipy.stats import t

    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else np.nan, np.nan, np.nan)
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / np.sqrt(len(values))
    half = float(t.ppf((1 + confidence) / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half)


def paired_t(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p of Student's paired t test; 1 where a and b are equal, nan for fewer than two queries."""
    from scipy.stats import t

    gaps = _differences(a, b)
    if len(gaps) < 2:
        return np.nan
    mean, error = float(np.mean(gaps)), float(np.std(gaps, ddof=1)) / np.sqrt(len(gaps))
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean / error), len(gaps) - 1))


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


def bootstrap_interval(a: np.ndarray, b: np.ndarray, seed: int, confidence: float = 0.95) -> Interval:
    """Mean of a - b and its percentile interval over queries drawn with replacement (Efron 1979)."""
    gaps = _differences(a, b)
    low, high = _percentiles(_resampled_means(gaps[:, None], seed)[:, 0], confidence)
    return Interval(float(np.mean(gaps)), low, high)


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


def compare_all(per_query: Mapping[str, np.ndarray], seed: int) -> list[dict[str, Any]]:
    """A row for every two methods of {method: (q,) values}, the queries being the same and in one order.

    Keys: `model_a`, `model_b`, `queries` (those with a value of every method), `difference` (mean of a - b),
    `low` and `high` (its bootstrap interval), `wins`, `ties`, `losses` (of a), `t` and `wilcoxon` (p),
    `t_holm` and `wilcoxon_holm` (corrected for the number of rows). Raises GradrankError where the methods
    have different numbers of queries.
    """
    names, values = _matrix(per_query)
    if len(values) == 0:
        return []
    means = _resampled_means(values, seed)
    rows = []
    for i, j in combinations(range(len(names)), 2):
        a, b = values[:, i], values[:, j]
        low, high = _percentiles(means[:, i] - means[:, j], 0.95)
        wins, ties, losses = win_tie_loss(a, b)
        rows.append(
            {
                "model_a": names[i],
                "model_b": names[j],
                "queries": len(values),
                "difference": float(np.mean(a - b)),
                "low": low,
                "high": high,
                "wins": wins,
                "ties": ties,
                "losses": losses,
                "t": paired_t(a, b),
                "wilcoxon": wilcoxon(a, b),
            }
        )
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

    names, values = _matrix(per_query)
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


def _matrix(per_query: Mapping[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """Method names and (q, m) values of the queries that have a value of every method."""
    sizes = {name: len(values) for name, values in per_query.items()}
    if len(set(sizes.values())) > 1:
        raise GradrankError(f"methods measured on different numbers of queries: {sizes}")
    values = np.column_stack([np.asarray(each, dtype=np.float64) for each in per_query.values()])
    return list(per_query), values[~np.isnan(values).any(axis=1)]


def _resampled_means(values: np.ndarray, seed: int) -> np.ndarray:
    """(RESAMPLES, m) means of (q, m) values over q rows drawn with replacement, the same for all columns."""
    draw = np.random.default_rng(seed)
    queries = len(values)
    return np.array([values[draw.integers(queries, size=queries)].mean(axis=0) for _ in range(RESAMPLES)])


def _percentiles(means: np.ndarray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
