"""Published numbers, each with its convention and source, and the rule that decides whether our value reproduces one.

`methods.csv` maps our models to the published methods that they re-create. A new model needs one line there.
A model may correspond to several published methods: the official RankSVM-Struct on MQ2007 (NDCG@10 .4439) and the
RankSVM row of the ARSM-L2R paper (.4383) disagree, and both are shown.

Published values of single runs of a randomised program, for each fold.

The runs of one fold differ only in their random numbers. Their distribution says how far two runs of one method are
apart, so it gives a narrower verdict than a published mean (`gradrank.bench.literature`).

The verdicts:

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

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.comparison.statistics import mean_interval
from gradrank.comparison.variance import Term, half_width
from gradrank.measures.metrics import metric_label

Runs = Mapping[int, Sequence[float]]  # key: fold; values: one per run


class RunFile(NamedTuple):
    """The description of a file with one row per split, fold and run, and one column per metric.

    convention: convention of the values. source: publication that the values are taken from. method: name in
    methods.csv.
    """

    name: str
    dataset: str
    method: str
    convention: str
    source: str


FILES = (
    RunFile(
        "ranklib_listnet_mq2007.csv",
        "MQ2007",
        "ListNet (RankLib)",
        "letor4",
        "RankLib's ListNet, 500 epochs, means of 40 runs per fold, measured by LETOR 4.0's evaluation program "
        "(francelabs/ListNetReproducibilityStudy, 981b016c)",
    ),
)


def runs_of(file: RunFile, metric: str, split: str = "test") -> dict[int, tuple[float, ...]]:
    """Return the value of each run, by fold. metric: label such as `NDCG@10`. Empty if the file lacks the metric."""
    runs: dict[int, list[float]] = {}
    for row in _rows(file.name):
        if row["split"] == split and metric in row:
            runs.setdefault(int(row["fold"]), []).append(float(row[metric]))
    return {fold: tuple(values) for fold, values in runs.items()}


def run_metrics(file: RunFile) -> list[str]:
    """Return the labels of the metrics in the file."""
    return [name for name in _rows(file.name)[0] if name not in ("split", "fold", "run")]


def mean_of_runs(runs: Runs) -> float:
    """Return the mean over folds of the mean over runs."""
    return float(np.mean([np.mean(values) for values in runs.values()]))


def reach_of_a_run(runs: Runs) -> float:
    """Return half the width of the 95% interval for the mean over folds of one further run per fold.

    In 95% of cases, this mean differs from `mean_of_runs` by no more than the result. The variance of the difference is
    the sum over the F folds of s^2 (1 + 1/n) / F^2, where s is the standard deviation of the n runs of a fold. Every
    fold needs at least two runs.
    """
    return half_width(
        [
            Term(float(np.var(values, ddof=1)) * (1 + 1 / len(values)) / len(runs) ** 2, len(values) - 1)
            for values in runs.values()
        ]
    )


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("gradrank.bench").joinpath(f"literature/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


RESULTS = ("letor_results.csv", "catboost_benchmark.csv")
MEAN_ROUNDING = 1.01e-4  # largest effect of rounding values and their mean to four decimals; occurs in LETOR's tables


class Published(NamedTuple):
    """A published mean over folds on the test parts. With a single split, it is the value of the only test part.

    convention: convention of the published value. source: publication that the value is taken from. method: name in
    methods.csv. note: how the published method differs from our model; may be empty. folds: the published value of each
    fold, with fold numbers as keys; empty if these values were not published. runs: the values of single runs of each
    fold, if these were published; `value` and `folds` are then means over runs.
    """

    value: float
    convention: str
    source: str
    method: str
    note: str
    folds: dict[int, float]
    runs: Runs


def lookup(dataset: str, model: str, metric: str) -> list[Published]:
    """Return all published test values of a metric for a model on a data set; may be empty.

    dataset: name in any case, such as `mq2007`. metric: name as in per_query.parquet, such as `ndcg@10`.
    """
    values = _means().get((dataset.upper(), metric_label(metric)), {})
    found = [
        Published(value, convention, source, method, note, _folds_of(value, dataset, method, metric), {})
        for method, note in _methods().get(model, [])
        for value, convention, source in values.get(method, [])
    ]
    return found + list(_of_runs(dataset, model, metric_label(metric)))


def _of_runs(dataset: str, model: str, metric: str) -> Iterator[Published]:
    """Yield the published values of single runs. metric: label such as `NDCG@10`."""
    for method, note in _methods().get(model, []):
        for file in FILES:
            if (file.dataset, file.method) == (dataset.upper(), method) and metric in run_metrics(file):
                runs = runs_of(file, metric)
                folds = {fold: mean_of_runs({fold: values}) for fold, values in runs.items()}
                yield Published(mean_of_runs(runs), file.convention, file.source, method, note, folds, runs)


def by_fold(dataset: str, method: str, metric: str) -> dict[int, float]:
    """Return the published test value of each fold for a method in methods.csv; empty if not published."""
    return _fold_values().get((dataset.upper(), method, metric_label(metric)), {})


def _folds_of(value: float, dataset: str, method: str, metric: str) -> dict[int, float]:
    """Return the published values per fold if their mean is the published mean, otherwise an empty dict.

    The values per fold and the mean may come from different sources, because papers copy means from the official
    tables.
    """
    folds = by_fold(dataset, method, metric)
    return folds if folds and abs(sum(folds.values()) / len(folds) - value) <= MEAN_ROUNDING else {}


@cache
def _results() -> list[dict[str, str]]:
    return [row for name in RESULTS for row in _rows(name)]


@cache
def _methods() -> dict[str, list[tuple[str, str]]]:
    """Return a dict. The keys are our models, the values are lists of (published method, note)."""
    methods: dict[str, list[tuple[str, str]]] = {}
    for row in _rows("methods.csv"):
        methods.setdefault(row["model"], []).append((row["method"], row["note"]))
    return methods


@cache
def _means() -> dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]]:
    """Return the published means over folds on the test parts.

    The outer keys are (dataset, metric), the inner keys are methods. The values are lists of (value, convention,
    source).
    """
    means: dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]] = {}
    for row in _results():
        if row["split"] == "test" and row["fold"] == "mean":
            methods = means.setdefault((row["dataset"].upper(), row["metric"]), {})
            methods.setdefault(row["method"], []).append((float(row["value"]), row["convention"], row["source"]))
    return means


@cache
def _fold_values() -> dict[tuple[str, str, str], dict[int, float]]:
    """Return the published test values per fold. The outer keys are (dataset, method, metric), the inner keys folds."""
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in _results():
        if row["split"] == "test" and row["fold"] != "mean":
            key = row["dataset"].upper(), row["method"], row["metric"]
            values.setdefault(key, {})[int(row["fold"])] = float(row["value"])
    return values


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
