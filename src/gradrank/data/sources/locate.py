"""Search for a data set in the mirror, at the addresses in the catalogue, and in the folder of the data set."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.sources.catalogue import Archive, Entry
from gradrank.data.sources.download import Unavailable, download

SPLITS = [f"{split}.txt" for split in ("train", "vali", "test")]
PARTS = [f"S{part}.txt" for part in range(1, 6)]
FOLDS = [f"Fold{fold}/{name}" for fold in range(1, 6) for name in SPLITS]


def layouts(entry: Entry) -> list[list[str]]:
    """Return the alternative lists of files of a data set. All files of one list must be present."""
    return [FOLDS, PARTS] if entry.folds == 5 else [SPLITS]


class Location(NamedTuple):
    """The location of a data set: an archive, or a folder with the files of the data set.

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
    """Return a dict from the file names below the root of the archive to the names in the official layout."""
    return {name: name for layout in layouts(entry) for name in layout} | entry.rename


def _is_complete(entry: Entry, folder: Path) -> bool:
    """Return True if a folder contains all files of a data set."""
    names = names_below_root(entry)
    return not missing(entry, {names[name] for name in names if (folder / name).is_file()})


def find(entry: Entry, folder: Path, downloads: Path, mirror: str | None) -> Location:
    """Return the first location of a data set. If it is an address, the archive is downloaded first.

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
    for archive in entry.archives:
        mirrored = [f"{mirror.rstrip('/')}/{archive.name}"] if mirror and local is None else []
        for url in [*mirrored, *archive.urls]:
            try:
                download(url, downloads / archive.name)
                return Location(downloads / archive.name, url, archive)
            except Unavailable as error:
                searched.append(f"{url}: {error}")
    if _is_complete(entry, folder):
        return Location(folder, "in place")
    names = " or ".join(archive.name for archive in entry.archives) or f"{entry.name}/"
    raise GradrankError(
        f"{entry.name}: not found. Fix: download it by hand, as follows\n"
        f"  searched:  {'; '.join(searched) or 'nothing, GRADRANK_MIRROR is not set'}\n"
        f"  needed:    {names}\n"
        f"  get from:  {' '.join(filter(None, [entry.obtain, entry.homepage]))}\n"
        f"  put into:  any folder; then run again with GRADRANK_MIRROR (in Python: the argument `mirror`) set to it\n"
        f"  licence:   {entry.licence}"
    )


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
