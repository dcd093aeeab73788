"""The command line: the commands of the library, of the workflow and of the contest, and messages about a full disk.

Each group of commands is a module of `gradrank.cli` or of this package. Each command imports the modules that it needs
when it runs, so that `gradrank --help` is fast.
"""

import atexit
import errno
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper, UnsupportedOperation
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from gradrank import __version__
from gradrank.base.errors import GradrankError, GradrankWarning
from gradrank.base.extensions import use_own_models
from gradrank.base.processor import pin
from gradrank.bench.cli import contest, project, results, stages
from gradrank.cli import clicks, inspect, use
from gradrank.cli.options import CommandGroup

MINIMUM_FREE_BYTES = 1_000_000  # with less free space, a job can write neither its results nor its log
FREE_SPACE = "free some space there, then run the same command again; finished results are kept"
CHECK_DISK = "check that disk or network folder, or write to another one; then run the same command again"
FIXES = {errno.ENOSPC: FREE_SPACE, errno.EDQUOT: FREE_SPACE, errno.EIO: CHECK_DISK}


def explanation(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return the message for an error of the operating system about a file or a disk; None for any other error.

    arguments: arguments of the command.

    Errors of Polars have no `errno`, but their message contains the error text of the operating system. Errors of
    SQLite and LightGBM have neither. An error with neither is attributed to a full disk if the disk is almost full,
    unless it is a GradrankError.
    """
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: {os.strerror(errno.ENAMETOOLONG)}. Fix: give a shorter name."
    if isinstance(error, OSError) and error.filename is None and error.errno in FIXES:
        # Outputs set the file name (gradrank.base.files). Python would report the unwritten text once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return f"standard output: {os.strerror(error.errno)}. Fix: {FIXES[error.errno]}."
    out = next((value for option, value in pairwise(arguments) if option == "--out"), ".")
    place = Path(str(getattr(error, "filename", None) or out)).absolute()
    # os.path.exists, unlike Path.exists, returns False for a name that is too long.
    existing = next(path for path in (place, *place.parents) if os.path.exists(path))  # noqa: PTH110
    free = shutil.disk_usage(existing).free
    number = getattr(error, "errno", None)
    if number is None:
        number = next((code for code in FIXES if os.strerror(code) in str(error)), None)
    if number is None and free < MINIMUM_FREE_BYTES and not isinstance(error, GradrankError):
        number = errno.ENOSPC
    if number in FIXES:
        return f"{place}: {os.strerror(number)} ({free / 1e6:.1f} MB are free). Fix: {FIXES[number]}."
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return (
            f"{error.filename}: {error.strerror}. Fix: check that this path exists and that you may read or write it."
        )
    return None


app = typer.Typer(
    cls=CommandGroup,
    help="A reproducible learning-to-rank benchmark, from PRank to LambdaMART.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (project, use, clicks, inspect, results, stages, contest):
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
        message = explanation(error, sys.argv[1:])
        if isinstance(error, UnsupportedOperation):
            message = "standard output is closed. Fix: do not close it with >&-, or send it to a file or /dev/null"
        if isinstance(error, MemoryError):
            from gradrank.data.file_forms import available

            message = (
                f"out of memory ({error}): this process may use {available() / 1e9:.1f} GB more. Fix: raise the limit"
            )
        if message is None and not isinstance(error, (GradrankError, OSError)):
            raise
        print(f"gradrank: error: {message or error}", file=sys.stderr)
        sys.exit(1)
