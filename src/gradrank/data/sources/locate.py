"""Search for a data set in the mirror, at the addresses in the catalogue, and in the folder of the data set."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import sha256
from gradrank.data.sources.catalogue import Archive, Entry, SingleFile
from gradrank.data.sources.download import Unavailable, download

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
