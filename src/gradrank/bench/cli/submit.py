"""The command `gradrank submit`, which prepares a method for the leaderboard."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from gradrank.cli.options import USE, Data, example

commands = typer.Typer()


@commands.command(
    rich_help_panel=USE,
    epilog=example(
        "gradrank submit results/mq2007/rocchio --data data/parquet/mq2007 --authors 'A. Author' --selection validation"
    ),
)
def submit(
    folder: Annotated[Path, typer.Argument(help="Folder results/<dataset>/<method> of an evaluated method.")],
    data: Data,
    authors: Annotated[str, typer.Option(help="Authors of the submission.")],
    selection: Annotated[
        Literal["validation", "default"],
        typer.Option(
            help="How the settings were chosen. validation: on the validation part of each fold. default: not on these "
            "data. Settings that were chosen on a test part cannot be submitted."
        ),
    ],
    scores: Annotated[
        str | None, typer.Option(help="Score files of another program to import first, such as 'runs/fold{fold}.txt'.")
    ] = None,
    summary: Annotated[str, typer.Option(help="One sentence that describes the method.")] = "",
    year: Annotated[int | None, typer.Option(help="Year of the publication.")] = None,
    publication: Annotated[Path | None, typer.Option(help="BibTeX file of the publication.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder to write. By default, submissions/<dataset>/<method>.")
    ] = None,
) -> None:
    """Prepare a method for the leaderboard: scores, values per query, code, description and checksums.

    Add the written folder to a pull request. `gradrank verify` checks it.
    """
    from gradrank.bench.provenance.submissions import import_method
    from gradrank.bench.provenance.submissions import submit as run
    from gradrank.bench.results import MethodFolder

    method = MethodFolder(folder)
    if scores is not None:
        import_method(method, scores, data)
    target = out or Path("submissions", method.dataset, method.name)
    run(
        method,
        data,
        target,
        {"authors": authors, "selection": selection, "summary": summary, "year": year},
        publication,
    )
    typer.echo(f"{target}\nNext: run `gradrank verify`, and open a pull request with this folder.")
