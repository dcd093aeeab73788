"""A guard that prevents models from opening the files of the test part during fitting and scoring.

The guard is an audit hook (sys.addaudithook). It detects files that are opened through Python: by `open`, `os.open`,
NumPy, pathlib, and code that uses one of these. It does not detect files that native code (Polars, pyarrow) or another
process opens. Neither does it detect that a copy of the data is opened, such as the downloaded text files, or that a
model opens a file while its module is imported.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError


class Guard:
    """A guard for one block of code: the files of the test part, the name of the model, and the refused attempts."""

    def __init__(self, files: Iterable[Path], model: str) -> None:
        self.model = model
        self.files = {_identity(path): path for path in files}
        self.refused: list[Path] = []

    def refuse(self, path: Any) -> None:
        """Raise GradrankError if `path` is a file of the test part, or a link to such a file."""
        try:
            test_file = self.files.get(_identity(path))
        except (OSError, ValueError, TypeError):
            return
        if test_file is not None:
            self.refused.append(test_file)
            raise self.error(test_file)

    def error(self, path: Path) -> GradrankError:
        return GradrankError(
            f"{self.model}: the model opens {path}, a file of this fold's test part. Fix: use only the arguments of "
            "`fit` and `score`"
        )


@contextmanager
def guard_test_part(files: Iterable[Path], model: str) -> Iterator[None]:
    """Raise GradrankError if this process opens one of the existing `files` within the block.

    model: name for error messages. If the model catches the error, the error is raised again at the end of the block.
    """
    global _active_guard
    _add_hook()
    guard = _active_guard = Guard(files, model)
    try:
        yield
        if guard.refused:
            raise guard.error(guard.refused[0])
    finally:
        _active_guard = None


_active_guard: Guard | None = None


@cache
def _add_hook() -> None:
    """Add the hook once per process, because an audit hook cannot be removed."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple) -> None:
    if event == "open" and _active_guard is not None and not isinstance(arguments[0], int):
        _active_guard.refuse(arguments[0])


def _identity(path: Any) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - the path may be bytes
    return status.st_dev, status.st_ino
