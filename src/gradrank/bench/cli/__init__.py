"""The command line: the commands of the library, of the workflow and of the contest.

Each group of commands is a module of `gradrank.cli` or of this package. Each command imports the modules that it needs
when it runs, so that `gradrank --help` is fast.
"""

import atexit
import os
import sys
import warnings
from io import TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import Annotated

import typer

from gradrank import __version__
from gradrank.base.errors import GradrankError
from gradrank.base.extensions import use_own_models
from gradrank.base.processor import pin
from gradrank.base.warning_categories import GradrankWarning
from gradrank.bench.cli import contest, project, report_stages, results, stages, submit, table
from gradrank.cli import export_model, inspect, use
from gradrank.cli.outputs import CommandGroup

app = typer.Typer(
    cls=CommandGroup,
    help="A reproducible learning-to-rank benchmark, from PRank to LambdaMART.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (project, use, export_model, submit, inspect, results, table, stages, report_stages, contest):
    app.add_typer(group.commands)  # without a name, so its commands are called `gradrank COMMAND`


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"gradrank {__version__}")
        raise typer.Exit


@app.callback()
def prepare(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find the user's models, and set the instruction set and the folder of compiled code, before any command runs."""
    use_own_models()
    pin()
    warnings.simplefilter("ignore", GradrankWarning)  # commands print the notes themselves, without a line of code


def main() -> None:
    """Run the command line. If it succeeds, end the process without freeing its objects one by one.

    Polars, MLflow and their imports create a million objects. Freeing them takes a fifth of the time of a small job.
    """
    succeeded = False
    if sys.stdout is None:  # closed by the caller; a command that prints must not end as if it had printed
        sys.stdout = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - for reading, so that writing is an error

    @atexit.register  # functions are called in reverse order, so this one is called last
    def _end() -> None:
        if succeeded:
            for stream in filter(None, (sys.stdout, sys.stderr)):  # None if the caller closed the stream
                stream.flush()
            os._exit(0)

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(errors="backslashreplace")  # a table may have signs that the encoding lacks
    try:
        answer()
    except SystemExit as end:
        succeeded = not end.code
        raise


def answer() -> None:
    """Run the command line. An error that a user can fix is printed without a traceback, and the exit code is 1."""
    try:
        app()
    except Exception as error:
        from gradrank.bench.cli.disk_errors import explanation

        message = explanation(error, sys.argv[1:])
        if isinstance(error, UnsupportedOperation):
            message = "standard output is closed. Fix: do not close it with >&-, or send it to a file or /dev/null"
        if isinstance(error, MemoryError):
            from gradrank.data.memory import available

            message = (
                f"out of memory ({error}): this process may use {available() / 1e9:.1f} GB more. Fix: raise the limit"
            )
        if message is None and not isinstance(error, (GradrankError, OSError)):
            raise
        print(f"gradrank: error: {message or error}", file=sys.stderr)
        sys.exit(1)
