"""Commands of a project folder: init, new and export."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from gradrank.cli.new_files import Kind
from gradrank.cli.options import USE, Data, example

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
    git: Annotated[
        bool,
        typer.Option("--git", help="Create a git repository if the folder is in none, and commit the written files."),
    ] = False,
    dvc: Annotated[
        bool, typer.Option("--dvc", help="Create a DVC repository for `dvc exp run` if the folder is in none.")
    ] = False,
) -> None:
    """Write params.yaml, Snakefile, dvc.yaml and profiles into a folder.

    Afterwards, `snakemake` runs the benchmark in that folder. Existing files are never overwritten. In the folder of an
    existing project, --git and --dvc add what is missing.
    """
    from gradrank.bench.config.project_folder import check, missing_tools, next_command, set_up
    from gradrank.bench.config.project_folder import init as run

    check(folder, git, dvc)
    files = run(folder, data, complete=git or dvc)
    for line in (*files, *set_up(folder, files, git, dvc), "", *missing_tools()):
        typer.echo(line)
    typer.echo(f"Next: {next_command(folder, dvc)}")
    if not dvc:
        typer.echo(f"To compare versions with DVC: gradrank init --git --dvc {shlex.quote(str(folder))}")


@commands.command(rich_help_panel=USE, epilog=example("gradrank new method my_method"))
def new(
    kind: Annotated[Kind, typer.Argument(help="Kind of the new file.")],
    name: Annotated[str, typer.Argument(help="Its name: lower-case letters, digits and _.")],
    project: Annotated[
        Path, typer.Option(help="Folder of the project, of a package, or a checkout of gradrank.")
    ] = Path(),
) -> None:
    """Write the file of a new method, loss, metric or study, and its test, from a template.

    The files are complete and the test passes, so that each edit can be tested. Existing files are never overwritten.
    """
    from gradrank.cli.new_files import next_step, write_new

    paths = write_new(kind, name, project)
    for path in paths:
        typer.echo(path)
    test = next(path for path in paths if path.name == f"test_{name}.py")
    typer.echo(f"Test: pytest {shlex.quote(str(test))}")
    typer.echo(f"Next: {next_step(kind, name, project)}")


@commands.command(
    rich_help_panel=USE,
    epilog=example("gradrank export results/mq2007/methods/lambdamart --data data/parquet/mq2007 --out rankings"),
)
def export(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>/methods/<model>, with fold1, fold2, ...")],
    data: Data,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for fold<k>.run.txt, .qrels.txt and .scores.txt.")
    ],
) -> None:
    """Write a model's test rankings for other evaluation programs: TREC run and qrels, and LETOR scores."""
    from gradrank.bench.folds.score_exchange import export_model

    for path in export_model(folder, data, out):
        typer.echo(path)
