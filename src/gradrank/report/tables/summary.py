"""Summarise a data set: write its tables, and the files summary.json, summary.md and queries.parquet for git."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradrank.base.errors import GradrankError, nearest
from gradrank.base.files import atomic, write_json
from gradrank.base.results import DatasetFolder
from gradrank.evaluation.conventions import in_expectation
from gradrank.evaluation.file_order import constant_score
from gradrank.evaluation.per_query import QueryValues, read_test_queries, write_compact
from gradrank.evaluation.short_lists import short_lists
from gradrank.report.tables.dataset_values import DatasetValues
from gradrank.report.tables.summary_page import summary_page
from gradrank.report.tables.summary_tables import means, summary_tables
from gradrank.report.tables.table_files import write_table


def summary(folder: Path, models: Sequence[str], convention: str, data: Path | None = None) -> None:
    """Write summary.json, summary.md, queries.parquet and tables/ into `folder`, which is results/<dataset>.

    models: names of the methods to compare; each must have a per_query.parquet. convention: the primary
    convention, which summary.json and summary.md use. The tables contain every measured convention. All measured
    metrics are included. data: folder of the Parquet collection. If given, a constant score is evaluated, and the
    queries whose value is 0 only because they have few documents are counted. If there are many such queries,
    summary.md contains a warning.
    Raises GradrankError if a file or convention is missing, or if methods were evaluated on different queries.
    """
    dataset, models = DatasetFolder(Path(folder)), sorted(set(models))
    if not models:
        raise GradrankError(f"{folder}: no model to summarise. Fix: name at least one in --models")
    values = _read(dataset, models, convention)
    metrics, conventions = _metrics_and_conventions(values)
    measured = DatasetValues(dataset.name, convention, values)
    if data is not None:
        both = filter(None, (convention, in_expectation(convention)))
        short, constant = short_lists(data, metrics, conventions), constant_score(data, metrics, both)
        measured = replace(measured, short=tuple(short), constant=constant)
    tables = summary_tables(measured)
    for table in tables.values():
        write_table(table, dataset.tables_path)
    write_json(dataset.summary_path, means(tables["main"].rows, convention))
    write_compact(dataset, models, convention)
    with atomic(dataset.summary_page_path) as partial:
        partial.write_text(summary_page(dataset.name, convention, tables), encoding="utf-8")


def _metrics_and_conventions(values: dict[str, dict[str, QueryValues]]) -> tuple[list[str], list[str]]:
    """Return the metrics and the conventions of the first method, because all methods have the same."""
    by_convention = next(iter(values.values()))
    return list(next(iter(by_convention.values())).values), list(by_convention)


def _read(dataset: DatasetFolder, models: Sequence[str], convention: str) -> dict[str, dict[str, QueryValues]]:
    """Return the values per query. The outer keys are methods, the inner keys are conventions.

    Raises GradrankError if a method lacks the convention, or if the methods have different test queries.
    """
    values = {}
    for model in models:
        dataset.method(model).check()
        values[model] = read_test_queries(dataset.method(model).per_query_path)
    for model, by_convention in values.items():
        if convention not in by_convention:
            hint = nearest(convention, list(by_convention))
            raise GradrankError(
                f"{dataset.method(model).folder}: not evaluated under convention {convention!r}{hint}. "
                "Fix: evaluate the method under this convention, or choose another primary convention"
            )
        if not by_convention[convention].same_queries(values[models[0]][convention]):
            raise GradrankError(
                f"{dataset.folder}: {models[0]} and {model} were evaluated on different test queries, so one of them "
                "belongs to an older version of the data set. Fix: train and evaluate both again"
            )
    return values
