"""Comparison of our values with published values of single runs, and the effect of the interval on the verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradrank.bench.folds.per_query import QueryValues
from gradrank.bench.literature.published import Published, lookup
from gradrank.bench.literature.published_runs import reach_of_a_run
from gradrank.bench.literature.verdict import NOT_REPRODUCED, RUNS, bands_of, judge
from gradrank.bench.report.tables.dataset_values import DatasetValues, headline_metric
from gradrank.bench.report.tables.table import Row
from gradrank.measures.metrics import metric_label

EVERY_FOLD = "mean"  # the value of the column `fold` in the row over all folds


def run_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per fold, and one for the mean over folds, for each published method with values of single runs.

    `low` and `high` are the bounds of the 95% interval for one further run. `inside` says whether our value lies
    between them. The metric is the headline metric.
    """
    for model, metric, published, values in _published(dataset):
        if not published.runs:
            continue
        about = {"model": model, "method": published.method, "metric": metric, "convention": published.convention}
        for fold, (ours, _) in values[model].fold_means(metric).items():
            if fold in published.runs:
                yield about | {"fold": str(fold)} | _compared(ours, {fold: published.runs[fold]})
        yield about | {"fold": EVERY_FOLD} | _compared(values[model].mean(metric), published.runs)


def _compared(ours: float, runs: Mapping[int, Any]) -> Row:
    """Return the cells of a row. The extremes and the deviation of the runs are known for a single fold only."""
    mean, reach = float(np.mean([np.mean(values) for values in runs.values()])), reach_of_a_run(runs)
    row: Row = {"ours": ours, "runs": min(map(len, runs.values())), "mean": mean}
    if len(runs) == 1:
        (values,) = runs.values()
        row |= {"deviation": float(np.std(values, ddof=1)), "least": min(values), "most": max(values)}
    inside = "yes" if abs(ours - mean) <= reach else "no"
    return row | {"low": mean - reach, "high": mean + reach, "inside": inside}


def band_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per published number and kind of interval: its half width, the verdict, and `inside`.

    The kinds are those of `bands_of`: over queries, over folds, and over published runs. `inside` counts the other
    methods that would be reproduced or consistent. The fewer, the sharper the verdict. The metric is the headline
    metric. A number that several sources print is listed once.
    """
    listed: set[tuple[str, str, float]] = set()
    for model, metric, published, values in _published(dataset):
        if (key := (model, published.method, published.value)) in listed:
            continue
        listed.add(key)
        own = bands_of(published, values[model], metric)
        for kind, band in own.items():
            judged = {
                name: judge(published.value, of.mean(metric), bands_of(published, of, metric)[kind])
                for name, of in values.items()
            }
            verdict = judged.pop(model).verdict
            yield {"model": model, "method": published.method, "metric": metric, "published": published.value} | {
                "of": kind,
                "half_width": band.half_width,
                "verdict": verdict,
                "inside": sum(other.verdict != NOT_REPRODUCED for other in judged.values()),
                "others": len(judged),
            }


def _published(dataset: DatasetValues) -> Iterator[tuple[str, str, Published, dict[str, QueryValues]]]:
    """Yield (model, metric, published number, values by method) for the headline metric under the number's convention.

    Numbers under a convention that was not measured are left out.
    """
    metric = headline_metric(dataset.first.values)
    for model, by_convention in dataset.values.items():
        for published in lookup(dataset.dataset, model, metric):
            if published.convention in by_convention:
                values = {name: own[published.convention] for name, own in dataset.values.items()}
                yield model, metric, published, values


def sharper_verdicts(bands: list[Row]) -> list[str]:
    """Return one sentence per published number with single runs: what each kind of interval says about it.

    bands: rows of `band_rows`.
    """
    by_number: dict[tuple[str, str, float], dict[str, Row]] = {}
    for row in bands:
        by_number.setdefault((row["model"], row["method"], row["published"]), {})[row["of"]] = row
    return [
        f"`{model}` compared with {method}: {kinds[RUNS]['verdict']}. The interval around the mean of the runs, "
        f"{metric_label(kinds[RUNS]['metric'])} {value:.4f}, contains "
        + ", ".join(
            f"{row['inside']} of {row['others']} other methods if it is over {kind} (± {row['half_width']:.4f})"
            for kind, row in kinds.items()
        )
        + "."
        for (model, method, value), kinds in by_number.items()
        if RUNS in kinds
    ]
