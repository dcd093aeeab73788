"""Published numbers: facts from the literature, each with its convention and source (CSV in literature/).

`methods.csv` names the published methods that each of our models re-creates, so a new model needs a line
there and no code. One model may answer to several: the official RankSVM-Struct on MQ2007 (NDCG@10 .4439) and
the RankSVM row of the ARSM-L2R paper (.4383) disagree, and both are shown.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gradrank.evaluation.metrics import metric_label

MEAN_ROUNDING = 1.01e-4  # of a mean of rounded values that is itself rounded, and of LETOR's own


class Published(NamedTuple):
    """One published mean over folds on the test parts."""

    value: float
    convention: str
    source: str
    method: str
    note: str  # how the published method differs from ours, where it does
    folds: dict[int, float]  # the values fold by fold of which it is the mean; empty where none are published


def lookup(dataset: str, model: str, metric: str) -> list[Published]:
    """Every published test value of `metric` for `model` on `dataset`; empty where there is none.

    dataset: any case (`mq2007`). metric: as in per_query.parquet (`ndcg@10`).
    """
    values = _letor().get((dataset.upper(), metric_label(metric)), {})
    return [
        Published(value, convention, source, method, note, _folds_of(value, dataset, method, metric))
        for method, note in _methods().get(model, [])
        for value, convention, source in values.get(method, [])
    ]


def by_fold(dataset: str, method: str, metric: str) -> dict[int, float]:
    """The published test values of a method (as methods.csv names it) fold by fold; empty where none are."""
    return _letor_folds().get((dataset.upper(), method, metric_label(metric)), {})


def _folds_of(value: float, dataset: str, method: str, metric: str) -> dict[int, float]:
    """Those whose mean the value is, whoever printed it: papers copy the means of official tables."""
    folds = by_fold(dataset, method, metric)
    return folds if folds and abs(sum(folds.values()) / len(folds) - value) <= MEAN_ROUNDING else {}


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files("gradrank.evaluation").joinpath(f"literature/{name}").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def _methods() -> dict[str, list[tuple[str, str]]]:
    """(published method, note) by model."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in _rows("methods.csv"):
        found.setdefault(row["model"], []).append((row["method"], row["note"]))
    return found


@cache
def _letor() -> dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]]:
    """(value, convention, source) by (dataset, metric), then by method: test part, mean over folds."""
    found: dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]] = {}
    for row in _rows("letor_results.csv"):
        if row["split"] == "test" and row["fold"] == "mean":
            methods = found.setdefault((row["dataset"].upper(), row["metric"]), {})
            methods.setdefault(row["method"], []).append((float(row["value"]), row["convention"], row["source"]))
    return found


@cache
def _letor_folds() -> dict[tuple[str, str, str], dict[int, float]]:
    """Values on the test part by fold, by (dataset, method, metric)."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in _rows("letor_results.csv"):
        if row["split"] == "test" and row["fold"] != "mean":
            key = row["dataset"].upper(), row["method"], row["metric"]
            found.setdefault(key, {})[int(row["fold"])] = float(row["value"])
    return found
