"""Tables of a data set of which only the committed files summary.json and queries.parquet exist."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gradrank.base.numbers import is_missing
from gradrank.base.results import DatasetFolder
from gradrank.evaluation.fold_weights import once_per_query
from gradrank.evaluation.per_query import QueryValues, read_compact
from gradrank.evaluation.statistics import holm, wilcoxon_of_pairs
from gradrank.report.tables.dataset_values import DatasetValues
from gradrank.report.tables.summary_tables import DEFINITIONS
from gradrank.report.tables.table import Row, Table

Summary = Mapping[str, Mapping[str, float | None]]


class CommittedResults(NamedTuple):
    """The content of the committed files.

    convention: the convention of the values. tables: rows of the tables `main`, `folds` and `published`. tests: rows of
    the paired tests of the headline metric.
    """

    convention: str
    tables: dict[str, list[Row]]
    tests: list[Row]


def read_committed(dataset: DatasetFolder, summary: Summary, convention: str, headline: str) -> CommittedResults:
    """Return the tables of a data set without tables.

    convention: the convention if there is no queries.parquet. headline: the metric of the paired tests. The means are
    those of summary.json. If queries.parquet is missing or belongs to other means, there are no intervals, no published
    values and no tests.
    """
    measured, values = read_compact(dataset.queries_path) if dataset.queries_path.is_file() else ("", {})
    if _belong_together(values, summary):
        convention = measured
    else:
        values = {}
    measures = DatasetValues(dataset.name, convention, {model: {convention: of} for model, of in values.items()})
    tables = {"main": list(_main(summary, measures)), "folds": [], "published": []}
    if values:
        tables["folds"] = list(_folds(values, convention))
        for name in ("published", "published_bands", "published_runs"):
            tables[name] = Table(name, "", DEFINITIONS[name].columns, DEFINITIONS[name].rows(measures)).rows
    tested = {model: of for model, of in values.items() if headline in of.values}
    return CommittedResults(convention, tables, paired_tests(tested, summary, headline))


def _belong_together(values: Mapping[str, QueryValues], summary: Summary) -> bool:
    """Return whether the values have the methods and the means of the summary, and all the same queries."""
    if values.keys() != summary.keys():
        return False
    first = next(iter(values.values()))
    return all(
        of.same_queries(first) and all(_is_mean(of.mean(metric), summary[model].get(metric)) for metric in of.values)
        for model, of in values.items()
    )


def _is_mean(mean: float, stored: float | None) -> bool:
    return np.isnan(mean) if stored is None else abs(mean - stored) < 6e-5  # half of the last digit, and rounding


def _main(summary: Summary, measures: DatasetValues) -> Iterator[Row]:
    """Yield rows of the table main. Metrics without values per query have no half width and no p value."""
    convention, p_best = measures.primary, measures.p_best if measures.values else {}
    for model, means in summary.items():
        values = measures.values[model][convention] if measures.values else None
        for metric, mean in means.items():
            half = values.half_width(metric) if values and metric in values.values else None
            row = {"convention": convention, "model": model, "metric": metric, "mean": mean}
            row |= {"half_width": None if is_missing(half) else half, "p_best": p_best.get((convention, model, metric))}
            yield row


def _folds(values: Mapping[str, QueryValues], convention: str) -> Iterator[Row]:
    """Yield rows of the table folds."""
    for model, of_model in values.items():
        for metric in of_model.values:
            for fold, (mean, _) in of_model.fold_means(metric).items():
                yield {"convention": convention, "model": model, "metric": metric, "fold": fold, "mean": mean}


def paired_tests(values: Mapping[str, QueryValues], summary: Summary, metric: str) -> list[Row]:
    """Return a row per pair of methods: the difference of the means and the corrected p value of Wilcoxon's test.

    These are the p values of the table pairwise, without its bootstrap intervals, which take most of its time. values:
    the values of each method, for the same queries. Queries without a value for every method are left out; if no query
    is left, there are no rows.
    """
    if not values:
        return []
    first = next(iter(values.values()))
    matrix = np.column_stack([of.values[metric] for of in values.values()])
    is_complete = ~np.isnan(matrix).any(axis=1)
    distinct, _ = once_per_query(matrix[is_complete], first.folds[is_complete], first.qids[is_complete])
    if not len(distinct):
        return []
    p_values = holm(wilcoxon_of_pairs(distinct))
    return [
        {"model_a": a, "model_b": b, "difference": (summary[a][metric] or 0.0) - (summary[b][metric] or 0.0)}
        | {"metric": metric, "wilcoxon_holm": float(p)}
        for (a, b), p in zip(combinations(values, 2), p_values, strict=True)
    ]
