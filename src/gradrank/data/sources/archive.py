"""Unpacking of archives that nobody vouches for.

Nothing is written but the files that the caller asks for, under names that the caller gives. An archive with
an absolute path, a `..`, a link, a device, or far more content than packed text can have is refused whole.
"""

import gzip
import hashlib
import lzma
import re
import shutil
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from gradrank.base.errors import GradrankError

BLOCK = 1 << 20
MEMBERS = 10_000
RATIO, FLOOR = 200, 100 << 20  # MQ2007, in which every part stands five times, is packed 32 to 1
DAMAGED = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError)
UNRAR = {
    "bsdtar": ["-x", "-f", "{archive}", "-C", "{folder}"],
    "unrar": ["x", "-inul", "-o-", "-p-", "{archive}", "{folder}/"],
    "unar": ["-quiet", "-no-directory", "-output-directory", "{folder}", "{archive}"],
}

Description = dict[str, dict[str, str | int]]
Member = tuple[str, int, Callable[[], IO[bytes]]]  # name, bytes, how to open it


def unpack(archive: Path, folder: Path, place: Callable[[str], str | None]) -> Description:
    """Write the members of a .tar.xz, .tar.gz, .tgz, .zip or .rar that `place` gives a path under `folder`.

    Returns what `copy` does. Raises GradrankError if the archive is truncated, damaged or not to be trusted.
    """
    read = {".zip": _zip, ".rar": _rar}.get(archive.suffix, _tar)
    try:
        return copy(_bounded(read(archive, folder), archive), folder, place)
    except DAMAGED as error:
        raise GradrankError(f"{archive}: truncated or damaged ({error}); get it anew") from None
    except NotImplementedError as error:  # what zipfile raises for a method that it does not know
        raise GradrankError(f"{archive}: {error}. Fix: unpack it by hand, and pack it again as .tar.xz") from None


def copy(members: Iterator[Member], folder: Path, place: Callable[[str], str | None]) -> Description:
    """Write the wanted members under `folder`; returns SHA-256 and size of each by its new name, sorted."""
    written: Description = {}
    for name, _, open_member in members:
        target = place(name)
        if target is None:
            continue
        if target in written:
            raise GradrankError(f"two files claim to be {target}, the second is {name}")
        path, digest = folder / target, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_member() as source, path.open("wb") as out:
            while block := source.read(BLOCK):
                digest.update(block)
                out.write(block)
        written[target] = {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}
    return dict(sorted(written.items()))


def _bounded(members: Iterator[Member], archive: Path) -> Iterator[Member]:
    """The members, so long as their names are relative and their number and declared sizes are sensible."""
    total, limit = 0, max(FLOOR, RATIO * archive.stat().st_size)
    for count, (name, size, open_member) in enumerate(members, start=1):
        if re.match(r"[/\\]|[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
            raise GradrankError(f"{archive}: refused: {name!r} would be written outside its folder")
        total += size
        if count > MEMBERS or total > limit:
            raise GradrankError(f"{archive}: refused: {count:,} files of {total:,} bytes; it may be an archive bomb")
        yield name, size, open_member


def _tar(archive: Path, _: Path) -> Iterator[Member]:
    opener = lzma.open if archive.suffix == ".xz" else gzip.open
    with opener(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
        for member in tar:
            if not member.isreg() and not member.isdir():
                raise GradrankError(f"{archive}: refused: {member.name!r} is a link or a device, not a file")
            if member.isreg():
                yield member.name, member.size, lambda member=member: tar.extractfile(member)
        # tarfile stops without a word at a damaged header; the compressor's checksum at the end does not.
        while stream.read(BLOCK):
            pass


def _zip(archive: Path, _: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as bundle:
        for info in bundle.infolist():
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise GradrankError(f"{archive}: refused: {info.filename!r} is a link or a device, not a file")
            if info.flag_bits & 1:
                raise GradrankError(f"{archive}: {info.filename!r} is encrypted; unpack it by hand")
            if not info.is_dir():
                yield info.filename, info.file_size, lambda info=info: bundle.open(info)


def _rar(archive: Path, folder: Path) -> Iterator[Member]:
    """No free library reads .rar: one of the usual programs unpacks it beside the files that are wanted."""
    program = next((program for program in UNRAR if shutil.which(program)), None)
    if program is None:
        raise GradrankError(
            f"{archive}: none of {', '.join(UNRAR)} is installed to unpack it; install one (bsdtar is in "
            f"libarchive-tools), or unpack it by hand and set GRADRANK_MIRROR to the folder of the result"
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
            yield name, path.stat().st_size, lambda path=path: path.open("rb")
    shutil.rmtree(scratch)
