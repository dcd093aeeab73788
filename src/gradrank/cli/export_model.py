"""The command that exports a trained model: export-model."""

from pathlib import Path
from typing import Annotated

import typer

from gradrank.cli.options import USE, Docid, Ignore, Query, example, use_one_thread
from gradrank.export.lookup import format_names

commands = typer.Typer()


@commands.command(
    "export-model",
    rich_help_panel=USE,
    epilog=example("gradrank export-model results/mq2007/lambdamart/fold1 --to onnx --out model.onnx --check new.csv"),
)
def export_model(
    fold: Annotated[Path, typer.Argument(help="A trained fold, such as results/mq2007/lambdamart/fold1.")],
    to: Annotated[str, typer.Option(help=f"Format: {', '.join(format_names())}.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write. An existing file is replaced.")],
    names: Annotated[
        Path | None,
        typer.Option(
            help="File with one feature name per line. By default, those of the training data, or f1, f2, ..."
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Data in any form that `predict` reads: compare the scores of the file with gradrank's."),
    ] = None,
    query: Query = None,
    docid: Docid = None,
    ignore: Ignore = None,
) -> None:
    """Export a trained model to the format of another program.

    With --check, the file is read by an independent program, and the exit code is 1 if scores or their order differ.
    """
    use_one_thread()
    from gradrank.data.reader import batches, read_new
    from gradrank.data.tables.roles import Columns
    from gradrank.export.check import check as run_check
    from gradrank.export.export import export, feature_names, read_names
    from gradrank.training.trained_fold import TrainedFold

    trained = TrainedFold.load(fold)
    used = feature_names(trained, None if names is None else read_names(names))
    columns = Columns(query, docid=docid, ignore=tuple(ignore or ()))
    reading = None if check is None else read_new(check, trained.schema, columns if columns.named() else None)
    files = export(trained, to, out, used)
    for path in files:
        typer.echo(path)
    if reading is not None:
        typer.echo(run_check(trained, to, files[0], batches(reading), used))
