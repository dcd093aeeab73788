"""Snakemake and its jobs in processes that have no need to import what others wrote.

Most of what a job of a small run costs is the import of Polars, Numba or MLflow. Snakemake runs jobs in Bash, which
first reads the file that BASH_ENV names, and takes a function `gradrank` for the program of this name.
"""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from warm_call import call

HERE = Path(__file__).parent
TRAINS = ("train", "tune", "refit", "study-job")
# What a training job has imported is in its specification: of these, all of them.
TRAINING = ("numpy", "polars", "pydantic", "typer")
REST = (
    "mlflow",
    "numba",
    "polars",
    "pydantic",
    "rich.console",
    "scipy.stats",
    "snakemake.cli",
    "typer",
    "yaml",
)
FUNCTION = """
gradrank() {{
    case "$1" in
        {trains}) {python} {training} gradrank "$@" ;;
        *) {python} {rest} gradrank "$@" ;;
    esac
}}
"""


def jobs() -> dict[str, str]:
    """The environment in which a Snakemake's jobs are such processes. Who kills a job kills none of them."""
    return {"BASH_ENV": str(_folder() / "functions")}


def run(
    program: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess:
    """`snakemake ...` or `gradrank ...` in that folder: its exit code, and what it printed as text."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        descriptors = (0, printed.fileno(), errors.fileno())
        place = _folder() / ("training" if program == "gradrank" and arguments[0] in TRAINS else "rest")
        code = call(str(place), program, arguments, str(folder), environment, descriptors)
        return subprocess.CompletedProcess([program, *arguments], code, _text(printed), _text(errors))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")


@cache
def _folder() -> Path:
    """Where the servers' sockets lie, of paths short enough for one; they are started where one is first needed."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    sockets = {"training": folder / "training", "rest": folder / "rest"}
    python = shlex.join([sys.executable, "-I", "-S", str(HERE / "warm_call.py")])
    (folder / "functions").write_text(FUNCTION.format(python=python, trains=" | ".join(TRAINS), **sockets))
    for name, modules in {"training": TRAINING, "rest": REST}.items():
        command = [sys.executable, str(HERE / "warm_server.py"), str(sockets[name]), *modules]
        _kept.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for server in _kept:
        server.stdout.readline()  # it listens
    return folder


_kept: list[subprocess.Popen] = []
