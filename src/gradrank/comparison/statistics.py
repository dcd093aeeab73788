"""Intervals and paired tests over queries, which decide whether methods differ.

Methods share their queries, and values vary far more between queries than between methods. Only paired tests separate
methods that differ by a few thousandths. Queries without a value (nan) are left out.

In `mean_difference`, `paired_test` and `compare_all`, a mean is the mean over folds of the mean over the fold's
queries, and a mean difference is the difference of two such means. All folds have equal weight, so the weight of a
query depends on the size of its fold. The tests (Student's t, Wilcoxon, wins and losses) give equal weight to all
queries.

A query that is tested in several folds, because their test parts overlap, is one observation and not several. Its
values are first averaged over its folds (`once_per_query`), so that the tests and the bootstrap count it once. The mean
over folds does not change.

The p values of many paired tests are computed at once. One row of an array holds the differences of one pair of
methods.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.compiled import compiled
from gradrank.base.errors import GradrankError


def once_per_query(values: np.ndarray, folds: np.ndarray, queries: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (u, m) values of the u distinct queries, and their (u,) weights in the mean over folds.

    values: (q, m). folds: (q,) fold of each row. queries: (q,) query id of each row; with None, every row is a distinct
    query. The value of a query is the mean of its rows, weighted as in the mean over folds. The weighted mean of the
    result equals the mean over folds of the fold means.
    """
    weights = fold_weights(folds)
    if queries is None:
        return values, weights
    _, first, query = np.unique(queries, return_index=True, return_inverse=True)
    if len(first) == len(queries):
        return values, weights
    totals = np.bincount(query, weights)
    means = [np.bincount(query, weights * column) / totals for column in values.T]
    order = np.argsort(first)  # the order of first appearance
    return np.column_stack(means)[order], totals[order]


def fold_weights(folds: np.ndarray) -> np.ndarray:
    """Return (q,) weights for which the weighted mean over queries equals the mean of the fold means.

    If the folds have equal sizes, all weights are 1.
    """
    _, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
    return len(folds) / (len(sizes) * sizes[fold])


EXACT = 50  # largest number of queries for which Wilcoxon's p value is exact


def student_p_values(gaps: np.ndarray) -> np.ndarray:
    """Return the (p,) two-sided p values of Student's paired t test.

    gaps: (p, q) differences of p pairs on q queries, without nan. p is nan for fewer than two queries, 1 if all
    differences are 0, and 0 if all are the same number other than 0.
    """
    from scipy.special import stdtr

    gaps = np.ascontiguousarray(gaps)  # the order of the sums, and so the last digit, depends on the memory layout
    pairs, queries = gaps.shape
    if queries < 2:
        return np.full(pairs, np.nan)
    means = gaps.mean(axis=1)
    variances = np.square(gaps - means[:, None]).mean(axis=1) * (queries / (queries - 1))
    is_constant = (gaps == gaps[:, :1]).all(axis=1)  # if so, t is 0/0 or infinite
    errors = np.sqrt(np.where(is_constant, 1.0, variances) / queries)
    p = 2 * stdtr(queries - 1, -np.abs(means / errors))
    return np.where(is_constant, gaps[:, 0] == 0, p)


def signed_rank_p_values(gaps: np.ndarray) -> np.ndarray:
    """Return the (p,) two-sided p values of the signed-rank test (Wilcoxon 1945).

    gaps: (p, q) differences of p pairs on q queries, without nan. Differences of 0 are left out. p is 1 if no
    difference is left. p is exact if at most 50 differences are left and their absolute values are distinct. Otherwise,
    it is computed by the normal approximation with a correction for ties.
    """
    from scipy.special import ndtr

    pairs, queries = gaps.shape
    if not queries:
        return np.ones(pairs)
    sizes = np.abs(gaps)
    order = np.argsort(sizes, axis=1)
    ordered = np.take_along_axis(sizes, order, axis=1)
    is_first = np.ones(gaps.shape, dtype=bool)  # of a run of equal sizes
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(is_first)
    pair, rank = np.divmod(first, queries)
    lengths = np.diff(np.r_[first, gaps.size])
    zeros = np.count_nonzero(gaps == 0, axis=1)
    ranks = np.repeat(rank - zeros[pair] + (lengths + 1) / 2, lengths).reshape(gaps.shape)
    positive = np.sum(ranks, axis=1, where=np.take_along_axis(gaps > 0, order, axis=1))
    is_tie = ordered.ravel()[first] > 0
    ties = np.bincount(pair, np.where(is_tie, lengths**3.0 - lengths, 0.0), pairs)
    count = queries - zeros.astype(np.float64)
    variances = (count * (count + 1) * (2 * count + 1) - ties / 2) / 24
    error = np.sqrt(np.where(count > 0, variances, 1.0))
    z = (positive - count * (count + 1) * 0.25) / error
    p = np.where(count > 0, 2 * ndtr(-np.abs(z)), 1.0)
    for i in np.flatnonzero((count > 0) & (count <= EXACT) & (ties == 0)):
        p[i] = _exact_p(int(count[i]), int(positive[i]))
    return p


def _exact_p(count: int, positive: int) -> float:
    """Return the exact p value. count: number of differences. positive: sum of the ranks of positive differences."""
    at_most = _signs(count)
    at_least = at_most[-1] - (at_most[positive - 1] if positive else 0)
    return min(1.0, 2 * min(int(at_most[positive]), int(at_least)) / 2**count)


@cache
def _signs(count: int) -> np.ndarray:
    """Return the number of the 2^count choices of signs for which the ranks of positive differences sum to at most s.

    The index of the array is s. All numbers are exact for counts up to 62.
    """
    choices = np.ones(1, dtype=np.int64)
    for rank in range(1, count + 1):
        choices = np.r_[choices, np.zeros(rank, np.int64)] + np.r_[np.zeros(rank, np.int64), choices]
    return np.cumsum(choices)


RESAMPLES = 2000
CONFIDENCE = 0.95
BOOTSTRAP_SEED = 0
LEVEL = 0.05  # significance level of corrected p values


class Interval(NamedTuple):
    """A mean with the lower and upper bounds of its interval."""

    mean: float
    low: float
    high: float


class PairedTest(NamedTuple):
    """The comparison of two methods, a and b, over the same queries.

    queries: number of queries for which both methods have a value. difference: mean of a - b. low, high: bounds of the
    95% bootstrap interval of the difference. wins, ties, losses: number of queries where a is better than, equal to or
    worse than b. t, wilcoxon: two-sided p values.
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
    """Return the mean of (q,) values and its interval by Student's t. The bounds are nan for fewer than two values."""
    values = values[~np.isnan(values)]
    return _t_interval(values, np.sqrt(1 / max(len(values), 1)), confidence)


def prediction_interval(values: np.ndarray, confidence: float = 0.95) -> Interval:
    """Return the mean of (n,) values and the interval for one further value: mean +- t s sqrt(1 + 1/n).

    s is the standard deviation of the values. The bounds are nan for fewer than two values.
    """
    values = values[~np.isnan(values)]
    return _t_interval(values, np.sqrt(1 + 1 / max(len(values), 1)), confidence)


def _t_interval(values: np.ndarray, share: float, confidence: float) -> Interval:
    """Return the mean of the values and Student's interval. The scale is `share` times the standard deviation."""
    if len(values) < 2:
        return Interval(float(values[0]) if len(values) else np.nan, np.nan, np.nan)
    mean, scale = float(np.mean(values)), float(np.std(values, ddof=1)) * share
    low, high = (_t_quantile(len(values) - 1, tail) for tail in ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(mean, low * scale + mean, high * scale + mean)


@cache
def _t_quantile(degrees: int, probability: float) -> float:
    """Return a quantile of Student's t distribution, with the bits of `scipy.stats.t.ppf`."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def paired_t(a: np.ndarray, b: np.ndarray) -> float:
    """Return the two-sided p value of Student's paired t test. a, b: (q,) values.

    p is 1 if a and b are equal on every query, and nan for fewer than two queries.
    """
    return float(student_p_values(differences(a, b)[None])[0])


def wilcoxon(a: np.ndarray, b: np.ndarray) -> float:
    """Return the two-sided p value of the signed-rank test (Wilcoxon 1945). a, b: (q,) values.

    Queries on which a and b are equal are left out. p is 1 if no query is left. p is exact if at most 50
    queries are left and their absolute differences are distinct. Otherwise, it is computed by the normal approximation
    with a correction for ties.
    """
    return float(signed_rank_p_values(differences(a, b)[None])[0])


def effect_size(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cohen's d_z: the mean of a - b divided by the standard deviation of a - b. a, b: (q,) values.

    The result is nan for fewer than two queries, and if the difference is the same on every query. Source: Cohen 1988.
    """
    gaps = differences(a, b)
    if len(gaps) < 2 or np.all(gaps == gaps[0]):
        return np.nan
    return float(np.mean(gaps) / np.std(gaps, ddof=1))


def equivalence(a: np.ndarray, b: np.ndarray, margin: float) -> float:
    """Return the p value of two one-sided paired t tests (Schuirmann 1987). a, b: (q,) values.

    The null hypothesis is that the mean of a - b is at most -margin or at least margin. A small p value therefore
    supports the claim that the means differ by less than the margin. p is the larger of the p values of the two tests,
    and nan for fewer than two queries.
    """
    from scipy.stats import t

    gaps = differences(a, b)
    if len(gaps) < 2:
        return np.nan
    mean, spare = float(np.mean(gaps)), margin - abs(float(np.mean(gaps)))
    if np.all(gaps == gaps[0]):
        return 0.0 if abs(mean) < margin else 1.0
    error = float(np.std(gaps, ddof=1)) / np.sqrt(len(gaps))
    return float(t.sf(spare / error, len(gaps) - 1))


def win_tie_loss(a: np.ndarray, b: np.ndarray) -> tuple[int, int, int]:
    """Return three numbers of queries: where a is better than, equal to and worse than b. a, b: (q,) values."""
    gaps = differences(a, b)
    return int(np.sum(gaps > 0)), int(np.sum(gaps == 0)), int(np.sum(gaps < 0))


def mean_difference(
    a: np.ndarray, b: np.ndarray, folds: np.ndarray, seed: int = BOOTSTRAP_SEED, queries: np.ndarray | None = None
) -> Interval:
    """Return the mean over folds of a - b, and its 95% percentile bootstrap interval over queries (Efron 1979).

    a, b: (q,) values. folds: (q,) fold of each query. If a and b have values for the same queries, the result is the
    mean of a minus the mean of b. A resampled query keeps the weight of its fold. seed: seed of the resampling.
    queries: see `once_per_query`.
    """
    return _mean_of_gaps(*_gaps(a, b, folds, queries), seed)


def _gaps(a: np.ndarray, b: np.ndarray, folds: np.ndarray, queries: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (u,) differences of the queries where both are defined, and their weights."""
    defined = ~np.isnan(a - b)
    named = None if queries is None else queries[defined]
    gaps, weights = once_per_query(differences(a, b)[:, None], folds[defined], named)
    return np.round(gaps[:, 0], 12), weights


def _mean_of_gaps(gaps: np.ndarray, weights: np.ndarray, seed: int) -> Interval:
    if not len(gaps):
        return Interval(np.nan, np.nan, np.nan)
    low, high = _bounds(_resampled_means(gaps[:, None], weights, seed))[:, 0].tolist()
    return Interval(float(np.sum(weights * gaps) / np.sum(weights)), low, high)


def paired_test(
    a: np.ndarray, b: np.ndarray, folds: np.ndarray, seed: int = BOOTSTRAP_SEED, queries: np.ndarray | None = None
) -> PairedTest:
    """Return the comparison of two methods.

    a, b: (q,) values of the same queries in the same order. folds: (q,) fold of each query. seed: seed of the
    resampling. queries: see `once_per_query`.
    """
    gaps, weights = _gaps(a, b, folds, queries)
    zeros = np.zeros(len(gaps))
    wins, ties, losses = win_tie_loss(gaps, zeros)
    gap = _mean_of_gaps(gaps, weights, seed)
    t, signed_rank = paired_t(gaps, zeros), wilcoxon(gaps, zeros)
    return PairedTest(len(gaps), *gap, wins, ties, losses, t=t, wilcoxon=signed_rank)


def holm(p: Sequence[float]) -> np.ndarray:
    """Return the (m,) p values, corrected for multiple testing (Holm 1979).

    The i-th smallest p becomes max_{j<=i} (m - j + 1) p_j, at most 1. A nan stays nan and does not count in m.
    """
    plain = np.asarray(p, dtype=np.float64)
    corrected = np.full(len(plain), np.nan)
    tested = np.flatnonzero(~np.isnan(plain))
    order = tested[np.argsort(plain[tested], kind="stable")]
    steps = plain[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def compare_all(
    per_query: Mapping[str, np.ndarray],
    folds: np.ndarray,
    seed: int = BOOTSTRAP_SEED,
    queries: np.ndarray | None = None,
    baseline: str | None = None,
) -> list[dict[str, Any]]:
    """Return one row per pair of methods or, with a baseline, one row per other method minus the baseline.

    per_query: (q,) values per method, for the same queries in the same order. folds: (q,) fold of each query. The keys
    of a row are `model_a`, `model_b`, the fields of PairedTest, `t_holm` and `wilcoxon_holm`. The last two are p values
    corrected for the number of rows. Queries without a value for every method are left out. All pairs use the same
    resamples. queries: see `once_per_query`. Raises GradrankError if the methods have different numbers of queries.
    """
    names, values, is_complete = complete_values(per_query)
    if len(values) == 0:
        return []
    named = None if queries is None else queries[is_complete]
    values, weights = once_per_query(values, np.asarray(folds)[is_complete], named)
    means = _resampled_means(values, weights, seed)
    fixed = None if baseline is None else names.index(baseline)
    rows = []
    for first, second in _pairs(len(names), fixed):
        for i, j, test in zip(first, second, _tests(values, weights, means, first, second), strict=True):
            rows.append({"model_a": names[i], "model_b": names[j]} | test._asdict())
    for test in ("t", "wilcoxon"):
        for row, p in zip(rows, holm([row[test] for row in rows]), strict=True):
            row[f"{test}_holm"] = float(p)
    return rows


def _pairs(count: int, baseline: int | None) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the numbers of the first methods and of the second methods of some pairs, at most `count` pairs at a time.

    baseline: the second method of all pairs. If None, all pairs are yielded.
    """
    if baseline is not None:
        first = [i for i in range(count) if i != baseline]
        yield first, [baseline] * len(first)
        return
    for i in range(count - 1):
        yield [i] * (count - 1 - i), list(range(i + 1, count))


def _tests(
    values: np.ndarray, weights: np.ndarray, means: np.ndarray, first: list[int], second: list[int]
) -> list[PairedTest]:
    """Return the tests of pairs of columns. means: the resampled means of all columns."""
    gaps = np.round(np.ascontiguousarray((values[:, first] - values[:, second]).T), 12)
    low, high = _bounds(means[:, first] - means[:, second])
    columns = (
        np.sum(weights * gaps, axis=1) / np.sum(weights),
        low,
        high,
        *(np.count_nonzero(of_sign, axis=1) for of_sign in (gaps > 0, gaps == 0, gaps < 0)),
        student_p_values(gaps),
        signed_rank_p_values(gaps),
    )
    return [PairedTest(len(values), *row) for row in zip(*(column.tolist() for column in columns), strict=True)]


class Ranks(NamedTuple):
    """Friedman's test with Nemenyi's critical difference (Demšar 2006), for a critical-difference plot.

    ranks: mean rank over queries per method, best method first; the highest value of a query has rank 1. p: p value of
    Friedman's test, whose null hypothesis is that all methods are equal. critical_difference: two methods are
    significantly different if their mean ranks differ by more than this value.
    """

    ranks: dict[str, float]
    p: float
    critical_difference: float


def friedman_nemenyi(
    per_query: Mapping[str, np.ndarray],
    level: float = 0.05,
    folds: np.ndarray | None = None,
    queries: np.ndarray | None = None,
) -> Ranks:
    """Return the mean ranks of methods, with Friedman's test. Equal values share their mean rank.

    per_query: (q,) values per method. Queries without a value for every method are left out. folds, queries: see
    `once_per_query`; without them, every row is a distinct query. Raises GradrankError for fewer than three methods or
    two queries.
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    names, values, is_complete = complete_values(per_query)
    values = _once(values, is_complete, folds, queries)
    count = len(names)
    if count < 3 or len(values) < 2:
        raise GradrankError(
            f"ranks need at least 3 methods and 2 queries; there are {count} methods and {len(values)} queries"
        )
    mean_ranks = rankdata(-values, axis=1).mean(axis=0)
    quantile = studentized_range.ppf(1 - level, count, np.inf) / np.sqrt(2)
    critical = float(quantile * np.sqrt(count * (count + 1) / (6 * len(values))))
    all_equal = bool(np.all(values == values[:, :1]))  # if so, Friedman's statistic is 0/0
    p = 1.0 if all_equal else float(friedmanchisquare(*values.T).pvalue)
    ranks = {names[i]: float(mean_ranks[i]) for i in np.argsort(mean_ranks, kind="stable")}
    return Ranks(ranks, p, critical)


def differences(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a - b for the queries where both are defined.

    The differences are rounded to 12 decimals, so that rounding errors do not break ties.
    """
    gaps = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return np.round(gaps[~np.isnan(gaps)], 12)


def complete_values(per_query: Mapping[str, np.ndarray]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the m method names, and two arrays.

    The first array has the (k, m) values of the k queries for which every method has a value. The second has (q,)
    booleans, True for these queries.
    """
    sizes = {name: len(values) for name, values in per_query.items()}
    if len(set(sizes.values())) > 1:
        raise GradrankError(f"methods measured on different numbers of queries: {sizes}")
    values = np.column_stack([np.asarray(of_method, dtype=np.float64) for of_method in per_query.values()])
    is_complete = np.logical_not(np.isnan(values).any(axis=1))
    return list(per_query), values[is_complete], is_complete


def _once(
    values: np.ndarray, is_complete: np.ndarray, folds: np.ndarray | None, queries: np.ndarray | None
) -> np.ndarray:
    """Return the values of the distinct queries. values, is_complete: the result of `complete_values`."""
    if folds is None or queries is None:
        return values
    return once_per_query(values, folds[is_complete], queries[is_complete])[0]


def _resampled_means(values: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
    """Return the (RESAMPLES, m) weighted means of the (q, m) values over bootstrap samples.

    A sample has q rows, drawn with replacement. All columns use the same rows. weights: (q,).
    """
    draw = np.random.default_rng(seed)
    queries, weighted = len(values), values * weights[:, None]
    means = np.empty((RESAMPLES, values.shape[1]))
    for mean in means:
        drawn = draw.integers(queries, size=queries)
        _sum_rows(weighted, drawn, mean)
        mean /= weights[drawn].sum()
    return means


@compiled("f8[:,:], i8[:], f8[:] out")
def _sum_rows(values, rows, total):
    """Write the sum of some rows of the (q, m) values into the (m,) array `total`, without a copy of the rows."""
    total[:] = 0.0
    for row in rows:
        for k in range(len(total)):
            total[k] += values[row, k]


def _bounds(means: np.ndarray) -> np.ndarray:
    """Return the (2, m) bounds of the 95% percentile intervals. means: (RESAMPLES, m)."""
    return np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
