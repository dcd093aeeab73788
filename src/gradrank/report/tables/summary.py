"""A data set's results in numbers: summary.json, summary.md and queries.parquet (all in git), and tables as CSV,
Markdown and LaTeX."""

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
from gradrank.report.tables.measured import Measured
from gradrank.report.tables.summary_page import summary_page
from gradrank.report.tables.summary_tables import means, summary_tables
from gradrank.report.tables.writing import write_table


def summary(folder: Path, models: Sequence[str], convention: str, data: Path | None = None) -> None:
    """Write summary.json, summary.md, queries.parquet and tables/ into `folder`, which is results/<dataset>.

    models: those to compare, each with its per_query.parquet. convention: the primary one, of summary.json
    and summary.md; the tables hold every convention that was measured. Every metric that was measured is shown.
    data: the Parquet collection; with it, what short lists do to the metrics is counted, and warned of, and a constant
    score is measured as the methods are.
    Raises GradrankError for a missing file or convention, or methods evaluated on different queries.
    """
    own, models = DatasetFolder(Path(folder)), sorted(set(models))
    if not models:
        raise GradrankError(f"{folder}: no model to summarise")
    values = _read(own, models, convention)
    metrics, conventions = _measured(values)
    measured = Measured(own.name, convention, values)
    if data is not None:
        both = filter(None, (convention, in_expectation(convention)))
        short, constant = short_lists(data, metrics, conventions), constant_score(data, metrics, both)
        measured = replace(measured, short=tuple(short), constant=constant)
    tables = summary_tables(measured)
    for table in tables.values():
        write_table(table, own.tables_path)
    write_json(own.summary_path, means(tables["main"].rows, convention))
    write_compact(own, models, convention)
    with atomic(own.summary_page_path) as partial:
        partial.write_text(summary_page(own.name, convention, tables), encoding="utf-8")


def _measured(values: dict[str, dict[str, QueryValues]]) -> tuple[list[str], list[str]]:
    """The metrics and conventions of the first method, which are every one's."""
    own = next(iter(values.values()))
    return list(next(iter(own.values())).values), list(own)


def _read(dataset: DatasetFolder, models: Sequence[str], convention: str) -> dict[str, dict[str, QueryValues]]:
    """By method and convention; under the primary one, every method's queries are the same."""
    found = {}
    for model in models:
        dataset.method(model).check()
        found[model] = read_test_queries(dataset.method(model).per_query_path)
    for model, own in found.items():
        if convention not in own:
            hint = nearest(convention, list(own))
            raise GradrankError(f"{dataset.method(model).folder}: not evaluated under convention {convention!r}{hint}")
        if not own[convention].same_queries(found[models[0]][convention]):
            raise GradrankError(
                f"{dataset.folder}: {models[0]} and {model} were evaluated on different test queries: one of them is "
                "of an older data set; train and evaluate both again"
            )
    return found
