"""Snakemake and its jobs in processes that have no need to import what others wrote.

Most of what a job of a small run costs is the import of Polars, Numba or MLflow. Snakemake runs jobs in Bash, which
first reads the file that BASH_ENV names, and takes a function `gradrank` for the program of this name.
"""

import fcntl
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from compileall import compile_dir
from functools import cache
from pathlib import Path
from typing import IO

from gradrank.pipeline import forked_call
from gradrank.pipeline.forked_call import SIZE, call

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"
FUNCTION = """\
gradrank() {{
    if [[ $COLD_WHILE ]] && compgen -G "$COLD_WHILE" >/dev/null
    then command gradrank "$@"
    else {forked} gradrank "$@"
    fi
}}
"""
PROGRAM = """\
#!/bin/sh
exec {forked} {name} "$@"
"""


def jobs(cold_while: str = "") -> dict[str, str]:
    """The environment in which a Snakemake's jobs are such processes; not those that start where a file matches."""
    return {"BASH_ENV": str(_folder() / "functions"), "COLD_WHILE": cold_while, "GRADRANK_FORK": "no"}


def write_program(path: Path) -> None:
    """A file that is `snakemake` or `gradrank` to whoever finds it in PATH."""
    path.write_text(PROGRAM.format(forked=shlex.join(command()), name=path.name))
    path.chmod(0o755)


def run(
    program: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess:
    """`snakemake ...` or `gradrank ...` in that folder: its exit code, and what it printed as text."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        descriptors = (0, printed.fileno(), errors.fileno())
        place = str(_folder() / "calls")
        code = call(place, program, list(arguments), str(folder), dict(environment), descriptors)
        return subprocess.CompletedProcess([program, *arguments], code, _text(printed), _text(errors))


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")


def command() -> list[str]:
    """What takes a program and its arguments, and runs it so."""
    return _command(_folder())


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-I", "-S", forked_call.__file__, str(folder / "calls")]


@cache
def _folder() -> Path:
    """Where the server's socket lies, of a path short enough for one: one server for all processes of a test run."""
    run = os.environ.setdefault("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")
    folder = Path(tempfile.gettempdir(), f"warm-{os.getuid()}-{run}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "calls").exists():
            (folder / "functions").write_text(FUNCTION.format(forked=shlex.join(_command(folder))))
            compile_dir(SOURCES, quiet=1)  # every checkout is a copy of them
            server = subprocess.Popen([sys.executable, str(HERE / "warm_server.py"), str(folder / "calls")])
            while not (folder / "calls").exists():
                assert server.poll() is None, "the server of warm processes did not start"
                time.sleep(0.01)
        kept = socket.socket(socket.AF_UNIX)
        kept.connect(str(folder / "calls"))
        kept.sendall(bytes(2 * SIZE))
        _kept.append(kept)
    return folder


_kept: list[socket.socket] = []  # the server ends when all of these are closed
