"""The `fetch` stage: find, verify and extract a data set of the catalogue.

A data set is searched for in the mirror, at the addresses in the catalogue, and in the folder of the data set.
"""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import check_folder_output, locked, remove_abandoned, sha256, temporary_folder
from gradrank.base.stamps import is_recognised, read_sealed, write_sealed
from gradrank.data.sources.catalogue import Archive, Entry, SingleFile, catalogue, get_entry
from gradrank.data.sources.download import NO_SPACE, Description, Member, Unavailable, copy, download, unpack

SPLITS = [f"{split}.txt" for split in ("train", "vali", "test")]
PARTS = [f"S{part}.txt" for part in range(1, 6)]
FOLDS = [f"Fold{fold}/{name}" for fold in range(1, 6) for name in SPLITS]


def layouts(entry: Entry) -> list[list[str]]:
    """Return the alternative lists of files of a data set. All files of one list must be present."""
    if entry.files:
        return [[entry.rename.get(file.name, file.name) for file in entry.files]]
    return [FOLDS, PARTS] if entry.folds == 5 else [SPLITS]


class Location(NamedTuple):
    """The location of a data set: an archive, or a folder with the published files of the data set.

    `source` describes the location in fetched.json. A folder has no `archive`.
    """

    path: Path
    source: str
    archive: Archive | None = None


def missing(entry: Entry, names: Collection[str]) -> list[str]:
    """Return the missing files of a data set, for the layout with the fewest missing files.

    Five folds are complete with either S1.txt to S5.txt or Fold1 to Fold5.
    """
    lacking = [[name for name in layout if name not in names] for layout in layouts(entry)]
    return min(lacking, key=len)


def names_below_root(entry: Entry) -> dict[str, str]:
    """Return a dict from the names of the published files to the names in the official layout.

    Files of an archive are named relative to its root.
    """
    if entry.files:
        return {file.name: entry.rename.get(file.name, file.name) for file in entry.files}
    return {name: name for layout in layouts(entry) for name in layout} | entry.rename


def _is_complete(entry: Entry, folder: Path) -> bool:
    """Return True if a folder contains all files of a data set."""
    names = names_below_root(entry)
    return not missing(entry, {names[name] for name in names if (folder / name).is_file()})


def find(entry: Entry, folder: Path, downloads: Path, mirror: str | None) -> Location:
    """Return the first location of a data set. If it is an address, the archive or the files are downloaded first.

    Parameters
    ----------
    folder
        The folder of the data set, which is searched last.
    downloads
        The folder for downloads.
    mirror
        A folder or an http(s) address, which is searched first.

    Raises GradrankError if the data are at none of the locations. The error lists the locations that were searched, and
    says how to get the data by hand.
    """
    searched: list[str] = []
    local = None if mirror is None or re.match(r"https?://", mirror) else Path(mirror).expanduser()
    if local is not None:
        for location in _in_folder(entry, local):
            return location
        searched.append(f"{local}: {'not in this folder' if local.is_dir() else 'no such folder'}")
    base = mirror.rstrip("/") if mirror and local is None else None
    for archive in entry.archives:
        if url := _download(archive, base, downloads, searched):
            return Location(downloads / archive.name, url, archive)
    if urls := _download_files(entry, base, downloads, searched):
        return Location(downloads, " ".join(urls))
    if _is_complete(entry, folder):
        return Location(folder, "in place")
    names = " or ".join(archive.name for archive in entry.archives) or f"{entry.name}/"
    if entry.files:
        names = " and ".join(f"{entry.name}/{file.name}" for file in entry.files)
    raise GradrankError(
        f"{entry.name}: not found. Fix: download it by hand, as follows\n"
        f"  searched:  {'; '.join(searched) or 'nothing, GRADRANK_MIRROR is not set'}\n"
        f"  needed:    {names}\n"
        f"  get from:  {' '.join(filter(None, [entry.obtain, entry.homepage]))}\n"
        f"  put into:  any folder; then run again with GRADRANK_MIRROR (in Python: the argument `mirror`) set to it\n"
        f"  licence:   {entry.licence}"
    )


def _download_files(entry: Entry, base: str | None, downloads: Path, searched: list[str]) -> list[str]:
    """Download the single files of a data set, and return their addresses, or an empty list if a file is missing.

    A complete file of an earlier, interrupted call is not downloaded again. The arguments are those of `_download`.

    Raises GradrankError if the checksum of a file differs from the catalogue.
    """
    below = f"{base}/{entry.name}" if base else None
    urls: list[str] = []
    for file in entry.files:
        path = downloads / file.name
        if path.is_file() and sha256(path) == file.sha256:
            urls.append(file.name)
            continue
        url = _download(file, below, downloads, searched)
        if url is None:
            return []
        if (found := sha256(path)) != file.sha256:
            path.unlink()
            raise wrong_checksum(url, "sha256", found, [file.sha256])
        urls.append(url)
    return urls


def wrong_checksum(where: Path | str, kind: str, found: str, expected: Sequence[str]) -> GradrankError:
    """Return the error for a file whose checksum is not in the catalogue. where: its path or its address."""
    return GradrankError(
        f"{where}: its {kind} is {found}, but the catalogue has {' or '.join(expected)}: the file is damaged or "
        "another edition. Fix: download it again"
    )


def _download(source: Archive | SingleFile, base: str | None, downloads: Path, searched: list[str]) -> str | None:
    """Download a file below the folder `downloads`, and return its address, or None if no address has it.

    base: the address on the mirror that is tried first; None without a mirror. searched: each failed address and the
    reason are appended.
    """
    for url in [*([f"{base}/{source.name}"] if base else []), *source.urls]:
        try:
            download(url, downloads / source.name)
            return url
        except Unavailable as error:
            searched.append(f"{url}: {error}")
    return None


def _in_folder(entry: Entry, mirror: Path) -> Iterator[Location]:
    """Yield the locations of a data set in a local mirror. Archives come before folders with extracted files."""
    for archive in entry.archives:
        if (mirror / archive.name).is_file():
            yield Location(mirror / archive.name, str(mirror / archive.name), archive)
    stems = [entry.name, *(archive.name.split(".")[0] for archive in entry.archives)]
    unpacked = [mirror / stem / root for stem in stems for root in (entry.root, "")]
    for path in [mirror / entry.root, *unpacked] if entry.root else unpacked:
        if _is_complete(entry, path):
            yield Location(path, str(path))


def fetch(dataset: str | Entry, folder: Path | str, mirror: str | None = None) -> dict:
    """Write a data set into `folder` in its official layout.

    The layout is Fold1 to Fold5 and S1.txt to S5.txt, or train.txt, vali.txt and test.txt. Sources are tried in this
    order: `mirror`, the addresses in the catalogue, and files that are already in `folder`. If the process is killed,
    call the function again to complete the data set. If another process fetches the same data set into `folder`, the
    function waits until it has finished.

    Parameters
    ----------
    dataset
        A name in the catalogue, or an entry of the catalogue.
    folder
        The folder to write.
    mirror
        A folder or an http(s) address with an archive that has a name from the catalogue or with the folder
        <dataset>/ of single files, or a folder with the extracted files.

    Returns
    -------
    dict
        The content of fetched.json, which is written last. The keys are `dataset`, `source`, `files` (the SHA-256 and
        the size in bytes of each file) and, if the data come from an archive, `archive_sha256`. If fetched.json already
        exists, its content is returned and nothing is fetched.

    Raises GradrankError if no source has the data, if a checksum differs, if an archive is damaged or unsafe, if a file
    exists with other content, or if the disk is full.
    """
    entry = dataset if isinstance(dataset, Entry) else get_entry(dataset)
    folder = Path(folder)
    manifest = folder / "fetched.json"
    with _system_errors_explained(folder):
        is_fetched = manifest.is_file()
    if is_fetched:
        return read_sealed(manifest)
    if entry.generator:
        raise GradrankError(
            f"{entry.name} is artificial data, which is not fetched. Fix: run `gradrank generate {entry.generator}`"
        )
    with _system_errors_explained(folder), locked(folder.with_name(f".{folder.name}.lock")):
        return read_sealed(manifest) if manifest.is_file() else _fetch(entry, folder, mirror)


def entry_of(folder: Path) -> Entry | None:
    """Return the entry of the data set that was fetched into a folder, or None if there is no such data set."""
    manifest = folder / "fetched.json"
    if not is_recognised(manifest):  # a user's own file may have this name
        return None
    name = read_sealed(manifest).get("dataset")
    return catalogue().get(name) if isinstance(name, str) else None


def _fetch(entry: Entry, folder: Path, mirror: str | None) -> dict[str, Any]:
    """Write a data set into `folder`, and return the content of fetched.json. The arguments are those of `fetch`."""
    folder = Path(os.path.realpath(folder))
    check_folder_output(folder)
    downloads = folder.with_name(f".{folder.name}.download")
    remove_abandoned(folder.parent, folder.name)
    with temporary_folder(folder) as staging:
        location = find(entry, folder, downloads, mirror)
        try:
            contents = _unpack(entry, location, staging)
        except GradrankError:
            _remove_downloads(entry, downloads)  # so that a damaged download is not resumed
            raise
        _install(staging, folder, contents["files"])
        described = {"dataset": entry.name, "source": location.source, **contents}
        write_sealed(folder / "fetched.json", described)
    _remove_downloads(entry, downloads)
    return described


def _remove_downloads(entry: Entry, downloads: Path) -> None:
    """Remove the downloaded files, complete or not, and their folder if it contains nothing else."""
    for source in (*entry.archives, *entry.files):
        for name in (source.name, f"{source.name}.part"):
            (downloads / name).unlink(missing_ok=True)
    folders = sorted((path for path in downloads.rglob("*") if path.is_dir()), reverse=True)
    for folder in (*folders, downloads):
        with suppress(OSError):  # the folder is missing or contains other files
            folder.rmdir()


def _unpack(entry: Entry, location: Location, staging: Path) -> dict[str, Any]:
    """Write the data set in its official layout into `staging`, and return the entries for fetched.json.

    Raises GradrankError if files are missing.
    """
    names = names_below_root(entry)
    contents: dict[str, Any] = {}
    if location.archive is None:
        files = copy(_members(location.path, names), staging, names.get)
        _verify_files(entry, location, files)
    else:
        contents["archive_sha256"] = verify(location.archive, location.path)
        files = unpack(location.path, staging, _placer(entry.root, names))
    if lacking := missing(entry, files):
        where = f"{location.source}: {entry.root}".rstrip(": ")
        raise GradrankError(f"{where} lacks {', '.join(lacking)}. Fix: give a complete copy of {entry.title}")
    return contents | {"files": files}


def _members(folder: Path, names: Collection[str]) -> Iterator[Member]:
    """Yield the files of a folder whose names are in `names`."""
    for name in names:
        path = folder / name
        if path.is_file():
            yield Member(name, path.stat().st_size, partial(path.open, "rb"))


def _placer(root: str, names: dict[str, str]) -> Callable[[str], str | None]:
    """Return a function from the name of a member to its new name, or to None if the member is not needed.

    root: the folder of the data within the archive. Folders above `root` are ignored. names: the new name of each file.
    """
    below = "|".join(map(re.escape, names))
    pattern = re.compile(rf"(?:.*/)?{re.escape(root + '/') if root else ''}({below})")

    def place(member: str) -> str | None:
        match = pattern.fullmatch(member)
        return names[match[1]] if match else None

    return place


def verify(archive: Archive, path: Path) -> str:
    """Return the SHA-256 of an archive.

    Raises GradrankError if the catalogue has checksums of the archive, and none of them matches.
    """
    digest = sha256(path)
    if archive.sha256:
        kind, actual, expected = "sha256", digest, archive.sha256
    else:
        with path.open("rb") as stream:
            kind, actual, expected = "md5", hashlib.file_digest(stream, "md5").hexdigest(), archive.md5
    if expected and actual not in expected:
        raise wrong_checksum(path, kind, actual, expected)
    return digest


def _verify_files(entry: Entry, location: Location, written: Description) -> None:
    """Raise GradrankError if the checksum of a single file differs from the catalogue.

    written: the files in the official layout, as `copy` returns them.
    """
    for file in entry.files:
        found = written.get(entry.rename.get(file.name, file.name))
        if found and found["sha256"] != file.sha256:
            raise wrong_checksum(location.path / file.name, "sha256", str(found["sha256"]), [file.sha256])


def _install(staging: Path, folder: Path, files: Description) -> None:
    """Move the files in `staging` into `folder`. Other files in `folder` are left as they are.

    files: the checksums of the files. Raises GradrankError if one of these files exists with other content. Nothing is
    moved then.
    """
    differing = [name for name in files if _differs(folder / name, files[name]["sha256"])]
    if differing:
        raise GradrankError(
            f"{folder}: {', '.join(differing)} already exist with other content, and nothing is overwritten. Fix: give "
            "a new folder, or move these files away"
        )
    for name in sorted(files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).replace(folder / name)


def _differs(path: Path, digest: object) -> bool:
    return os.path.lexists(path) and not (path.is_file() and sha256(path) == digest)


@contextmanager
def _system_errors_explained(folder: Path) -> Iterator[None]:
    """Convert an OSError into a GradrankError that names the folder."""
    try:
        yield
    except OSError as error:
        reason = f"no space left on the disk ({error.strerror})" if error.errno in NO_SPACE else str(error)
        raise GradrankError(
            f"{folder}: {reason}. Fix: correct this and run the same command again; incomplete files are not used"
        ) from error
