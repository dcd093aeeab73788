"""A data set's results in numbers: summary.json and summary.md (both in git), and tables as CSV and Markdown."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gradrank.errors import GradrankError, nearest
from gradrank.evaluation.per_query import QueryValues, read_test_queries
from gradrank.files import atomic, write_json
from gradrank.report.tables import rows as tables
from gradrank.report.tables.files import write_table
from gradrank.report.tables.markdown import summary_page
from gradrank.results import DataSet

MAIN_METRICS = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mean_ndcg", "map", "p@10")


def summarise(
    folder: Path, models: Sequence[str], convention: str, metrics: Iterable[str] = MAIN_METRICS
) -> None:
    """Write summary.json, summary.md and tables/ into `folder`, which is results/<dataset>.

    models: those to compare, each with its per_query.parquet. convention: the primary one, of summary.json
    and summary.md; the tables hold every convention that was measured. metrics: those wanted, where measured.
    Raises GradrankError for a missing file or convention, or methods evaluated on different queries.
    """
    own, models, metrics = DataSet(Path(folder)), sorted(set(models)), tuple(metrics)
    if not models:
        raise GradrankError(f"{folder}: no model to summarise")
    made: dict[str, list[tables.Row]] = {name: [] for name in tables.COLUMNS}
    primary: dict[str, QueryValues] = {}
    for model in models:
        measured = read_test_queries(own.method(model).per_query_path, metrics, tables.RECALL_LEVELS)
        if convention not in measured:
            hint = nearest(convention, list(measured))
            raise GradrankError(
                f"{own.method(model).folder}: not evaluated under convention {convention!r}{hint}"
            )
        primary[model] = measured[convention]
        if not primary[model].same_queries(primary[models[0]]):
            raise GradrankError(
                f"{folder}: {models[0]} and {model} were evaluated on different test queries: one of them is "
                "of an older data set; train and evaluate both again"
            )
        for name, values in measured.items():
            made["main"] += tables.main_rows(name, model, values)
            made["folds"] += tables.fold_rows(name, model, values)
            made["pr_curve"] += tables.pr_rows(name, model, values)
        made["published"] += tables.published_rows(own.name, model, convention, measured)
    made["pairwise"] = tables.pairwise_rows(convention, primary)
    made["ranks"] = tables.rank_rows(convention, primary)
    for name, rows in made.items():
        write_table(own.tables_path, name, rows)
    write_json(own.summary_path, tables.means(made["main"], convention))
    with atomic(own.summary_page_path) as partial:
        partial.write_text(summary_page(own.name, convention, made), encoding="utf-8")
