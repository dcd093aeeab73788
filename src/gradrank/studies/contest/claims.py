"""Which method may be called better: a difference that survives queries, seeds, tuning and the number of pairs.

A claim needs a corrected p below .05, and P(A > B) above .75: that of two single runs, with one sample of queries, one
tuner and one seed each, A's is the better one (Bouthillier et al. 2021, section 4). Else two are "not separated".

Two or three tuners tell little of how far a method's tuners lie apart: by luck the two of one choice in twenty are
nearly equal, and a difference of nothing but luck would pass for real. So a method's own variance counts where it is
wider than the mean one of the contest's methods, else that mean; of a method whose runs are all alike, none.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from gradrank.evaluation.statistics import LEVEL, holm
from gradrank.evaluation.variance import Runs, Term, freedom, half_width, query_term, standard_error

MOSTLY = 0.75  # P(A > B) of a claim
NOT_SEPARATED = "not separated"


class Pair(NamedTuple):
    """Two methods over the same queries: first minus second, the first being the one with the higher mean.

    low, high: the 95% interval of the difference. corrected: p by Holm, for all pairs of the contest.
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
    def better(self) -> bool:
        return self.corrected < LEVEL and self.probability > MOSTLY

    @property
    def verdict(self) -> str:
        return "better" if self.better else NOT_SEPARATED


def compare(first: str, a: Runs, second: str, b: Runs, usual: Term) -> Pair:
    """One pair, without a correction. Both are of the same queries in the same order; usual: `usual_chance` of all."""
    if b.mean > a.mean:
        first, a, second, b = second, b, first, a
    gap = a.mean - b.mean
    query = query_term(a.per_query - b.per_query, a.folds)
    terms = [query, *_chance([runs.variances.chance_of_mean for runs in (a, b) if runs.varies], usual)]
    half = half_width(terms)
    p = two_sided(gap, standard_error(terms), freedom(terms))
    single = query.variance + a.variances.chance + b.variances.chance
    return Pair(first, second, gap, gap - half, gap + half, p, superiority(gap, single))


def _chance(own: Sequence[Term], usual: Term) -> list[Term]:
    """What these add to a difference, each no less than `usual`, which is one estimate however often it is taken."""
    wide = [term for term in own if term.variance > usual.variance]
    return [*wide, usual._replace(variance=(len(own) - len(wide)) * usual.variance)]


def usual_chance(methods: Iterable[Runs]) -> Term:
    """Of the mean over a method's runs, by tuners and seeds: the mean of those whose runs differ at all."""
    terms = [runs.variances.chance_of_mean for runs in methods if runs.varies]
    if not terms:
        return Term(0.0, 0)
    return Term(math.fsum(term.variance for term in terms) / len(terms), sum(term.freedom for term in terms))


def two_sided(gap: float, error: float, degrees: float) -> float:
    """p of Student's test; of a difference without any error 0, or 1 where there is no difference."""
    from scipy.stats import t

    if error == 0:
        return 1.0 if gap == 0 else 0.0
    return float(2 * t.sf(abs(gap) / error, degrees))


def superiority(gap: float, variance: float) -> float:
    """P(A > B) of two single runs whose difference is normal with this mean and variance; a tie counts half."""
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return 0.5 * (1 + math.erf(gap / math.sqrt(2 * variance)))


def compare_all(methods: Mapping[str, Runs]) -> list[Pair]:
    """Every two methods of a contest, corrected by Holm for their number; the widest difference first."""
    usual = usual_chance(methods.values())
    pairs = [compare(one, methods[one], other, methods[other], usual) for one, other in combinations(methods, 2)]
    corrected = holm([pair.p for pair in pairs])
    found = [pair._replace(corrected=float(p)) for pair, p in zip(pairs, corrected, strict=True)]
    return sorted(found, key=lambda pair: (-pair.difference, pair.first, pair.second))


def in_words(pairs: Sequence[Pair], called: str, naive: Sequence[tuple[str, str]] = ()) -> list[str]:
    """What may be claimed of the metric `called`, and what may not.

    naive: the pairs that a test over the queries of one run each separates.
    """
    better: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.better:
            better.setdefault(pair.first, []).append(pair.second)
    claimed = sum(map(len, better.values()))
    said = [
        f"{called}: {claimed} of {len(pairs)} pairs are separated (p < {LEVEL:g} after Holm, and "
        f"P(A > B) > {MOSTLY:g} of single runs)."
    ]
    order = sorted(better, key=lambda method: -len(better[method]))
    said += [f"{method} is better than {listed(sorted(better[method]))}." for method in order]
    return [*said, *_not_claimed(pairs, naive)]


def _not_claimed(pairs: Sequence[Pair], naive: Sequence[tuple[str, str]]) -> list[str]:
    """The other pairs, by what they lack."""
    names = {name for pair in pairs for name in (pair.first, pair.second)}
    beaten = {pair.second for pair in pairs}
    best = next(iter(sorted(names - beaten)), None)
    near = sorted(pair.second for pair in pairs if pair.first == best and not pair.better)
    said = [f"Not separated from {best}, which has the highest mean: {listed(near)}."] if near else []
    seldom = [pair for pair in pairs if pair.corrected < LEVEL and not pair.better]
    if seldom:
        said.append(
            f"Significant, but seen in too few single runs (P ≤ {MOSTLY:g}): "
            f"{listed([f'{pair.first} over {pair.second} ({pair.probability:.2f})' for pair in seldom])}."
        )
    separated = {frozenset((pair.first, pair.second)) for pair in pairs if pair.better}
    lost = [f"{a} and {b}" for a, b in naive if frozenset((a, b)) not in separated]
    if naive:
        said.append(
            f"Wilcoxon's test over the queries of one run each would separate {len(naive)} of {len(pairs)} pairs; "
            f"of these are not separated here: {'; '.join(lost) or 'none'}."
        )
    return said


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
