"""Commands that use data and models: init, evaluate, predict and export."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradrank.base.files import atomic
from gradrank.cli.options import USE, Convention, Data, Docid, Ignore, Label, Query, ScoresForm, example, use_one_thread

if TYPE_CHECKING:
    import polars as pl

commands = typer.Typer()


@commands.command(rich_help_panel=USE, epilog=example("gradrank init my_study --data /path/to/data"))
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write. It is made if it does not exist.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Your own data: a folder in LETOR's layout, or one file. By default, the shipped data sets are used."
        ),
    ] = None,
) -> None:
    """Write params.yaml, Snakefile, dvc.yaml and profiles into a folder.

    Afterwards, `snakemake` runs the benchmark in that folder. Existing files are never overwritten.
    """
    from gradrank.config.project_folder import init as run
    from gradrank.config.project_folder import next_command

    for path in run(folder, data):
        typer.echo(path)
    typer.echo(f"\nNext: {next_command(folder)}")


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank evaluate --scores run.txt --data qrels.txt --convention trec --metrics ndcg@10,map"),
)
def evaluate(
    scores: Annotated[Path, typer.Option(help="Scores: one per line, a TREC run, or Parquet.")],
    data: Annotated[
        Path, typer.Option(help="Data in any form that `parse` reads, a stored collection, or TREC's qrels.")
    ],
    convention: Convention = "letor4",
    metrics: Annotated[
        str | None, typer.Option(help="Metrics, such as 'ndcg@10,map,err@5'. By default, LETOR's own tables.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Parquet file for the values per query.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="A second score file: print how well both rankings agree (Kendall's tau, Spearman's rho)."),
    ] = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
) -> None:
    """Evaluate a score file: the mean of each metric over queries, under a named convention.

    Documents that a TREC run leaves out are counted on standard error.
    """
    from gradrank.data.tables.roles import Columns
    from gradrank.evaluation.evaluate import LETOR_TABLES, evaluate_file, letor_report

    columns = Columns(query, label, docid)
    chosen = None if metrics is None else [name.strip() for name in metrics.split(",")]
    names = chosen or [name for table in LETOR_TABLES for name in table.values()]
    if chosen is None:
        typer.echo(letor_report(scores, data, convention, columns=columns), nl=False)
    agreement = None
    if against is not None:
        from gradrank.evaluation.agreement import agreement as run_agreement

        agreement = run_agreement(scores, against, data, columns=columns).drop("qid")
    if chosen or out:
        values = evaluate_file(scores, data, convention, names, columns=columns)
        if chosen:
            _echo_means(values.select(names), convention)
        if agreement is not None:
            values = values.hstack(agreement)
        if out:
            with atomic(out) as partial:
                values.write_parquet(partial)
    if agreement is not None:
        _echo_means(agreement, f"against {against}")


def _echo_means(values: "pl.DataFrame", description: str) -> None:
    """Print one line per column: its name, its mean over queries, and the description."""
    for column in values:
        mean = column.mean()
        typer.echo(f"{column.name}\t{'undefined' if mean is None else f'{mean:.4f}'}\t{description}")


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank predict --model results/mq2007/lambdamart/fold1 --input new.csv --out scores.txt"),
)
def predict(
    model: Annotated[Path, typer.Option(help="A trained fold, such as results/mq2007/lambdamart/fold1.")],
    input: Annotated[Path, typer.Option(help="LETOR or SVMlight text, Parquet, CSV or TSV.")],
    out: Annotated[Path | None, typer.Option(help="File to write. By default, standard output.")] = None,
    form: Annotated[
        ScoresForm, typer.Option(help="letor: one score per line, in the order of the rows. trec: a TREC run.")
    ] = "letor",
    query: Query = None,
    docid: Docid = None,
    ignore: Ignore = None,
) -> None:
    """Score new data with a trained model.

    In a table, features are found by the names that they had in training.
    """
    use_one_thread()
    from gradrank.data.tables.roles import Columns
    from gradrank.evaluation.predict import predict as run

    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    run(model, input, out, form, columns if columns.named() else None)


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank export results/mq2007/lambdamart --data data/parquet/mq2007 --out rankings"),
)
def export(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>/<model>, with fold1, fold2, ...")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for fold<k>.run.txt, .qrels.txt and .scores.txt.")],
) -> None:
    """Write a model's test rankings for other evaluation programs: TREC run and qrels, and LETOR scores."""
    from gradrank.evaluation.export import export_model

    for path in export_model(folder, data, out):
        typer.echo(path)
