"""Verdicts by hand, and by simulation: how often they accept a re-creation and reject another method."""

import math

import numpy as np
import pytest
from scipy.stats import t

from gradrank.bench.folds.per_query import QueryValues, mean_over_seeds
from gradrank.bench.literature import (
    CONSISTENT,
    DRAWS,
    FOLDS,
    NOT_REPRODUCED,
    QUERIES,
    REPRODUCED,
    ROUNDING,
    RUNS,
    Band,
    Published,
    alike,
    judge,
    judge_values,
    mean_of_runs,
    paired_half_width,
    reach_of_a_run,
    seed_reach,
)

FOLD = np.repeat(np.arange(1, 6), 300)


def published(value, folds=None, runs=None):
    return Published(value, "letor4", "source", "method", "", folds or {}, runs or {})


def ranked(means, spread=0.3, seed=0):
    """Return values of queries in five folds with these means."""
    noise = np.random.default_rng(seed).normal(0.0, spread, len(FOLD))
    for fold in range(1, 6):
        noise[fold == FOLD] += means[fold - 1] - noise[fold == FOLD].mean()
    return QueryValues(FOLD, np.arange(len(FOLD)), {"map": noise})


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (0.44390, REPRODUCED),
        (0.443949, REPRODUCED),
        (0.44396, CONSISTENT),
        (0.4539, CONSISTENT),
        (0.4339, CONSISTENT),
        (0.4540, NOT_REPRODUCED),
        (0.4338, NOT_REPRODUCED),
    ],
)
def test_three_words_of_a_method_that_draws_nothing(ours, verdict):
    judged = judge(0.4439, ours, Band(0.01, QUERIES))
    assert (judged.verdict, judged.of) == (verdict, QUERIES)
    assert judged.difference == pytest.approx(ours - 0.4439)


def test_without_an_interval_only_rounding_reproduces():
    assert judge(0.5, 0.6, Band(math.nan, DRAWS)).verdict == NOT_REPRODUCED
    assert judge(0.5, 0.50004, Band(math.nan, DRAWS)).verdict == REPRODUCED


def test_reach_of_seeds_by_hand():
    assert seed_reach([]) == seed_reach([0.4]) == ROUNDING == 0.00005
    assert seed_reach([0.40, 0.42]) == pytest.approx(2 * np.sqrt(0.0002) * np.sqrt(1.5) + 0.00005)


def test_paired_half_width_by_hand():
    ours, theirs = {1: 0.5, 2: 0.42, 3: 0.45}, {1: 0.49, 2: 0.43, 3: 0.43, 4: 0.9}
    gaps = np.array([0.01, -0.01, 0.02])
    half = t.ppf(0.975, 2) * gaps.std(ddof=1) / np.sqrt(3)
    assert paired_half_width(ours, theirs) == pytest.approx(half)
    assert math.isnan(paired_half_width(ours, {1: 0.4})) and math.isnan(paired_half_width(ours, {}))


def test_a_re_creation_is_consistent_in_95_of_100_cases():
    """Two programs of one method: fold means differ by independent noise, and queries by far more."""
    rng = np.random.default_rng(2)
    verdicts = []
    for _ in range(2000):
        theirs = dict(enumerate(0.45 + rng.normal(0, 0.02, 5), start=1))
        ours = ranked([theirs[fold] + rng.normal(0, 0.004) for fold in theirs])
        judged = judge_values(published(float(np.mean(list(theirs.values()))), theirs), ours, "map")
        verdicts.append(judged.verdict != NOT_REPRODUCED)
    assert np.mean(verdicts) == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 2000))


def test_pairing_refuses_what_the_wide_interval_takes():
    """A method is worse by .008 on every fold: inside the interval over queries, outside that over folds."""
    theirs = {1: 0.48, 2: 0.43, 3: 0.45, 4: 0.42, 5: 0.45}
    gaps = [0.006, 0.010, 0.008, 0.009, 0.007]
    ours = ranked([value - gap for value, gap in zip(theirs.values(), gaps, strict=True)])
    paired, wide = (judge_values(published(0.446, folds), ours, "map") for folds in (theirs, {}))
    assert (paired.verdict, paired.of) == (NOT_REPRODUCED, FOLDS)
    assert (wide.verdict, wide.of) == (CONSISTENT, QUERIES)
    assert paired.half_width < 0.003 < 0.01 < wide.half_width
    assert paired.difference == wide.difference == pytest.approx(-0.008)


def test_seeds_of_ours_widen_what_is_reproduced():
    ours = ranked([0.45] * 5)
    assert judge_values(published(0.4515), ours, "map").verdict == CONSISTENT
    seeds = [{"map": ours.values["map"] + shift} for shift in (-0.001, 0.0, 0.001)]
    several = mean_over_seeds(ours.folds, ours.qids, seeds)
    assert several.mean("map") == pytest.approx(ours.mean("map"))
    assert several.seed_means("map") == pytest.approx([0.449, 0.45, 0.451])
    assert judge_values(published(0.4515), several, "map").verdict == REPRODUCED


def test_a_further_run_is_reproduced_in_95_of_100_cases_and_another_method_is_not():
    """Runs of one program differ by their seeds; ours is one further run, or lower by .012 on every fold."""
    rng = np.random.default_rng(4)
    deviations = np.array([0.008, 0.005, 0.009, 0.007, 0.007])
    verdicts, others = [], []
    for _ in range(400):
        means = 0.45 + rng.normal(0, 0.02, 5)
        runs = {fold: tuple(means[fold - 1] + rng.normal(0, deviations[fold - 1], 40)) for fold in range(1, 6)}
        theirs = published(mean_of_runs(runs), {fold: float(np.mean(values)) for fold, values in runs.items()}, runs)
        one = means + rng.normal(0, deviations)
        same, other = (judge_values(theirs, ranked(values), "map") for values in (one, one - 0.012))
        assert (same.of, other.of) == (RUNS, RUNS)
        verdicts.append(same.verdict == REPRODUCED)
        others.append(other.verdict == REPRODUCED)
    assert np.mean(verdicts) == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 400))
    assert np.mean(others) < 0.1


def test_reach_of_a_run_by_hand():
    runs = {1: (0.4, 0.44), 2: (0.5, 0.52, 0.51)}
    terms = [0.0008 * (1 + 1 / 2) / 4, 0.0001 * (1 + 1 / 3) / 4]
    freedom = sum(terms) ** 2 / (terms[0] ** 2 / 1 + terms[1] ** 2 / 2)
    assert reach_of_a_run(runs) == pytest.approx(t.ppf(0.975, freedom) * math.sqrt(sum(terms)))
    assert mean_of_runs(runs) == pytest.approx((0.42 + 0.51) / 2)
    assert reach_of_a_run({1: (0.4, 0.4), 2: (0.5, 0.5)}) == 0


def test_power_counts_who_else_would_have_had_the_verdict():
    others = [REPRODUCED, CONSISTENT, CONSISTENT, NOT_REPRODUCED]
    assert [alike(verdict, others) for verdict in (REPRODUCED, CONSISTENT, NOT_REPRODUCED)] == [1, 3, 1]
    assert alike(CONSISTENT, []) == 0
