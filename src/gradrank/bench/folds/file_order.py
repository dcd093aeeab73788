"""Dependence of metric values on the file order, in which tied scores are ranked.

LETOR's programs rank tied scores in file order, and the file order may be correlated with relevance: on OHSUMED a
constant score has MAP .427 in file order, and .307 in expectation over all orders. A method with many ties can benefit
from such a correlation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.comparison.rankings.tied_scores import MOST_NAMED, NOTABLE_SHARE, SERIOUS_SHARE, share_of_half_width
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import in_expectation
from gradrank.measures.judgements import read_judgements
from gradrank.measures.metrics import compute, metric_label

CONSTANT = "constant"  # name of the row for a ranking that gives every document the same score
Values = Mapping[str, QueryValues]  # key: convention


def constant_score(data: Path, metrics: Sequence[str], conventions: Iterable[str]) -> dict[str, QueryValues]:
    """Return a dict of the values of a constant score on the test parts of a collection. The keys are conventions."""
    stored = StoredCollection.open(data)
    tests = [read_judgements(stored, parts["test"]) for parts in stored.folds]
    folds = np.repeat(np.arange(1, len(tests) + 1), [len(test.qids) for test in tests])
    qids = np.concatenate([test.ids for test in tests])
    by_convention = {}
    for convention in conventions:
        values = [
            compute(metrics, np.zeros(len(test.labels)), test.labels, test.offsets, convention, test.docids)
            for test in tests
        ]
        joined = {metric: np.concatenate([of_fold[metric] for of_fold in values]) for metric in metrics}
        by_convention[convention] = QueryValues(folds, qids, joined)
    return by_convention


def file_order(measured: Mapping[str, Values], convention: str) -> Iterator[dict[str, Any]]:
    """Yield one row per method and metric. Metrics without a value in expectation over tied scores are left out.

    measured: values per query; the outer keys are methods, the inner keys are conventions. The keys of a row are
    `convention`, `model`, `metric`, `mean` (the mean in file order), `expected` (the mean in expectation), `difference`
    (mean - expected), `half_width` (half the width of the mean's 95% interval) and `share` (absolute difference / half
    width).
    """
    expectation = in_expectation(convention)
    for model, values in measured.items():
        if expectation is None or expectation not in values:
            continue
        for metric in values[convention].values:
            mean, expected = values[convention].mean(metric), values[expectation].mean(metric)
            if np.isnan(expected):
                continue
            half = values[convention].half_width(metric)
            share = share_of_half_width(mean - expected, half)
            row = {"convention": convention, "model": model, "metric": metric, "mean": mean}
            row |= {"expected": expected, "difference": mean - expected}
            yield row | {"half_width": half, "share": share}


def notable_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of `file_order` with a share above NOTABLE_SHARE, in descending order of the share."""
    notable = [row for row in rows if row["share"] is not None and row["share"] > NOTABLE_SHARE]
    return sorted(notable, key=lambda row: -row["share"])


def note(rows: Iterable[dict[str, Any]]) -> tuple[str, bool] | None:
    """Return a note on the methods whose values depend on the file order, and whether the effect is serious.

    Returns None if there are no such methods. The effect is serious if the value of a method changes by more than half
    its 95% interval. rows: as yielded by `file_order`.
    """
    notable = notable_rows(rows)
    methods = list(dict.fromkeys(row["model"] for row in notable if row["model"] != CONSTANT))
    if not methods:
        return None
    worst = [next(row for row in notable if row["model"] == model) for model in methods[:MOST_NAMED]]
    named = "; ".join(f"`{row['model']}`, {_both(row)}" for row in worst)
    named += "; ..." if len(methods) > MOST_NAMED else ""
    constant = [row for row in notable if row["model"] == CONSTANT]
    differ = "one method differs" if len(methods) == 1 else f"{len(methods)} methods differ"
    text = (
        "Tied scores are ranked in file order. In expectation over all orders, "
        f"{differ} by more than a tenth of half the 95% interval: {named}."
        + (f" A constant score: {_both(max(constant, key=_moved))}." if constant else "")
    )
    return text, any(row["share"] > SERIOUS_SHARE for row in notable if row["model"] != CONSTANT)


def constant_scores_note(rows: Iterable[Mapping[str, Any]], order: Iterable[Mapping[str, Any]]) -> str | None:
    """Return a note on the methods that give all test documents of each query the same score, or None.

    rows: rows with the keys `model` and `fold`. order: as yielded by `file_order`.
    """
    folds: dict[str, list[str]] = {}
    for row in rows:
        folds.setdefault(row["model"], []).append(row["fold"])
    if not folds:
        return None
    named = "; ".join(f"`{model}` in {', '.join(own)}" for model, own in folds.items())
    constant = max((row for row in order if row["model"] == CONSTANT), key=_moved, default=None)
    value = f": {_both(constant)}" if constant else ""
    return (
        "Methods without an order: all documents of each test query have the same score. Their values are those of a "
        f"constant score{value}. Affected: {named}. The log of a training job may name the cause."
    )


def _both(row: Mapping[str, Any]) -> str:
    return f"{metric_label(row['metric'])} {row['mean']:.4f} ({row['expected']:.4f} in expectation)"


def _moved(row: Mapping[str, Any]) -> float:
    return abs(row["difference"])
