"""Getting a data set of the catalogue: find it, check it, unpack it, and say last that it is whole."""

import hashlib
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.base.stamps import read_sealed, write_sealed
from gradrank.data.sources.archive import Member, copy, unpack
from gradrank.data.sources.catalogue import Archive, Entry, get_entry
from gradrank.data.sources.download import NO_SPACE
from gradrank.data.sources.locate import Found, find, missing, names_below_root


def fetch(dataset: str | Entry, folder: Path | str, mirror: str | None = None) -> dict:
    """Make `folder` hold a data set's official layout: Fold1..5/ and S1..5.txt, or train, vali and test.txt.

    Sources in order: `mirror`, a folder or http(s) address with the archive under one of its names in the
    catalogue, or a folder with the files unpacked; the catalogue's addresses; files that lie in `folder`.
    Written last, and returned, is `fetched.json`: source, SHA-256 of the archive, SHA-256 and bytes of each
    file. Where it exists the data set is whole and nothing is done. Killed at any moment, the same call
    completes.

    Raises GradrankError where no source has the data, a checksum differs, an archive is damaged or not to be
    trusted, or the disk is full.
    """
    entry = dataset if isinstance(dataset, Entry) else get_entry(dataset)
    folder = Path(folder)
    manifest = folder / "fetched.json"
    if manifest.is_file():
        return read_sealed(manifest)
    if entry.generator:
        raise GradrankError(f"{entry.name} is not fetched but made, by `gradrank generate {entry.generator}`")
    partial, downloads = (folder.with_name(f".{folder.name}.{kind}") for kind in ("partial", "download"))
    shutil.rmtree(partial, ignore_errors=True)  # what a killed process left
    try:
        with _system_errors_explained(folder):
            found = find(entry, folder, downloads, mirror)
            try:
                contents = _unpack(entry, found, partial)
            except GradrankError:
                shutil.rmtree(downloads, ignore_errors=True)  # a bad download is not resumed
                raise
            _install(partial, folder)
            described = {"dataset": entry.name, "source": found.source, **contents}
            write_sealed(manifest, described)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(downloads, ignore_errors=True)
    return described


def _unpack(entry: Entry, found: Found, partial: Path) -> dict:
    """Write the layout into `partial`; returns the part of fetched.json that describes it."""
    names = names_below_root(entry)
    if found.archive is None:
        contents = {"files": copy(_members(found.path, names), partial, names.get)}
    else:
        digest = verify(found.archive, found.path)
        contents = {"archive_sha256": digest, "files": unpack(found.path, partial, _placer(entry.root, names))}
    if lacking := missing(entry, contents["files"]):
        where = f"{found.source}: {entry.root}".rstrip(": ")
        raise GradrankError(f"{where} lacks {', '.join(lacking)}; is it {entry.title}?")
    return contents


def _members(folder: Path, names: Collection[str]) -> Iterator[Member]:
    for name in names:
        path = folder / name
        if path.is_file():
            yield name, path.stat().st_size, lambda path=path: path.open("rb")


def _placer(root: str, names: dict[str, str]) -> Callable[[str], str | None]:
    """From a name in an archive, whatever folders lie above the root, to the file's new name, or None."""
    below = "|".join(map(re.escape, names))
    pattern = re.compile(rf"(?:.*/)?{re.escape(root + '/') if root else ''}({below})")

    def place(member: str) -> str | None:
        match = pattern.fullmatch(member)
        return names[match[1]] if match else None

    return place


def verify(archive: Archive, path: Path) -> str:
    """The SHA-256 of `path`. Raises GradrankError where checksums are known and none is the file's."""
    digest = sha256(path)
    if archive.sha256:
        kind, found, known = "sha256", digest, archive.sha256
    else:
        with path.open("rb") as stream:
            kind, found, known = "md5", hashlib.file_digest(stream, "md5").hexdigest(), archive.md5
    if known and found not in known:
        raise GradrankError(
            f"{path}: its {kind} is {found}, the catalogue has {' or '.join(known)}: "
            f"a damaged copy or another edition; get it anew"
        )
    return digest


def _install(partial: Path, folder: Path) -> None:
    """Move whole files and folders into place; what else lies there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for child in sorted(partial.iterdir()):
        target = folder / child.name
        if target.is_dir():
            shutil.rmtree(target)
        child.replace(target)


@contextmanager
def _system_errors_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = "mend that and run the same command again; nothing half-written counts as finished"
        what = f"no space left on the disk ({error.strerror})" if error.errno in NO_SPACE else str(error)
        raise GradrankError(f"{folder}: {what}: {advice}") from error
