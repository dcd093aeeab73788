"""Writing of files: rules for their paths, atomic writes, JSON files, checksums, and the folder of a user's own models.

The rules prevent that gradrank destroys something that it did not write:

- An output is not an input of the same command, whatever its spelling or links, and no folder that contains an input.
- A symbolic link is followed. The link stays, and the file behind it is replaced in its own folder.
- A pipe, a terminal, /dev/null or an open file (/dev/stdout, /dev/fd/3) is written to directly and never replaced.
- A file or folder without write permission is refused, even for root. A block device or a socket is refused.
- A file with several names (hard links) is replaced under the given name only. The other names keep the old content.
"""

import hashlib
import itertools
import json
import os
import platform
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

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


OWN_MODELS = Path("models")  # folder in the working folder; its modules are added to the package gradrank.models

LONGEST_NAME = 255  # bytes of a file name on the common file systems of Linux, macOS and Windows
_NUMBERS = itertools.count(1)
_PARTIAL_NAME = re.compile(r"\.(.+)\.([\w-]+)\.(\d+)-\d+\.partial", re.DOTALL)


class PartialOwner(NamedTuple):
    """The origin of a temporary file or folder: its later name (perhaps shortened), and the host and process."""

    name: str
    host: str
    process: int


def partial_path(path: Path) -> Path:
    """Return a new temporary path next to `path`, named `.{name}.{host}.{process}-{number}.partial`.

    The number differs between calls of one process, so that threads do not share a file. The name is shortened if the
    file system could not store it.
    """
    ending = f".{host_name()}.{os.getpid()}-{next(_NUMBERS)}.partial"
    room = LONGEST_NAME - len(f".{ending}")
    name = os.fsencode(path.name)
    if len(name) > room:
        name = name[:room].decode(errors="ignore").encode()  # ends between two characters
    return path.with_name(f".{os.fsdecode(name)}{ending}")


def partial_owner(path: Path) -> PartialOwner | None:
    """Return who made a temporary path, or None if `partial_path` did not name it."""
    match = _PARTIAL_NAME.fullmatch(path.name)
    return PartialOwner(match[1], match[2], int(match[3])) if match else None


def host_name() -> str:
    """Return the name of this computer as it is in the names of temporary files: ASCII, without dots."""
    return re.sub(r"[^A-Za-z0-9-]", "_", platform.node())[:64] or "localhost"


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path, and move its content to `path` if the block ends without an error.

    If the process is killed, `path` is unchanged: it does not exist, or it is still the older, complete file. The
    rules for links, devices and read-only files are in gradrank.base.files. Raises GradrankError for a path that
    cannot be an output.
    """
    target = replaced_file(Path(path))
    if target is None:
        with TemporaryDirectory() as folder:
            partial = Path(folder, "output")
            yield partial
            with direct_stream(Path(path)) as stream, partial.open("rb") as content:
                shutil.copyfileobj(content, stream)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_path(target)
    try:
        yield partial
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        if error.errno is not None:  # a full disk is reported without a path
            error.filename = error.filename or str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder next to `path` that only this block uses, and remove it at the end."""
    partial = partial_path(Path(os.path.realpath(path)))
    partial.mkdir(parents=True)
    try:
        yield partial
    except OSError as error:
        if error.errno is not None:
            error.filename = error.filename or str(path)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove the temporary files and folders in `folder` whose process has ended on this computer.

    name: the later name of the files and folders to remove. By default, all are removed.
    """
    for partial in folder.glob(".*.partial"):
        owner = partial_owner(partial)
        if owner is None or owner.host != host_name() or is_running(owner.process) or name not in ("", owner.name):
            continue
        if partial.is_dir() and not partial.is_symlink():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Return True if a process of this computer exists, or if that cannot be found out."""
    if os.name == "nt" or process == 0:  # 0 is not a process; signal 0 ends processes of Windows
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # a process of another user
        return True
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock for the duration of the block. Another process that wants the same lock waits.

    path: the file of the lock, which is removed at the end. If the process is killed, the operating system releases the
    lock. On Windows, which has no such locks, nothing is locked.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as stream:  # a file of the user's with this name keeps its content
            fcntl.flock(stream, fcntl.LOCK_EX)
            if not _is_at(path, stream.fileno()):
                continue  # the process that had the lock has removed the file
            try:
                yield
            finally:
                if not os.fstat(stream.fileno()).st_size:
                    path.unlink()
            return


def _is_at(path: Path, descriptor: int) -> bool:
    """Return True if an open file is still the file at this path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def write_json(path: Path | str, value: Any) -> None:
    """Write `value` as indented JSON, atomically. Keys keep their order."""
    with atomic(path) as partial:
        partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path | str) -> Any:
    """Return the content of a JSON file. Raises GradrankError if it is not a regular file or not valid JSON."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise GradrankError(f"{path}: not a regular file. Fix: remove it, and run the same command again")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise GradrankError(
            f"{path}: not JSON ({error}). Fix: delete the file and run the same command again"
        ) from None


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file. It is read in blocks, so it need not fit into memory."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
