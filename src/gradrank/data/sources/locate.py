"""Where a data set is to be had: the mirror, the catalogue's addresses, or its folder itself."""

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
    """The sets of files of which one must be there."""
    return [FOLDS, PARTS] if entry.folds == 5 else [SPLITS]


class Found(NamedTuple):
    """Where a data set is: one of the archives, or (`archive` None) a folder with its files."""

    path: Path
    source: str
    archive: Archive | None = None


def missing(entry: Entry, names: Collection[str]) -> list[str]:
    """The files still lacking; five folds are whole with S1..5.txt alone, or with Fold1..5 alone."""
    lacking = [[name for name in layout if name not in names] for layout in layouts(entry)]
    return min(lacking, key=len)


def names_below_root(entry: Entry) -> dict[str, str]:
    """The names that files may have below the root, and those that they get."""
    return {name: name for layout in layouts(entry) for name in layout} | entry.rename


def _is_whole(entry: Entry, folder: Path) -> bool:
    names = names_below_root(entry)
    return not missing(entry, {names[name] for name in names if (folder / name).is_file()})


def find(entry: Entry, folder: Path, downloads: Path, mirror: str | None) -> Found:
    """The first source that has the data set; an archive at an address is downloaded.

    Raises GradrankError with every place looked at, and how to get the data by hand.
    """
    looked = []
    local = None if mirror is None or re.match(r"https?://", mirror) else Path(mirror).expanduser()
    if local is not None:
        for found in _in_folder(entry, local):
            return found
        looked.append(f"{local}: {'not there' if local.is_dir() else 'no such folder'}")
    for archive in entry.archives:
        mirrored = [f"{mirror.rstrip('/')}/{archive.name}"] if mirror and local is None else []
        for url in [*mirrored, *archive.urls]:
            try:
                download(url, downloads / archive.name)
                return Found(downloads / archive.name, url, archive)
            except Unavailable as error:
                looked.append(f"{url}: {error}")
    if _is_whole(entry, folder):
        return Found(folder, "in place")
    names = " or ".join(archive.name for archive in entry.archives) or f"{entry.name}/"
    raise GradrankError(
        f"{entry.name}: no source has it\n"
        f"  looked at:      {'; '.join(looked) or 'nothing, GRADRANK_MIRROR is not set'}\n"
        f"  needed:         {names}\n"
        f"  where to get:   {' '.join(filter(None, [entry.obtain, entry.homepage]))}\n"
        f"  where to put:   into any folder; then run again with GRADRANK_MIRROR set to that folder\n"
        f"  licence:        {entry.licence}"
    )


def _in_folder(entry: Entry, mirror: Path) -> Iterator[Found]:
    """What a local mirror has of the data set: archives first, then folders with the files unpacked."""
    for archive in entry.archives:
        if (mirror / archive.name).is_file():
            yield Found(mirror / archive.name, str(mirror / archive.name), archive)
    stems = [entry.name, *(archive.name.split(".")[0] for archive in entry.archives)]
    unpacked = [mirror / stem / root for stem in stems for root in (entry.root, "")]
    for path in [mirror / entry.root, *unpacked] if entry.root else unpacked:
        if _is_whole(entry, path):
            yield Found(path, str(path))
