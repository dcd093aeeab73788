"""Rules for the paths that gradrank writes to, so that nothing is destroyed that gradrank did not write.

- An output is not an input of the same command, whatever its spelling or links, and no folder that contains an input.
- A symbolic link is followed. The link stays, and the file behind it is replaced in its own folder.
- A pipe, a terminal, /dev/null or an open file (/dev/stdout, /dev/fd/3) is written to directly and never replaced.
- A file or folder without write permission is refused, even for root. A block device or a socket is refused.
- A file with several names (hard links) is replaced under the given name only. The other names keep the old content.
"""

import os
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gradrank.base.errors import GradrankError

_MOST_LINKS = 40  # as in Linux


def replaced_file(path: Path) -> Path | None:
    """Return the path of the regular file that an output replaces, behind all links. It need not exist.

    Returns None if the output must be written directly, with `direct_stream`. Raises GradrankError if the path cannot
    be an output file.
    """
    mode = _mode(path)
    if _descriptor(path) is not None:
        return None
    target = Path(os.path.realpath(path))
    if mode is None:
        _check_parents(path, target)
        return target
    if stat.S_ISDIR(mode):
        raise GradrankError(f"{path}: a folder, but the output is a file. Fix: give the path of a file")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "block device" if stat.S_ISBLK(mode) else "socket"
        raise GradrankError(f"{path}: a {kind}, but the output is a file. Fix: give the path of a file")
    _check_writable(path, mode, "file")
    return target if stat.S_ISREG(mode) else None


@contextmanager
def direct_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open a pipe, a device or an open file for writing. `replaced_file` returns None for such paths."""
    descriptor = _descriptor(path)
    try:
        if descriptor is None:
            stream = path.open("wb")
        else:
            for printed in filter(None, (sys.stdout, sys.stderr)):
                printed.flush()  # the text that was printed before precedes the output
            stream = os.fdopen(os.dup(descriptor), "wb")
        with stream:
            yield stream
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def check_file_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raise GradrankError if a file output cannot be written or is one of the inputs."""
    replaced_file(path)
    for given in inputs:
        if _is_same(path, given):
            raise GradrankError(f"{path}: the output is the input {given}. Fix: give another output")


def check_folder_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raise GradrankError if a folder output cannot be written, or is or contains one of the inputs."""
    mode = _mode(path)
    if mode is None:
        _check_parents(path, Path(os.path.realpath(path)))
    elif not stat.S_ISDIR(mode):
        raise GradrankError(f"{path}: not a folder, but the output is a folder. Fix: give a new folder")
    else:
        _check_writable(path, mode, "folder")
    for given in inputs:
        real = Path(os.path.realpath(given))
        if any(_is_same(path, folder) for folder in (real, *real.parents)):
            relation = "is" if _is_same(path, given) else "contains"
            raise GradrankError(f"{path}: the output {relation} the input {given}. Fix: give another folder")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _mode(path: Path) -> int | None:
    """Return the type and the permissions of what is behind a path, or None if nothing is there.

    Raises GradrankError if that cannot be found out: a loop of links, or a name that the system does not accept.
    """
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # ValueError: a null character, or text that cannot be a file name
        reason = error.strerror if isinstance(error, OSError) else error
        raise GradrankError(f"{path}: cannot be an output ({reason}). Fix: give another path") from None


def _check_parents(path: Path, target: Path) -> None:
    above = next((folder for folder in target.parents if os.path.lexists(folder)), None)
    if above is not None and not above.is_dir():
        raise GradrankError(f"{path}: {above} is not a folder. Fix: give another output")


def _check_writable(path: Path, mode: int, kind: str) -> None:
    if not mode & 0o222 or not os.access(path, os.W_OK):
        fix = f"give another output, or run `chmod u+w {shlex.quote(str(path))}`"
        raise GradrankError(f"{path}: this {kind} is read-only. Fix: {fix}")


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file of this process that a path names, such as /dev/stdout; None for others."""
    open_files = re.compile(rf"/proc/{os.getpid()}(/task/\d+)?/fd|/dev/fd")
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if open_files.fullmatch(folder) and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            break
        path = Path(folder, path.readlink())
    return None
