"""Differences of all methods from one baseline, with paired intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb
from statistics import median

from gradrank.base.numbers import is_missing, number
from gradrank.bench.report.tables.dataset_values import RECALL_LEVELS, DatasetValues, headline_metric, with_detectable
from gradrank.bench.report.tables.numbers import descending
from gradrank.bench.report.tables.table import Row
from gradrank.comparison.significance.decision import decide_row
from gradrank.comparison.statistics import LEVEL, compare_all
from gradrank.measures.metrics import metric_label

MARKS = {"better": " ▲", "worse": " ▼"}
NOTE = (
    "The difference is that of the means over folds, method minus baseline. Its 95% bootstrap interval is over test "
    "queries and is meant for comparing the two methods, unlike the interval of a mean. It is not corrected for the "
    f"number of methods. ▲: better, ▼: worse than the baseline, p < {LEVEL:g} in Wilcoxon's test with Holm's "
    "correction for the methods of the table, and an interval that excludes 0."
)


def baseline_among(methods: Mapping[str, float | None], baseline: str) -> str:
    """Return the baseline if it is one of the methods, otherwise the method with the highest mean. methods: means."""
    return baseline if baseline in methods else min(methods, key=lambda model: (descending(methods[model]), model))


def baseline_rows(dataset: DatasetValues) -> Iterator[Row]:
    """Yield one row per metric and method other than the baseline, under the primary convention.

    `decision` says whether the method is better or worse than the baseline. It is None if the baseline is not among the
    methods: the method with the highest mean, which is then the baseline, was chosen by the same values.
    """
    headline = headline_metric(dataset.first.values)
    means = {model: own[dataset.primary].mean(headline) for model, own in dataset.values.items()}
    baseline = baseline_among(means, dataset.baseline)
    for metric in dataset.first.values:
        values = {model: own[dataset.primary] for model, own in dataset.values.items()}
        tested = {model: own.values[metric] for model, own in values.items() if own.queries(metric)}
        if metric in RECALL_LEVELS or baseline not in tested:
            continue
        rows = compare_all(tested, dataset.first.folds, queries=dataset.first.qids, baseline=baseline)
        comparisons = len(rows) if baseline == dataset.baseline else comb(len(rows) + 1, 2)
        for row in rows:
            about = {"convention": dataset.primary, "metric": metric, "model": row["model_a"], "baseline": baseline}
            decision = decide_row(row) if baseline == dataset.baseline else None
            yield about | with_detectable(row, comparisons) | {"decision": decision}


def difference_text(row: Row) -> str:
    """Return a difference with its interval and decision as text, such as `+0.0162 [+0.0101, +0.0220] ▲`."""
    text = f"{number(row['difference'], '+.4f')} [{number(row['low'], '+.4f')}, {number(row['high'], '+.4f')}]"
    return text + MARKS.get(row["decision"], "")


def detectable_sentence(compared: Sequence[tuple[str, Iterable[Row]]]) -> list[str]:
    """Return a list with one sentence on the differences that could have been detected, or [] without such values.

    compared: what a method is compared with, and rows with the keys `metric` and `detectable`.
    """
    clauses = []
    for versus, rows in compared:
        by_metric: dict[str, list[float]] = {}
        for row in rows:
            if not is_missing(row.get("detectable")):
                by_metric.setdefault(row["metric"], []).append(row["detectable"])
        values = [f"{number(median(found))} ({metric_label(metric)})" for metric, found in by_metric.items()]
        clauses += [f"from {versus}, {', '.join(values)}"] * bool(values)
    return [f"True differences that are detected with a probability of 80%: {'; '.join(clauses)}."] * bool(clauses)
