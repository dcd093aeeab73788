"""The rows of the tables in results/<dataset>/tables/.

main: a mean with half its 95% interval for each convention, method and metric. folds: the same means fold by
fold. published: each published number beside ours. pairwise: paired tests of every two methods. ranks: mean
ranks over queries. pr_curve: precision at eleven levels of recall.
"""

from collections.abc import Mapping
from typing import Any

from gradrank.errors import GradrankError
from gradrank.evaluation.per_query import QueryValues
from gradrank.evaluation.published import lookup
from gradrank.evaluation.statistics import compare_all, friedman_nemenyi

Row = dict[str, Any]

COLUMNS = {
    "main": "convention model metric mean half_width queries",
    "folds": "convention model metric fold mean queries",
    "published": "model method note metric convention published our_convention ours half_width difference "
    "verdict source",
    "pairwise": "convention metric model_a model_b queries difference low high wins ties losses "
    "t t_holm wilcoxon wilcoxon_holm",
    "ranks": "convention metric model rank critical_difference p",
    "pr_curve": "convention model recall precision",
}
TEXTS = {
    "convention",
    "model",
    "metric",
    "method",
    "note",
    "our_convention",
    "verdict",
    "source",
    "model_a",
    "model_b",
}
RECALL_LEVELS = {f"iprec@{tenth / 10}": tenth / 10 for tenth in range(11)}  # the metrics of the curve
PAIRED_METRICS = ("ndcg@10", "map")  # those tested: 40 methods make 780 pairs, each with two tests a metric
BOOTSTRAP_SEED = 0
LEVEL = 0.05  # of significance, after correction


def main_rows(convention: str, model: str, values: QueryValues) -> list[Row]:
    return [
        {
            "convention": convention,
            "model": model,
            "metric": metric,
            "mean": values.mean(metric),
            "half_width": values.half_width(metric),
            "queries": sum(queries for _, queries in values.fold_means(metric).values()),
        }
        for metric in _tabled(values)
    ]


def fold_rows(convention: str, model: str, values: QueryValues) -> list[Row]:
    return [
        {
            "convention": convention,
            "model": model,
            "metric": metric,
            "fold": fold,
            "mean": mean,
            "queries": queries,
        }
        for metric in _tabled(values)
        for fold, (mean, queries) in values.fold_means(metric).items()
    ]


def _tabled(values: QueryValues) -> list[str]:
    """The metrics with a column of their own; the curve's have a table of their own."""
    return [metric for metric in values.values if metric not in RECALL_LEVELS]


def pr_rows(convention: str, model: str, values: QueryValues) -> list[Row]:
    """Mean interpolated precision at each level of recall, where it was measured."""
    return [
        {"convention": convention, "model": model, "recall": recall, "precision": values.mean(metric)}
        for metric, recall in RECALL_LEVELS.items()
        if metric in values.values
    ]


def published_rows(dataset: str, model: str, primary: str, measured: dict[str, QueryValues]) -> list[Row]:
    """Each published number beside ours: under its own convention if we measured that, else the primary."""
    rows = []
    for metric in measured[primary].values:
        for there in lookup(dataset, model, metric):
            convention = there.convention if there.convention in measured else primary
            ours = measured[convention].mean(metric)
            half_width = measured[convention].half_width(metric)
            rows.append(
                {
                    "model": model,
                    "method": there.method,
                    "note": there.note,
                    "metric": metric,
                    "convention": there.convention,
                    "published": there.value,
                    "our_convention": convention,
                    "ours": ours,
                    "half_width": half_width,
                    "difference": ours - there.value,
                    "verdict": verdict(ours, half_width, there.value),
                    "source": there.source,
                }
            )
    return rows


def pairwise_rows(convention: str, measured: Mapping[str, QueryValues]) -> list[Row]:
    """Paired tests of every two methods of {method: values}; corrected for the pairs of one metric."""
    metrics = next(iter(measured.values())).values
    return [
        {"convention": convention, "metric": metric} | row
        for metric in PAIRED_METRICS
        if metric in metrics
        for row in compare_all(
            {model: each.values[metric] for model, each in measured.items()}, BOOTSTRAP_SEED
        )
    ]


def rank_rows(convention: str, measured: Mapping[str, QueryValues]) -> list[Row]:
    """Mean ranks of {method: values} with Nemenyi's critical difference and Friedman's p, best first."""
    metrics = next(iter(measured.values())).values
    rows = []
    for metric in PAIRED_METRICS:
        if metric not in metrics:
            continue
        try:
            found = friedman_nemenyi({model: each.values[metric] for model, each in measured.items()})
        except GradrankError:  # two methods or one query: no ranks to test
            continue
        rows += [
            {"convention": convention, "metric": metric, "model": model, "rank": rank}
            | {"critical_difference": found.critical_difference, "p": found.p}
            for model, rank in found.ranks.items()
        ]
    return rows


def verdict(ours: float, half_width: float, published: float) -> str:
    """`inside` if the published value lies inside our 95% interval, else `above` or `below`: where we are."""
    if abs(ours - published) <= half_width:
        return "inside"
    return "above" if ours > published else "below"


def best(means: dict[str, float], decimals: int = 4) -> set[str]:
    """The names with the highest mean as printed: equal at `decimals` digits is equally good."""
    shown = {name: round(mean, decimals) for name, mean in means.items() if mean == mean}
    return {name for name, mean in shown.items() if mean == max(shown.values())}


def means(main: list[Row], convention: str) -> dict[str, dict[str, float | None]]:
    """summary.json: by model and metric, to four decimals; null where a mean is not defined."""
    found: dict[str, dict[str, float | None]] = {}
    for row in main:
        if row["convention"] == convention:
            mean = round(row["mean"], 4) if row["mean"] == row["mean"] else None
            found.setdefault(row["model"], {})[row["metric"]] = mean
    return found
