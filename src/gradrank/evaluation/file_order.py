"""What a value owes to the order of the file: beside it, the expectation over all orders of equal scores.

LETOR's programs leave equal scores in the file's order, and files may be sorted by something that knows relevance: on
OHSUMED a constant score has MAP .427, and .307 in expectation. A method with many ties is paid for that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data.stored import StoredCollection
from gradrank.evaluation.conventions import in_expectation
from gradrank.evaluation.judgements import read_judgements
from gradrank.evaluation.metrics import compute, metric_label
from gradrank.evaluation.per_query import QueryValues

CONSTANT = "constant"  # every document has the same score: no method, the row that others are held against
TELLING = 0.1  # of half the 95% interval, from which on a dependence is worth a warning
NAMED = 3  # methods, at most, in a sentence

Values = Mapping[str, QueryValues]  # by convention


def constant_score(data: Path, metrics: Sequence[str], conventions: Iterable[str]) -> dict[str, QueryValues]:
    """The values of a constant score on the test parts of a stored collection, by convention."""
    stored = StoredCollection.open(data)
    tests = [read_judgements(stored, parts["test"]) for parts in stored.folds]
    folds = np.repeat(np.arange(1, len(tests) + 1), [len(test.qids) for test in tests])
    qids = np.concatenate([test.ids for test in tests])
    found = {}
    for convention in conventions:
        own = [
            compute(metrics, np.zeros(len(test.labels)), test.labels, test.offsets, convention, test.docids)
            for test in tests
        ]
        joined = {metric: np.concatenate([each[metric] for each in own]) for metric in metrics}
        found[convention] = QueryValues(folds, qids, joined)
    return found


def file_order(measured: Mapping[str, Values], convention: str) -> Iterator[dict[str, Any]]:
    """A row a method and metric that was measured in expectation as well.

    Keys: `convention`, `model`, `metric`, `mean` (in file order), `expected`, `difference`, `half_width` (of the mean's
    95% interval), `share` (the difference in half widths).
    """
    other = in_expectation(convention)
    for model, own in measured.items():
        if other not in own:
            continue
        for metric in own[convention].values:
            mean, expected = own[convention].mean(metric), own[other].mean(metric)
            if np.isnan(expected):
                continue
            half = own[convention].half_width(metric)
            share = abs(mean - expected) / half if half > 0 else np.nan
            row = {"convention": convention, "model": model, "metric": metric, "mean": mean}
            row |= {"expected": expected, "difference": mean - expected}
            yield row | {"half_width": half, "share": share}


def telling(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that depend on the file's order by more than TELLING, the most dependent first."""
    found = [row for row in rows if row["share"] is not None and row["share"] > TELLING]
    return sorted(found, key=lambda row: -row["share"])


def warning(rows: Iterable[dict[str, Any]]) -> str | None:
    """What to say of the methods of `file_order` whose values the file's order moves; None where there are none."""
    found = telling(rows)
    methods = list(dict.fromkeys(row["model"] for row in found if row["model"] != CONSTANT))
    if not methods:
        return None
    worst = [next(row for row in found if row["model"] == model) for model in methods[:NAMED]]
    named = "; ".join(f"`{row['model']}`, {_both(row)}" for row in worst)
    constant = [row for row in found if row["model"] == CONSTANT]
    return (
        "The file's order decides among equal scores. It moves "
        f"{'one method' if len(methods) == 1 else f'{len(methods)} methods'} by more than a tenth of the ± beside the "
        f"value: {named}{'; ...' if len(methods) > NAMED else ''}."
        + (f" A constant score: {_both(max(constant, key=_moved))}." if constant else "")
    )


def _both(row: Mapping[str, Any]) -> str:
    return f"{metric_label(row['metric'])} {row['mean']:.4f} ({row['expected']:.4f} in expectation)"


def _moved(row: Mapping[str, Any]) -> float:
    return abs(row["difference"])
