"""A guard that refuses to open the test part's files in this process while a model is fitted and while it scores.

It is an audit hook (sys.addaudithook), so it sees what is opened by Python: `open`, `os.open`, NumPy, pathlib and what
uses them. It does not see what a library opens without Python (Polars, pyarrow), what another process reads, a copy of
the data such as the parsed text, or what a model's file reads when it is imported.
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
    """The files of a fold's test part, the model that must not open them, and those that it tried to open."""

    def __init__(self, files: Iterable[Path], model: str) -> None:
        self.model = model
        self.files = {_identity(path): path for path in files}
        self.refused: list[Path] = []

    def refuse(self, path: Any) -> None:
        """Raise GradrankError if `path` is one of the files, by whatever name."""
        try:
            found = self.files.get(_identity(path))
        except (OSError, ValueError, TypeError):
            return
        if found is not None:
            self.refused.append(found)
            raise self.error(found)

    def error(self, path: Path) -> GradrankError:
        return GradrankError(
            f"{self.model}: it opens {path}, which this fold tests on. Fix: use only the data that `fit` and `score` "
            "are given"
        )


@contextmanager
def guard_test_part(files: Iterable[Path], model: str) -> Iterator[None]:
    """Raise GradrankError if this process opens one of `files` within the block; the files exist.

    If the model catches that error, it is raised again at the end of the block.
    """
    global _in_force
    _add_hook()
    _in_force = Guard(files, model)
    try:
        yield
        if _in_force.refused:
            raise _in_force.error(_in_force.refused[0])
    finally:
        _in_force = None


_in_force: Guard | None = None


@cache
def _add_hook() -> None:
    """Add the hook once per process: an audit hook cannot be removed."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple) -> None:
    if event == "open" and _in_force is not None and not isinstance(arguments[0], int):
        _in_force.refuse(arguments[0])


def _identity(path: Any) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - of bytes and others, too
    return found.st_dev, found.st_ino
