"""Published numbers from the literature, each with its convention and source (letor_results.csv).

`methods.csv` maps our models to the published methods that they re-create. A new model needs one line there, no code.
A model may correspond to several published methods: the official RankSVM-Struct on MQ2007 (NDCG@10 .4439) and the
RankSVM row of the ARSM-L2R paper (.4383) disagree, and both are shown.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gradrank.evaluation.metrics import metric_label

MEAN_ROUNDING = 1.01e-4  # largest error of a rounded mean of rounded values, also found in LETOR's own tables


class Published(NamedTuple):
    """A published mean over folds on the test parts.

    convention, source: of the publication. method: name in methods.csv. note: how the published method differs from our
    model; may be empty. folds: the published values per fold; empty if not published.
    """

    value: float
    convention: str
    source: str
    method: str
    note: str
    folds: dict[int, float]


def lookup(dataset: str, model: str, metric: str) -> list[Published]:
    """Return all published test values of a metric for a model on a data set; may be empty.

    dataset: name in any case, such as `mq2007`. metric: name as in per_query.parquet, such as `ndcg@10`.
    """
    values = _letor().get((dataset.upper(), metric_label(metric)), {})
    return [
        Published(value, convention, source, method, note, _folds_of(value, dataset, method, metric))
        for method, note in _methods().get(model, [])
        for value, convention, source in values.get(method, [])
    ]


def by_fold(dataset: str, method: str, metric: str) -> dict[int, float]:
    """Return the published test values of a method of methods.csv by fold; empty if not published."""
    return _letor_folds().get((dataset.upper(), method, metric_label(metric)), {})


def _folds_of(value: float, dataset: str, method: str, metric: str) -> dict[int, float]:
    """Return the values by fold if their mean is the published value, else nothing.

    The two may come from different sources, because papers copy the means of the official tables.
    """
    folds = by_fold(dataset, method, metric)
    return folds if folds and abs(sum(folds.values()) / len(folds) - value) <= MEAN_ROUNDING else {}


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("gradrank.evaluation").joinpath(f"literature/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def _methods() -> dict[str, list[tuple[str, str]]]:
    """Return the published methods by model, each with its note."""
    methods: dict[str, list[tuple[str, str]]] = {}
    for row in _rows("methods.csv"):
        methods.setdefault(row["model"], []).append((row["method"], row["note"]))
    return methods


@cache
def _letor() -> dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]]:
    """Return means over folds on the test parts as (value, convention, source), by (dataset, metric) and method."""
    means: dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]] = {}
    for row in _rows("letor_results.csv"):
        if row["split"] == "test" and row["fold"] == "mean":
            methods = means.setdefault((row["dataset"].upper(), row["metric"]), {})
            methods.setdefault(row["method"], []).append((float(row["value"]), row["convention"], row["source"]))
    return means


@cache
def _letor_folds() -> dict[tuple[str, str, str], dict[int, float]]:
    """Return values on the test parts by fold, by (dataset, method, metric)."""
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in _rows("letor_results.csv"):
        if row["split"] == "test" and row["fold"] != "mean":
            key = row["dataset"].upper(), row["method"], row["metric"]
            values.setdefault(key, {})[int(row["fold"])] = float(row["value"])
    return values
