"""Published numbers from the literature, each with its convention and source (the files in RESULTS, and single runs).

`methods.csv` maps our models to the published methods that they re-create. A new model needs one line there.
A model may correspond to several published methods: the official RankSVM-Struct on MQ2007 (NDCG@10 .4439) and the
RankSVM row of the ARSM-L2R paper (.4383) disagree, and both are shown.
"""

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gradrank.bench.literature.published_runs import FILES, Runs, mean_of_runs, run_metrics, runs_of
from gradrank.measures.metrics import metric_label

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
def _rows(name: str) -> list[dict[str, str]]:
    text = files("gradrank.bench").joinpath(f"literature/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


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
