"""Published values of single runs of a randomised program, for each fold.

The runs of one fold differ only in their random numbers. Their distribution says how far two runs of one method are
apart, so it gives a narrower verdict than a published mean (`gradrank.bench.literature.verdict`).
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from gradrank.comparison.variance import Term, half_width

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
