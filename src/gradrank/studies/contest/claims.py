"""The decision rule of the contest: when the results support the claim that one method is better than another.

To claim that A is better than B, the p value must be below .05 after Holm's correction, and P(A > B) must be above .75.
P(A > B) is the probability that a single run of A has a higher value than a single run of B, over samples of queries,
tuners and seeds (Bouthillier et al. 2021, section 4). All other pairs are "not separated".

A tuner is one random search for a configuration. The variance over two or three tuners is poorly estimated: in one case
in twenty, two tuners have nearly equal values by chance, and the rule would then claim a difference that is due to
chance. Each method has a variance that is due to tuners and seeds. If this variance is below its mean over the methods
of the contest, the mean is used instead. The variance is 0 for a method whose runs are all equal.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from gradrank.evaluation.statistics import LEVEL, holm
from gradrank.evaluation.variance import Runs, Term, freedom, half_width, query_term, standard_error

MIN_PROBABILITY = 0.75  # P(A > B) must be larger to claim that A is better
NOT_SEPARATED = "not separated"


class Pair(NamedTuple):
    """The comparison of two methods on the same queries. `first` is the method with the higher mean.

    difference: mean of first minus mean of second. low, high: ends of the 95% interval of the difference. p: two-sided
    p value of the difference. probability: P(first > second) for single runs. corrected: p after Holm's correction for
    all pairs of the contest.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    probability: float
    corrected: float = math.nan

    @property
    def is_better(self) -> bool:
        """Whether the comparison supports the claim that the first method is better."""
        return self.corrected < LEVEL and self.probability > MIN_PROBABILITY

    @property
    def verdict(self) -> str:
        """The result of the comparison in words."""
        return "better" if self.is_better else NOT_SEPARATED


def compare(first: str, a: Runs, second: str, b: Runs, floor: Term) -> Pair:
    """Return the comparison of two methods, without the correction for the number of pairs.

    a, b: the runs of the two methods, for the same queries in the same order. floor: the result of `mean_run_variance`
    for all methods of the contest.
    """
    if b.mean > a.mean:
        first, a, second, b = second, b, first, a
    gap = a.mean - b.mean
    query = query_term(a.per_query - b.per_query, a.folds)
    terms = [query, *_chance_terms([runs.variances.chance_of_mean for runs in (a, b) if runs.varies], floor)]
    half = half_width(terms)
    p = two_sided_p(gap, standard_error(terms), freedom(terms))
    single_run_variance = query.variance + a.variances.chance + b.variances.chance
    return Pair(first, second, gap, gap - half, gap + half, p, probability_better(gap, single_run_variance))


def _chance_terms(terms: Sequence[Term], floor: Term) -> list[Term]:
    """Return the variance terms that tuners and seeds add to a difference.

    terms: one term per method. A term whose variance is not larger than that of `floor` is replaced by `floor`. All
    replacements are the same estimate, so they are merged into one term with the degrees of freedom of `floor`.
    """
    larger = [term for term in terms if term.variance > floor.variance]
    return [*larger, floor._replace(variance=(len(terms) - len(larger)) * floor.variance)]


def mean_run_variance(methods: Iterable[Runs]) -> Term:
    """Return the part of the variance of a method's mean that is due to tuners and seeds, averaged over methods.

    Methods whose runs are all equal are left out. The variance is 0 if no method is left.
    """
    terms = [runs.variances.chance_of_mean for runs in methods if runs.varies]
    if not terms:
        return Term(0.0, 0)
    return Term(math.fsum(term.variance for term in terms) / len(terms), sum(term.freedom for term in terms))


def two_sided_p(gap: float, error: float, degrees: float) -> float:
    """Return the two-sided p value of Student's t test.

    If the standard error is 0, p is 1 for a difference of 0, and 0 for any other difference.
    """
    from scipy.stats import t

    if error == 0:
        return 1.0 if gap == 0 else 0.0
    return float(2 * t.sf(abs(gap) / error, degrees))


def probability_better(gap: float, variance: float) -> float:
    """Return P(A > B) for two single runs whose difference is normal with mean `gap` and variance `variance`.

    A tie counts as one half.
    """
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return 0.5 * (1 + math.erf(gap / math.sqrt(2 * variance)))


def compare_all(methods: Mapping[str, Runs]) -> list[Pair]:
    """Return the comparisons of all pairs of methods, largest difference first. p values are corrected by Holm."""
    floor = mean_run_variance(methods.values())
    pairs = [
        compare(first, methods[first], second, methods[second], floor) for first, second in combinations(methods, 2)
    ]
    corrected = holm([pair.p for pair in pairs])
    comparisons = [pair._replace(corrected=float(p)) for pair, p in zip(pairs, corrected, strict=True)]
    return sorted(comparisons, key=lambda pair: (-pair.difference, pair.first, pair.second))


def claims_in_words(pairs: Sequence[Pair], called: str, naive: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Return sentences that say which claims about one metric are supported and which are not.

    called: the label of the metric. naive: the pairs that would be significant in a test over the queries of a single
    run per method.
    """
    better: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.is_better:
            better.setdefault(pair.first, []).append(pair.second)
    claimed = sum(map(len, better.values()))
    sentences = [
        f"{called}: {claimed} of {len(pairs)} pairs are separated (p < {LEVEL:g} after Holm, and "
        f"P(A > B) > {MIN_PROBABILITY:g} of single runs)."
    ]
    order = sorted(better, key=lambda method: -len(better[method]))
    sentences += [f"{method} is better than {join_names(sorted(better[method]))}." for method in order]
    return [*sentences, *_not_claimed(pairs, naive)]


def _not_claimed(pairs: Sequence[Pair], naive: Sequence[tuple[str, str]]) -> list[str]:
    """Return up to three sentences about the pairs that are not separated.

    They name the methods that are not separated from the best method, the significant pairs with a P(A > B) that is too
    low, and the pairs in `naive` that the rule does not separate.
    """
    names = {name for pair in pairs for name in (pair.first, pair.second)}
    beaten = {pair.second for pair in pairs}
    best = next(iter(sorted(names - beaten)), None)
    close = sorted(pair.second for pair in pairs if pair.first == best and not pair.is_better)
    sentences = [f"Not separated from {best}, which has the highest mean: {join_names(close)}."] if close else []
    rarely_better = [pair for pair in pairs if pair.corrected < LEVEL and not pair.is_better]
    if rarely_better:
        sentences.append(
            f"Significant, but seen in too few single runs (P ≤ {MIN_PROBABILITY:g}): "
            f"{join_names([f'{pair.first} over {pair.second} ({pair.probability:.2f})' for pair in rarely_better])}."
        )
    separated = {frozenset((pair.first, pair.second)) for pair in pairs if pair.is_better}
    lost = [f"{first} and {second}" for first, second in naive if frozenset((first, second)) not in separated]
    if naive:
        sentences.append(
            f"Wilcoxon's test over the queries of one run each would separate {len(naive)} of {len(pairs)} pairs; "
            f"of these are not separated here: {'; '.join(lost) or 'none'}."
        )
    return sentences


def join_names(names: Sequence[str]) -> str:
    """Return the names in words: `a`, `a and b`, or `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
