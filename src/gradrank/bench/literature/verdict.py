"""Verdicts on published numbers: the rule that decides whether our value reproduces a published one.

- *reproduced*: the difference is within the variation of seeds plus rounding, |difference| <= 2 sd sqrt(1 + 1/S) +
  rounding, where sd is the standard deviation over our S seeds. With one seed, only the rounding counts. If the values
  of single runs are published, the variation is that of one further run: our value could be one of these runs.
- *consistent*: the absolute difference is at most half the width of its 95% interval. If values per fold are published,
  the interval is Student's interval of the mean of the paired differences per fold. This interval is narrow, because
  the values of two programs on the same queries differ far less than the values of different queries. Otherwise, the
  interval's half width is 1.96 standard errors of our mean over queries, which is wide. If the values of single runs
  are published, there is no such verdict: their own distribution decides.
- *not reproduced*: neither condition holds.

A verdict is strong if few of our other methods would get the same verdict for the same published number. `alike` counts
these methods.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import Published
from gradrank.bench.literature.published_runs import reach_of_a_run
from gradrank.comparison.statistics import mean_interval

REPRODUCED, CONSISTENT, NOT_REPRODUCED = "reproduced", "consistent", "not reproduced"
FOLDS, QUERIES, DRAWS, RUNS = "folds", "queries", "draws", "runs"  # the sample on which an interval is based
ROUNDING = 0.5e-4  # largest rounding error of four printed decimals
EXACT = 1e-12  # tolerance for the rounding of sums of doubles


class Band(NamedTuple):
    """The tolerances of a verdict.

    half_width: half the width of the difference's 95% interval. of: the sample on which this interval is based (FOLDS,
    QUERIES, DRAWS or RUNS). seeds: largest difference that seeds and rounding explain.
    """

    half_width: float
    of: str
    seeds: float = ROUNDING


class Judged(NamedTuple):
    """The comparison of our value with a published one.

    ours: our value. difference: our value minus the published value. half_width, of: as in Band. verdict:
    REPRODUCED, CONSISTENT or NOT_REPRODUCED.
    """

    ours: float
    difference: float
    half_width: float
    of: str
    verdict: str


def judge(published: float, ours: float, band: Band) -> Judged:
    """Return the comparison of our value with a published one under the given tolerances."""
    difference = ours - published
    if abs(difference) <= band.seeds + EXACT:
        verdict = REPRODUCED
    else:
        verdict = CONSISTENT if abs(difference) <= band.half_width + EXACT else NOT_REPRODUCED
    return Judged(ours, difference, band.half_width, band.of, verdict)


def judge_values(published: Published, values: QueryValues, metric: str) -> Judged:
    """Return the comparison of our mean over folds with a published one. values: our values per query."""
    return judge(published.value, values.mean(metric), band_of(published, values, metric))


def band_of(published: Published, values: QueryValues, metric: str) -> Band:
    """Return the tolerances for our mean over folds. values: our values per query."""
    bands = bands_of(published, values, metric)
    if RUNS in bands:
        return bands[RUNS]
    wide, paired = bands[QUERIES], bands.get(FOLDS, bands[QUERIES])
    return paired if paired.half_width < wide.half_width else wide


def bands_of(published: Published, values: QueryValues, metric: str) -> dict[str, Band]:
    """Return the tolerances that can be computed, with QUERIES, FOLDS and RUNS as keys, widest sample first."""
    seeds = seed_reach(values.seed_means(metric))
    bands = {QUERIES: Band(values.half_width(metric), QUERIES, seeds)}
    if published.folds:
        means = {fold: mean for fold, (mean, _) in values.fold_means(metric).items()}
        bands[FOLDS] = Band(paired_half_width(means, published.folds), FOLDS, seeds)
    if published.runs:
        reach = reach_of_a_run(published.runs)
        bands[RUNS] = Band(reach, RUNS, math.hypot(reach, seeds))
    return bands


def seed_reach(seeds: Sequence[float], rounding: float = ROUNDING) -> float:
    """Return 2 sd sqrt(1 + 1/S) + rounding, where sd is the standard deviation of the values of S seeds.

    In about 95% of cases, the value of a further seed differs from the mean of the S seeds by no more than this. seeds:
    the S values, one per seed. With fewer than two seeds, the result is the rounding alone.
    """
    if len(seeds) < 2:
        return rounding
    return 2 * float(np.std(seeds, ddof=1)) * math.sqrt(1 + 1 / len(seeds)) + rounding


def paired_half_width(ours: Mapping[int, float], theirs: Mapping[int, float]) -> float:
    """Return half the width of Student's 95% interval of the mean difference over the folds that both have.

    The result is nan for fewer than two such folds.
    """
    gaps = np.array([ours[fold] - theirs[fold] for fold in sorted(ours.keys() & theirs.keys())])
    interval = mean_interval(gaps)
    return interval.high - interval.mean


def alike(verdict: str, others: Iterable[str]) -> int:
    """Return how many of the other verdicts on the same published number equal `verdict`.

    REPRODUCED also counts as CONSISTENT.
    """
    equal = {verdict, REPRODUCED} if verdict == CONSISTENT else {verdict}
    return sum(other in equal for other in others)
