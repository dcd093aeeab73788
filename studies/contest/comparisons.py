"""The comparisons of the contest: three families of hypotheses that were stated before the results, and their answers.

Better than a baseline: for each of three fixed baselines, every other method is compared with the baseline. The p
values are corrected by Holm for the methods of one baseline.

Not worse than the best: a method is not worse than the best by a margin if it is shown, against every other method, to
be at most the margin worse. The p value of a method is the largest of its one-sided tests (intersection-union test,
Berger 1982), so no correction is needed for the choice of the best method. The p values are corrected by Holm for the
methods.

All pairs: every two methods are compared. The p values are corrected by Holm for all pairs.

The equivalence of two methods within a margin is supported by two one-sided tests (Schuirmann 1987). A difference that
is not significant does not show that two methods are equal.

The standard error of a difference covers the test queries, the seeds and the tuners. A tuner is one random search for a
configuration. The variance over a few tuners is poorly estimated: with two tuners, in one case in twenty the tuners
have nearly equal values by chance. The variance of one tuner's mean is therefore also pooled over the methods with
several tuners. If a method's own variance is below the pooled one, the pooled one is used. A method with one tuner has
its own variance, which is that of its seeds.

The agreement of two collections on the order of methods is Kendall's tau with a bootstrap interval over queries.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from gradrank.base.text_tables import number
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.significance import decide, detectable_difference
from gradrank.comparison.statistics import LEVEL, effect_size, holm
from gradrank.comparison.variance import (
    CONFIDENCE,
    Runs,
    Term,
    fold_queries,
    freedom,
    half_width,
    query_term,
    standard_error,
)

BASELINES = ("ranksvm", "regression", "single_feature")
MARGINS = (0.005, 0.01)


class Estimate(NamedTuple):
    """The estimated difference a - b of the means of two methods, with its standard error and degrees of freedom.

    half_width: half the width of the 95% interval. effect: mean of the differences of the queries, divided by their
    standard deviation.
    """

    difference: float
    error: float
    freedom: float
    half_width: float
    effect: float

    @property
    def p(self) -> float:
        """Two-sided p value of the hypothesis that the means are equal."""
        return min(1.0, 2 * self._one_sided(abs(self.difference)))

    def p_equivalent(self, margin: float) -> float:
        """Return the p value of two one-sided tests. Their hypothesis: the means differ by the margin or more."""
        swapped = self._replace(difference=-self.difference)
        return max(self.p_not_worse(margin), swapped.p_not_worse(margin))

    def p_not_worse(self, margin: float) -> float:
        """Return the p value of the hypothesis that a is worse than b by the margin or more."""
        return self._one_sided(self.difference + margin)

    def _one_sided(self, distance: float) -> float:
        """Return the p value of a one-sided test whose estimate is `distance` above the hypothesis."""
        from scipy.stats import t

        if self.error == 0:
            return float(distance <= 0)
        return float(t.sf(distance / self.error, self.freedom))


def estimate(a: Runs, b: Runs, pooled: Term) -> Estimate:
    """Return the estimated difference of two methods.

    a, b: the runs of the methods, for the same queries in the same order. pooled: the result of `pooled_variance` for
    all methods of the contest.
    """
    terms = [query_term(a.per_query - b.per_query, a.folds), *_chance_terms([a, b], pooled)]
    effect = effect_size(a.per_query, b.per_query)
    return Estimate(a.mean - b.mean, standard_error(terms), freedom(terms), half_width(terms), effect)


def half_widths(runs: Mapping[str, Runs]) -> dict[str, float]:
    """Return half the width of the 95% interval of each method's mean. It covers queries, seeds and tuning.

    runs: the runs of all methods of the contest.
    """
    pooled = pooled_variance(runs.values())
    return {name: half_width([own.variances.query, *_chance_terms([own], pooled)]) for name, own in runs.items()}


def pooled_variance(methods: Iterable[Runs]) -> Term:
    """Return the variance of one tuner's mean that is due to tuning and seeds, pooled over methods.

    Methods with one tuner are left out. The variances are weighted by their degrees of freedom. The variance is 0 if no
    method is left.
    """
    terms = [(own.variances.chance_of_mean, own.tuners) for own in methods if own.tuners > 1]
    total = sum(term.freedom for term, _ in terms)
    if not total:
        return Term(0.0, 0)
    return Term(math.fsum(term.variance * tuners * term.freedom for term, tuners in terms) / total, total)


def _chance_terms(methods: Sequence[Runs], pooled: Term) -> list[Term]:
    """Return the variance terms that the tuners and seeds of some methods add to a difference or to a mean.

    The term of a method with several tuners is replaced if it is not larger than the pooled variance divided by the
    number of its tuners. All replacements are the same estimate, so they are merged into one term.
    """
    own, replaced = [], 0.0
    for runs in methods:
        term, floor = runs.variances.chance_of_mean, pooled.variance / runs.tuners
        if runs.tuners > 1 and term.variance <= floor:
            replaced += floor
        else:
            own.append(term)
    return [*own, pooled._replace(variance=replaced)]


class Estimates:
    """The estimated differences of all pairs of methods of a contest on one data set."""

    def __init__(self, runs: Mapping[str, Runs]) -> None:
        pooled = pooled_variance(runs.values())
        self.methods = list(runs)
        self._pairs = {(a, b): estimate(runs[a], runs[b], pooled) for a, b in combinations(runs, 2)}

    def of(self, a: str, b: str) -> Estimate:
        """Return the estimated difference a - b."""
        if (a, b) in self._pairs:
            return self._pairs[a, b]
        found = self._pairs[b, a]
        return found._replace(difference=-found.difference, effect=-found.effect)

    def against(self, baseline: str) -> list[dict[str, Any]]:
        """Return one row per other method, with its difference from the baseline, highest difference first.

        The keys are those of `_row`, and `corrected` and `equivalent_<margin>` are corrected for the rows.
        """
        others = [method for method in self.methods if method != baseline]
        return _corrected([{"method": method} | _row(self.of(method, baseline), len(others)) for method in others])

    def pairs(self) -> list[dict[str, Any]]:
        """Return one row per pair of methods, highest difference first. `first` has the higher mean."""
        named = [(a, b) if self.of(a, b).difference >= 0 else (b, a) for a, b in self._pairs]
        rows = [{"first": a, "second": b} | _row(self.of(a, b), len(named)) for a, b in named]
        return _corrected(rows)

    def not_worse(self) -> list[dict[str, Any]]:
        """Return one row per method, with the p values of the hypothesis that it is worse than another method.

        The key `p_<margin>` has the largest p value over the other methods, `closest_<margin>` the method with this p
        value, and `corrected_<margin>` the p value after Holm's correction for the methods.
        """
        rows: list[dict[str, Any]] = [{"method": method} for method in self.methods]
        for margin in MARGINS:
            for row in rows:
                method = row["method"]
                p = {other: self.of(method, other).p_not_worse(margin) for other in self.methods if other != method}
                closest = max(p, key=p.__getitem__, default="")
                row |= {f"p_{margin}": p.get(closest, 0.0), f"closest_{margin}": closest}
            corrected = holm([row[f"p_{margin}"] for row in rows])
            for row, p in zip(rows, corrected, strict=True):
                row |= {f"corrected_{margin}": float(p), f"shown_{margin}": "yes" if p < LEVEL else "not shown"}
        return rows


def _row(own: Estimate, comparisons: int) -> dict[str, Any]:
    """Return the entries of a comparison. comparisons: number of comparisons in its family."""
    row = {
        "difference": own.difference,
        "low": own.difference - own.half_width,
        "high": own.difference + own.half_width,
        "error": own.error,
        "freedom": own.freedom if math.isfinite(own.freedom) else None,  # infinite if nothing varies
        "effect": own.effect,
        "p": own.p,
        "detectable": detectable_difference(own.error, own.freedom + 1, comparisons),
    }
    return row | {f"equivalent_{margin}": own.p_equivalent(margin) for margin in MARGINS}


def _corrected(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, highest difference first, with Holm's corrections, the decision and the equivalence."""
    for name in ("p", *(f"equivalent_{margin}" for margin in MARGINS)):
        key = "corrected" if name == "p" else name
        for row, p in zip(rows, holm([row[name] for row in rows]), strict=True):
            row[key] = float(p)
    for row in rows:
        row["verdict"] = decide(row["corrected"], row["low"], row["high"])
        within = [margin for margin in MARGINS if row[f"equivalent_{margin}"] < LEVEL]
        row["equal_within"] = min(within) if within else None
    return sorted(rows, key=lambda row: -row["difference"])


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


MARGINS_IN_WORDS = " and ".join(f"{margin:g}" for margin in MARGINS)


def rule() -> str:
    """Return the sentences that state the questions and the tests."""
    return (
        "Questions stated before the results: which methods are better than RankSVM, than linear regression, and than "
        f"the best single feature? Which methods are not worse than the best by {MARGINS_IN_WORDS}? A method is called "
        f"better or worse if p < {LEVEL:g} after Holm's correction for the methods of the question and the 95% "
        "interval of the difference excludes 0. The p values are those of Student's test, whose standard errors cover "
        "queries, seeds and tuning. Few tuners estimate the variance of tuning poorly, so it is also pooled over the "
        "methods. The pooled variance is used for a method whose own estimate is smaller."
    )


def against(baseline: str, rows: Sequence[Row]) -> str:
    """Return the answer to the question which methods are better than a baseline. rows: as in `Estimates.against`."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["verdict"], []).append(f"`{row['method']}`")
    equal = {
        margin: [
            f"`{row['method']}`" for row in rows if row["equal_within"] == margin and row["verdict"] == NO_EVIDENCE
        ]
        for margin in MARGINS
    }
    better = join_names(groups.get("better", [])) or "no method"
    sentences = [f"Better than `{baseline}`: {better}."]
    if worse := groups.get("worse"):
        sentences.append(f"Worse: {join_names(worse)}.")
    if unknown := groups.get(NO_EVIDENCE):
        sentences.append(f"No evidence of a difference: {join_names(unknown)}.")
        shown = [f"within {margin:g}: {join_names(names)}" for margin, names in equal.items() if names]
        sentences.append(f"Of these, shown to be equal {'; '.join(shown)}." if shown else "None is shown to be equal.")
    least, most = (f(row["detectable"] for row in rows) for f in (min, max))
    sentences.append(
        f"Detectable with a probability of 80%: {number(least)} to {number(most)}, depending on the method."
    )
    return " ".join(sentences)


NO_EVIDENCE = "no evidence"


def not_worse(rows: Sequence[Row]) -> str:
    """Return the answer to the question which methods are not worse than the best. rows: of `Estimates.not_worse`."""
    parts = []
    for margin in MARGINS:
        names = [f"`{row['method']}`" for row in rows if row[f"corrected_{margin}"] < LEVEL]
        parts.append(f"by {margin:g}: {join_names(names) or 'no method'}")
    return f"Shown to be not worse than any other method {'; '.join(parts)}. The others may or may not be worse."


def over_methods(what: str, rows: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return a sentence with the mean, minimum and maximum of a difference, taken over the methods.

    The result is empty if no method has the difference.
    """
    gaps = {row["method"]: row[key] for row in rows if row.get(key) is not None}
    if not gaps:
        return ""
    least, most = min(gaps, key=gaps.__getitem__), max(gaps, key=gaps.__getitem__)
    return (
        f"{what}: {number(float(np.mean(list(gaps.values()))), '+.4f')} on average over the methods, from "
        f"{number(gaps[least], '+.4f')} ({least}) to {number(gaps[most], '+.4f')} ({most})."
    )


def join_names(names: Sequence[str]) -> str:
    """Return the names in words: `a`, `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
