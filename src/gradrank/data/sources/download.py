"""Downloads of files, and safe extraction of archives from untrusted sources.

An interrupted download is resumed.

Only the files that the caller asks for are written, under the names that the caller chooses. An archive is refused if
it contains an absolute path, a path with `..`, a link or a device. It is also refused if the content is larger than any
text that could be compressed to the size of the archive.
"""

import errno
import gzip
import hashlib
import http.client
import lzma
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from gradrank.base.errors import GradrankError

DOWNLOAD_BLOCK = 1 << 18
TIMEOUT = 30  # an attempt fails after this number of seconds without data
TRIES = 4  # the download fails after this number of consecutive attempts without data
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Unavailable(GradrankError):
    """Error for an address that does not have the file or cannot be reached. The next source is then tried."""


def download(url: str, path: Path) -> None:
    """Download `url` to `path`. The file `path` exists only after the download is complete.

    An interrupted download is kept in `path`.part, and is continued with an HTTP range request. The pauses between
    failed attempts are 1, 2 and 4 s. Raises Unavailable if the download fails, and OSError if the disk is full.
    """
    part, failures = path.with_name(path.name + ".part"), 0
    part.parent.mkdir(parents=True, exist_ok=True)
    while True:
        before = _size(part)
        try:
            if _continue(url, part):
                break
            reason = "the connection closed early"
        except HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            if error.code == 416:  # `part` is from a different file, or is complete and was not renamed
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                raise Unavailable(reason) from None
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in NO_SPACE:
                raise
            if isinstance(error, URLError) and not before:
                raise Unavailable(f"no connection ({error.reason})") from None  # no network, so retrying is pointless
            reason = f"no connection ({getattr(error, 'reason', None) or error})"
        failures = 0 if _size(part) > before else failures + 1
        if failures == TRIES:
            raise Unavailable(f"{reason}, {TRIES} times")
        time.sleep(2 ** max(failures - 1, 0))
    part.replace(path)


def _continue(url: str, part: Path) -> bool:
    """Append the rest of the file to `part`, or start again if the server ignores ranges.

    Returns True if the file is complete.
    """
    have = _size(part)
    headers = {"User-Agent": "gradrank", **({"Range": f"bytes={have}-"} if have else {})}
    with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as response:
        have = have if response.status == 206 else 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if have else "wb") as out, Progress(url.rsplit("/", 1)[-1], total) as progress:
            while block := response.read1(DOWNLOAD_BLOCK):  # `read` would lose the bytes that came before a timeout
                out.write(block)
                progress.show(out.tell())
    return total is None or _size(part) == total


def _size(path: Path) -> int:
    """Return the size of a file in bytes, or 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


class Progress:
    """Progress of a download on standard error: a bar in a terminal or a notebook, otherwise a line every two seconds.

    name: name of the file. total: its size in bytes, or None if the server does not send it.
    """

    def __init__(self, name: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        self.has_bar = console.is_terminal or console.is_jupyter
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self.bar = Bar(*columns, TimeRemainingColumn(), console=console, disable=not self.has_bar)
        self.task = self.bar.add_task(name, total=total)
        self.name, self.of = name, f" of {total / 1e6:,.1f}" if total else ""
        self.next = time.monotonic() + 2

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, done: int) -> None:
        """Show that `done` bytes have been received."""
        if self.has_bar:
            self.bar.update(self.task, completed=done)
        elif time.monotonic() >= self.next:
            self.next += 2
            print(f"{self.name}: {done / 1e6:,.1f}{self.of} MB", file=sys.stderr, flush=True)


ARCHIVE_BLOCK = 1 << 20
MOST_MEMBERS = 10_000
# Maximum size of the content: 200 times the size of the archive, or 100 MiB if that is more. For comparison: MQ2007
# repeats every part five times, and is compressed to 1/32.
RATIO, FLOOR = 200, 100 << 20
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError)
UNRAR = {
    "bsdtar": ["-x", "-f", "{archive}", "-C", "{folder}"],
    "unrar": ["x", "-inul", "-o-", "-p-", "{archive}", "{folder}/"],
    "unar": ["-quiet", "-no-directory", "-output-directory", "{folder}", "{archive}"],
}

Description = dict[str, dict[str, str | int]]


class Member(NamedTuple):
    """A file in an archive or a folder: its name, its size in bytes, and a function that opens it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, folder: Path, place: Callable[[str], str | None]) -> Description:
    """Extract members of a .tar.xz, .tar.gz, .tgz, .zip or .rar archive into `folder`.

    place: a function from the name of a member in the archive to its path under `folder`, or None to skip the member.

    Returns the same dict as `copy`. Raises GradrankError if the archive is truncated, damaged or unsafe.
    """
    read = {".zip": _zip, ".rar": _rar}.get(archive.suffix, _tar)
    try:
        return copy(_bounded(read(archive, folder), archive), folder, place)
    except DAMAGED as error:
        raise GradrankError(f"{archive}: truncated or damaged ({error}). Fix: download it again") from None
    except NotImplementedError as error:  # raised by zipfile for an unknown compression method
        raise GradrankError(f"{archive}: {error}. Fix: extract it by hand, and compress it again as .tar.xz") from None


def copy(members: Iterable[Member], folder: Path, place: Callable[[str], str | None]) -> Description:
    """Write the members for which `place` returns a path under `folder`.

    Returns a dict, sorted by path, from path to the SHA-256 (`sha256`) and the size (`bytes`) of the file.

    Raises GradrankError if two members have the same path.
    """
    written: Description = {}
    for name, _, open_member in members:
        target = place(name)
        if target is None:
            continue
        if target in written:
            raise GradrankError(f"{folder}: two files for {target}; the second is {name}. Fix: delete one of them")
        path, digest = folder / target, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_member() as source, path.open("wb") as out:
            while block := source.read(ARCHIVE_BLOCK):
                digest.update(block)
                out.write(block)
        written[target] = {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}
    return dict(sorted(written.items()))


def _bounded(members: Iterator[Member], archive: Path) -> Iterator[Member]:
    """Yield the members of an archive.

    Raises GradrankError for an unsafe name, too many members or too much content.
    """
    total, limit = 0, max(FLOOR, RATIO * archive.stat().st_size)
    for count, (name, size, open_member) in enumerate(members, start=1):
        if re.match(r"[/\\]|[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
            raise GradrankError(f"{archive}: refused: {name!r} would be written outside its folder")
        total += size
        if count > MOST_MEMBERS or total > limit:
            raise GradrankError(
                f"{archive}: refused: its first {count:,} files have {total:,} bytes in total, so it may be an archive "
                "bomb"
            )
        yield Member(name, size, open_member)


def _tar(archive: Path, _: Path) -> Iterator[Member]:
    opener = lzma.open if archive.suffix == ".xz" else gzip.open
    with opener(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
        for member in tar:
            if not member.isreg() and not member.isdir():
                raise GradrankError(f"{archive}: refused: {member.name!r} is a link or a device, not a file")
            if member.isreg():
                yield Member(member.name, member.size, partial(_extracted, tar, member))
        # tarfile stops silently at a damaged header. Reading to the end verifies the checksum of the compressed data.
        while stream.read(ARCHIVE_BLOCK):
            pass


def _extracted(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """Open a regular file of a tar archive."""
    stream = tar.extractfile(member)
    if stream is None:
        raise tarfile.ReadError(f"{member.name} is not a file")
    return stream


def _zip(archive: Path, _: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as bundle:
        for info in bundle.infolist():
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise GradrankError(f"{archive}: refused: {info.filename!r} is a link or a device, not a file")
            if info.flag_bits & 1:
                raise GradrankError(f"{archive}: {info.filename!r} is encrypted. Fix: extract the archive by hand")
            if not info.is_dir():
                yield Member(info.filename, info.file_size, partial(bundle.open, info))


def _rar(archive: Path, folder: Path) -> Iterator[Member]:
    """Extract a .rar archive with an installed program, and yield its files. No free library reads this format."""
    program = next((program for program in UNRAR if shutil.which(program)), None)
    if program is None:
        raise GradrankError(
            f"{archive}: none of the programs {', '.join(UNRAR)} is installed. Fix: install one of them (bsdtar is in "
            "libarchive-tools), or extract it by hand and set GRADRANK_MIRROR to the folder with the extracted files"
        )
    scratch = folder / ".rar"
    scratch.mkdir(parents=True)
    command = [argument.format(archive=archive, folder=scratch) for argument in UNRAR[program]]
    done = subprocess.run([program, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise GradrankError(f"{archive}: {program} failed with status {done.returncode}: {done.stderr.strip()}")
    for path in sorted(scratch.rglob("*")):
        name = path.relative_to(scratch).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise GradrankError(f"{archive}: refused: {name!r} is a link or a device, not a file")
        if path.is_file():
            yield Member(name, path.stat().st_size, partial(path.open, "rb"))
    shutil.rmtree(scratch)
