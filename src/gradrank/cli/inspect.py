"""Commands that show data and models: inspect, models and datasets."""

from pathlib import Path
from typing import Annotated

import typer

from gradrank.cli.options import (
    INSPECT,
    Categorical,
    Docid,
    Features,
    FeaturesFrom,
    FoldColumn,
    Folds,
    GradeEdges,
    GroupRows,
    Header,
    Ignore,
    Keep,
    Label,
    Query,
    Repeated,
    Validation,
    Weight,
    declared_columns,
    example,
    fold_options,
)

commands = typer.Typer()

STATES = {True: "ok", False: "DIFFERS", None: "note"}


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank inspect train.csv"))
def inspect(
    path: Annotated[
        Path, typer.Argument(help="A file or a folder in a form that `parse` reads, or a stored collection.")
    ],
    features: Features = None,
    query: Query = None,
    label: Label = None,
    docid: Docid = None,
    ignore: Ignore = None,
    keep: Keep = None,
    header: Header = True,
    group_rows: GroupRows = False,
    grade_edges: GradeEdges = None,
    weight: Weight = None,
    features_from: FeaturesFrom = 1,
    repeated: Repeated = "error",
    categorical: Categorical = None,
    folds: Folds = None,
    fold: FoldColumn = None,
    validation: Validation = None,
) -> None:
    """Print how gradrank understands data: the role, type and range of each column, and the folds of a collection.

    Nothing is written. If `gradrank fetch` made the folder and no column is declared, the form of the files is taken
    from the catalogue.
    """
    from gradrank.data.inspect import inspect as run
    from gradrank.data.sources.fetch import entry_of
    from gradrank.data.tables.roles import Columns

    columns = declared_columns(
        query, label, docid, ignore, keep, header, group_rows, grade_edges, weight, features_from, repeated, categorical
    )
    entry = entry_of(path)
    if entry is not None and columns == Columns():
        columns, features = entry.columns(), features or entry.declared_features
    for line in run(path, columns, features, fold_options(folds, fold, validation, header)):
        typer.echo(line)


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank models lambdamart"))
def models(
    name: Annotated[str | None, typer.Argument(help="Show only this model, with its parameters.")] = None,
    accepts: Annotated[
        str | None,
        typer.Option(help="Show only models that accept data with these properties, such as missing,weights."),
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="Also show what each model accepts and needs.")] = False,
) -> None:
    """List the models, one line each. With a name: description, parameters, defaults and sources."""
    from gradrank.cli.listings import list_models, show_model

    if name is None:
        list_models(long, accepts.split(",") if accepts else [])
    else:
        show_model(name)


@commands.command(rich_help_panel=INSPECT, epilog=example("gradrank datasets"))
def datasets() -> None:
    """List the data sets of the catalogue: size, licence, and how to get each."""
    from gradrank.cli.listings import list_datasets

    list_datasets()
