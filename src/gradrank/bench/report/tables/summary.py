"""Summarise a data set: write its tables, and the files summary.json, summary.md and queries.parquet for git."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, write_json
from gradrank.bench.folds.file_order import constant_score
from gradrank.bench.folds.per_query import QueryValues, write_compact
from gradrank.bench.folds.primary import BASELINE
from gradrank.bench.report.tables.dataset_values import DatasetValues
from gradrank.bench.report.tables.method_table import Block, table_by_headline
from gradrank.bench.report.tables.stored_values import constant_folds, read_methods
from gradrank.bench.report.tables.summary_page import summary_page
from gradrank.bench.report.tables.summary_tables import feature_cautions, means, summary_tables
from gradrank.bench.report.tables.table import Row
from gradrank.bench.report.tables.table_files import write_data, write_latex, write_table
from gradrank.bench.results import DatasetFolder
from gradrank.data.folds.held_out import held_out_sentence
from gradrank.data.stored import StoredCollection
from gradrank.measures.conventions import in_expectation
from gradrank.measures.short_lists import short_lists


def summary(
    folder: Path,
    models: Sequence[str],
    convention: str,
    data: Path | None = None,
    members: Sequence[str] = (),
    baseline: str = BASELINE,
) -> None:
    """Write summary.json, summary.md, queries.parquet and tables/ into `folder`, which is results/<dataset>.

    models: names of the methods to compare; each must have a per_query.parquet. convention: the primary
    convention, which summary.json and summary.md use. The tables contain every measured convention. All measured
    metrics are included. data: folder of the Parquet collection. If given, a constant score is evaluated, and the
    queries whose value is 0 only because they have few documents are counted. If there are many such queries,
    summary.md contains a warning. If the data have no validation file, summary.md says which queries were held out.
    members: methods that were trained only because others combine their scores; summary.md names them. baseline: the
    method that the others are compared with; if it is not among the methods, the one with the highest mean.
    Raises GradrankError if a file or convention is missing, or if methods were evaluated on different queries.
    """
    dataset, models = DatasetFolder(Path(folder)), sorted(set(models))
    if not models:
        raise GradrankError(f"{folder}: no model to summarise. Fix: name at least one in --models")
    values = read_methods(dataset, models, convention)
    metrics, conventions = _metrics_and_conventions(values)
    equal = {model: constant_folds(dataset.method(model)) for model in models}
    measured = DatasetValues(dataset.name, convention, values, baseline=baseline, constant_folds=equal)
    held_out, about_features = None, []
    if data is not None:
        both = filter(None, (convention, in_expectation(convention)))
        short, constant = short_lists(data, metrics, conventions), constant_score(data, metrics, both)
        measured = replace(measured, short=tuple(short), constant=constant)
        description = StoredCollection.open(data).description
        held_out, about_features = held_out_sentence(description), feature_cautions(description)
    tables = summary_tables(measured)
    for name in tables:
        for path in dataset.tables_path.glob(f"{name}-*.tex"):  # the convention may have left params.yaml
            path.unlink()
    for name, table in tables.items():
        if name == "main":
            write_data(table, dataset.tables_path)
        else:
            write_table(table, dataset.tables_path, dataset.name)
    write_latex("main", _method_tables(measured, tables["main"].rows), dataset.tables_path)
    write_json(dataset.summary_path, means(tables["main"].rows, convention))
    write_compact(dataset, models, convention)
    with atomic(dataset.summary_page_path) as partial:
        text = summary_page(dataset.name, convention, tables, members, held_out, about_features)
        partial.write_text(text, encoding="utf-8")


def _method_tables(dataset: DatasetValues, main: Sequence[Row]) -> dict[str, str]:
    """Return a dict from convention to the LaTeX table of all methods and metrics. main: rows of the table main."""
    folds, count = len(np.unique(dataset.first.folds)), len(dataset.first.qids)
    texts = {}
    for convention in dict.fromkeys(row["convention"] for row in main):
        rows = [row for row in main if row["convention"] == convention]
        texts[convention] = table_by_headline([Block(dataset.dataset, convention, folds, count, rows)]).to_latex()
    return texts


def _metrics_and_conventions(values: dict[str, dict[str, QueryValues]]) -> tuple[list[str], list[str]]:
    """Return the metrics and the conventions of the first method, because all methods have the same."""
    by_convention = next(iter(values.values()))
    return list(next(iter(by_convention.values())).values), list(by_convention)
