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


class Published(NamedTuple):
    """One published mean over folds on the test parts."""

    value: float
    convention: str
    source: str
    method: str
    note: str  # how the published method differs from ours, where it does


def lookup(dataset: str, model: str, metric: str) -> list[Published]:
    """Every published test value of `metric` for `model` on `dataset`; empty where there is none.

    dataset: any case (`mq2007`). metric: as in per_query.parquet (`ndcg@10`).
    """
    values = _letor().get((dataset.upper(), metric_label(metric)), {})
    return [
        Published(value, convention, source, method, note)
        for method, note in _methods().get(model, [])
        for value, convention, source in values.get(method, [])
    ]


def by_fold(dataset: str, method: str, metric: str) -> dict[int, float]:
    """The published test values of a method (as methods.csv names it) fold by fold; empty where none are."""
    return {
        int(row["fold"]): float(row["value"])
        for row in _rows("letor_results.csv")
        if row["fold"] != "mean"
        and (row["dataset"], row["method"], row["split"], row["metric"])
        == (dataset.upper(), method, "test", metric_label(metric))
    }


def verdict(ours: float, half_width: float, published: float) -> str:
    """`inside` if the published value lies inside our 95% interval, else `above` or `below`: where we are."""
    if abs(ours - published) <= half_width:
        return "inside"
    return "above" if ours > published else "below"


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
            methods.setdefault(row["method"], []).append(
                (float(row["value"]), row["convention"], row["source"])
            )
    return found
