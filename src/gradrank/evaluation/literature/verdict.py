"""Whether ours is what was published: the one rule.

- *reproduced*: the two differ by no more than seeds and rounding do, |difference| <= 2 sd sqrt(1 + 1/S) + rounding,
  with sd the standard deviation over S seeds of ours. Of one seed, or of a method that draws nothing, rounding is all.
- *consistent*: the difference lies inside its 95% interval. Two programs that rank the same queries differ by far less
  than queries do, so published values fold by fold are paired with ours: Student's interval of the mean of the folds'
  differences. Where there are none, half the interval is 1.96 standard errors of ours over queries, which is wide.
- *not reproduced*: neither.

What a verdict is worth is how many other methods of ours would have had it for the same number: `alike`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.statistics import mean_interval

REPRODUCED, CONSISTENT, NOT_REPRODUCED = "reproduced", "consistent", "not reproduced"
FOLDS, QUERIES, DRAWS = "folds", "queries", "draws"  # what an interval is of
ROUNDING = 0.5e-4  # of four printed decimals
EXACT = 1e-12  # what sums of doubles lose


class Band(NamedTuple):
    """Half the 95% interval of the difference, what it is of, and how far seeds and rounding reach."""

    half_width: float
    of: str
    seeds: float = ROUNDING


class Judged(NamedTuple):
    """Ours beside a published number. difference: ours minus the published one."""

    ours: float
    difference: float
    half_width: float
    of: str
    verdict: str


def judge(published: float, ours: float, band: Band) -> Judged:
    difference = ours - published
    if abs(difference) <= band.seeds + EXACT:
        verdict = REPRODUCED
    else:
        verdict = CONSISTENT if abs(difference) <= band.half_width + EXACT else NOT_REPRODUCED
    return Judged(ours, difference, band.half_width, band.of, verdict)


def judge_values(published: float, folds: Mapping[int, float], values: QueryValues, metric: str) -> Judged:
    """Our mean over folds beside a published one; folds: that fold by fold, none where it was not published so."""
    means = {fold: mean for fold, (mean, _) in values.fold_means(metric).items()}
    ours = float(np.mean(list(means.values()))) if means else math.nan
    wide = Band(values.half_width(metric), QUERIES, seed_reach(values.seed_means(metric)))
    paired = Band(paired_half_width(means, folds), FOLDS, wide.seeds)
    return judge(published, ours, paired if paired.half_width < wide.half_width else wide)


def seed_reach(seeds: Sequence[float], rounding: float = ROUNDING) -> float:
    """2 sd sqrt(1 + 1/S) + rounding: how far one more seed lies from the mean of these S, in 95 cases of 100."""
    if len(seeds) < 2:
        return rounding
    return 2 * float(np.std(seeds, ddof=1)) * math.sqrt(1 + 1 / len(seeds)) + rounding


def paired_half_width(ours: Mapping[int, float], theirs: Mapping[int, float]) -> float:
    """Half Student's 95% interval of the mean difference over the folds of both; nan for fewer than two."""
    gaps = np.array([ours[fold] - theirs[fold] for fold in sorted(ours.keys() & theirs.keys())])
    interval = mean_interval(gaps)
    return interval.high - interval.mean


def alike(verdict: str, others: Iterable[str]) -> int:
    """How many other verdicts on the same number are this one; to be consistent, being reproduced is enough."""
    same = {verdict, REPRODUCED} if verdict == CONSISTENT else {verdict}
    return sum(other in same for other in others)
