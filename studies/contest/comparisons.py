"""The comparisons of the contest: three families of hypotheses that were stated before the results.

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
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from gradrank.comparison.significance.decision import decide
from gradrank.comparison.significance.power import detectable_difference
from gradrank.comparison.statistics import LEVEL, effect_size, holm
from gradrank.comparison.variance import Runs, Term, freedom, half_width, query_term, standard_error

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
