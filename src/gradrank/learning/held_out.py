"""The test part's files, out of reach of this process while a model is fitted and while it scores.

What opens files by Python (`open`, `os.open`, NumPy, pathlib and whoever uses them) is refused by an audit hook.
Polars, pyarrow and others open them by themselves, which Python does not see; Linux does (fanotify), and tells
afterwards which files this process has opened. Not seen are: what another process reads for a model; the same data
elsewhere, such as the text that was parsed; what a model's file reads when it is imported; and, on systems and file
systems without fanotify, what libraries open by themselves.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gradrank.errors import GradrankError

# linux/fanotify.h
CLOSE_ON_EXEC, DO_NOT_WAIT, REPORT_FILE = 0x1, 0x2, 0x200
MARK, OPENED = 0x1, 0x20
EVENT = struct.Struct("=IBBHQii")  # length, version, reserved, length of this, what happened, file, process
HERE = -100  # AT_FDCWD


class HeldOut:
    """Files of a fold's test part, the model that must not open them, and what it has opened all the same."""

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
            f"{self.model}: it opens {path}, which this fold tests on; a model may know of the data what `fit` and "
            "`score` are given, and no file of the test part"
        )


@contextmanager
def held_out(files: Iterable[Path], model: str) -> Iterator[None]:
    """While in force, no file of `files` (they exist) is opened in this process: that ends in a GradrankError.

    By Python's means at once, by others at the end; a model that catches the error is told at the end, too.
    """
    global _in_force
    _audited()
    _in_force = HeldOut(files, model)
    watches = {path: watch for path in _in_force.files.values() if (watch := _watch(path)) is not None}
    if len(watches) < len(_in_force.files):
        print(
            f"note: no fanotify for the test part of {model}: Python alone is kept from opening it",
            file=sys.stderr,
        )
    try:
        yield
        opened = _in_force.refused + [path for path, watch in watches.items() if _opened_here(watch)]
        if opened:
            raise _in_force.error(opened[0])
    finally:
        _in_force = None
        for watch in watches.values():
            os.close(watch)


_in_force: HeldOut | None = None


@cache
def _audited() -> None:
    """Once a process: an audit hook stays for good."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple) -> None:
    if event == "open" and _in_force is not None and not isinstance(arguments[0], int):
        _in_force.refuse(arguments[0])


def _identity(path: Any) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116 - of bytes and others, too
    return found.st_dev, found.st_ino


def _watch(path: Path) -> int | None:
    """A descriptor on which Linux tells who opens the file from now on; None where it cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "fanotify_init"):
        return None
    watch = libc.fanotify_init(CLOSE_ON_EXEC | DO_NOT_WAIT | REPORT_FILE, os.O_RDONLY)
    if watch < 0:
        return None
    if libc.fanotify_mark(watch, MARK, ctypes.c_uint64(OPENED), HERE, os.fsencode(path)) < 0:
        os.close(watch)
        return None
    return watch


def _opened_here(watch: int) -> bool:
    """Whether this process was among those that opened the file; another fold's job may train on it meanwhile."""
    found = False
    while True:
        try:
            events = os.read(watch, 1 << 16)
        except BlockingIOError:
            return found
        while events:
            length, *_, process = EVENT.unpack_from(events)
            found |= process == os.getpid()
            events = events[length:]
