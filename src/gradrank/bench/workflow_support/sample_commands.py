"""Commands of gradrank that compute samples again, each in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gradrank.bench.config.code_digest import PACKAGE


def run_command(
    arguments: Sequence[str], folder: Path, log: Path, source: Path = PACKAGE.parent, limit: int | None = None
) -> bool:
    """Run a command of gradrank in `folder`, write its output to `log`, and return whether it succeeded.

    source: the folder that contains the package, which may be that of another commit. limit: processor time in seconds,
    after which the command is ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "gradrank", *arguments]
    if limit is not None:
        command = ["bash", "-c", f'ulimit -t {limit}; exec "$@"', "bash", *command]
    with log.open("w") as stream:
        return (
            subprocess.run(command, cwd=folder, env=with_source(source), stdout=stream, stderr=stream).returncode == 0
        )


def with_source(source: Path) -> dict[str, str]:
    """Return the environment of a process that imports the package from the folder `source`."""
    return os.environ | {"PYTHONPATH": str(source)}
