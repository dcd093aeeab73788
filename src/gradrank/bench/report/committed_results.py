"""Tables of a data set of which only the committed files summary.json and queries.parquet exist."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from gradrank.base.numbers import is_missing
from gradrank.bench.folds.per_query import QueryValues, read_compact
from gradrank.bench.report.tables.dataset_values import DatasetValues
from gradrank.bench.report.tables.summary_tables import DEFINITIONS
from gradrank.bench.report.tables.table import Row, Table
from gradrank.bench.results import DatasetFolder

Summary = Mapping[str, Mapping[str, float | None]]


class CommittedResults(NamedTuple):
    """The content of the committed files.

    convention: the convention of the values. tables: rows of the tables `main`, `folds`, `baseline`, `published`,
    `published_bands` and `published_runs`.
    """

    convention: str
    tables: dict[str, list[Row]]


def read_committed(dataset: DatasetFolder, summary: Summary, convention: str, baseline: str) -> CommittedResults:
    """Return the tables of a data set without tables.

    convention: the convention if there is no queries.parquet. baseline: the method that the others are compared with.
    The means are those of summary.json. If queries.parquet is missing or belongs to other means, there are no
    intervals, no published values and no tests.
    """
    measures = committed_values(dataset, summary, convention, baseline)
    convention, has_values = measures.primary, bool(measures.values)
    tables = {"main": list(mean_rows(summary, measures)), "folds": [], "published": []}
    if has_values:
        tables["folds"] = list(_folds(measures))
        for name in ("baseline", "published", "published_bands", "published_runs"):
            tables[name] = Table(name, "", DEFINITIONS[name].columns, DEFINITIONS[name].rows(measures)).rows
    return CommittedResults(convention, tables)


def committed_values(dataset: DatasetFolder, summary: Summary, convention: str, baseline: str) -> DatasetValues:
    """Return the values of queries.parquet under their primary convention.

    Without queries.parquet, and if it belongs to other means, there are no values, and the convention is `convention`.
    """
    measured, values = read_compact(dataset.queries_path) if dataset.queries_path.is_file() else ("", {})
    if not _belong_together(values, summary):
        return DatasetValues(dataset.name, convention, {}, baseline=baseline)
    by_convention = {model: {measured: of} for model, of in values.items()}
    return DatasetValues(dataset.name, measured, by_convention, baseline=baseline)


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


def mean_rows(summary: Summary, measures: DatasetValues) -> Iterator[Row]:
    """Yield rows of the table main. Metrics without values per query have no half width and no p value."""
    convention, best = measures.primary, measures.best if measures.values else {}
    for model, means in summary.items():
        values = measures.values[model][convention] if measures.values else None
        for metric, mean in means.items():
            half = values.half_width(metric) if values and metric in values.values else None
            row = {"convention": convention, "model": model, "metric": metric, "mean": mean}
            own = best.get((convention, model, metric))
            yield row | {"half_width": None if is_missing(half) else half, "p_best": own.p if own else None}


def _folds(measures: DatasetValues) -> Iterator[Row]:
    """Yield rows of the table folds."""
    convention = measures.primary
    for model, by_convention in measures.values.items():
        values = by_convention[convention]
        for metric in values.values:
            for fold, (mean, _) in values.fold_means(metric).items():
                yield {"convention": convention, "model": model, "metric": metric, "fold": fold, "mean": mean}
