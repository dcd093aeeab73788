"""Folders that gradrank writes: recognise our own files in them, and refuse folders with the files of others.

A folder is ours if it contains our stamp. The files of the stamp's list are ours as well. Snakemake deletes the stamp
before it repeats a job, so some files are also recognised by their content.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import SCHEMA, is_recognised, write_sealed
from gradrank.base.targets import check_folder_output

CONTENTS = "files.json"  # the stamp of a folder with files for other programs: the names of the files
STAMPS = ("collection.json", "pairs.json", "fetched.json", "spec.json", "evaluation.json", "provenance.json")
STAMPS += ("run.json", "submission.json", CONTENTS)


def listed_files(stamp: Path) -> Iterator[Path]:
    """Yield the stamp and the files that it lists, if they are inside its folder. Empty if the stamp is not ours."""
    if not is_recognised(stamp):
        return
    yield stamp
    folder = Path(os.path.realpath(stamp.parent))
    for name in _names(stamp):
        path = stamp.parent / str(name)
        if ".." not in Path(str(name)).parts and Path(os.path.realpath(path.parent)).is_relative_to(folder):
            yield path


def _names(stamp: Path) -> Iterable[str]:
    try:
        content: Any = json.loads(stamp.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return ()
    if isinstance(content.get("parts"), dict):
        return [f"part{part}.parquet" for part in content["parts"] if part.isdecimal()]
    return content["files"] if isinstance(content.get("files"), dict | list) else ()


def check_own_folder(
    stamp: Path, inputs: Iterable[Path] = (), is_own: Callable[[Path], bool] = lambda _: False
) -> None:
    """Raise GradrankError if the folder of `stamp` contains files that gradrank has not written.

    Hidden files are ignored, because they are neither replaced nor removed. inputs: the inputs of the command, which
    the folder may not contain. is_own: recognises files and folders of interrupted jobs by their content.
    """
    folder = stamp.parent
    check_folder_output(folder, inputs)
    if not folder.is_dir():
        return
    own = {*listed_files(stamp)}
    foreign = [path.relative_to(folder).as_posix() for path in _foreign(folder, own, is_own)]
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise GradrankError(
            f"{folder}: contains other files, which gradrank has not written: {', '.join(foreign[:3])}{more}. "
            "Fix: give a new or empty folder, or move these files away"
        )


def _foreign(folder: Path, own: set[Path], is_own: Callable[[Path], bool]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path in own or is_own(path):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _foreign(path, own, is_own)
        else:
            yield path


def check_own_files(stamp: Path, paths: Iterable[Path]) -> None:
    """Raise GradrankError if gradrank has not written a file that a command replaces in a folder with further files.

    paths: files in the folder of `stamp`. Our files are those that the stamp lists, and stamps.
    """
    own = {*listed_files(stamp)}
    for path in paths:
        if os.path.lexists(path) and path not in own and not is_recognised(path):
            raise GradrankError(
                f"{path}: gradrank has not written this file, or {stamp.name}, which lists it, is missing. "
                "Fix: if it is yours, move it; else delete it, and run the same command again"
            )


def remove_listed(stamp: Path) -> None:
    """Remove a stamp and the files that it lists. Nothing is removed if gradrank has not written the stamp."""
    for path in [*listed_files(stamp)]:
        if path.is_symlink() or path.is_file():
            path.unlink()


def write_contents(folder: Path, names: Iterable[str]) -> None:
    """Write the stamp CONTENTS with the names of our files, in addition to those of an earlier stamp that still exist.

    names: paths within the folder.
    """
    earlier = (path for path in listed_files(folder / CONTENTS) if path.name != CONTENTS and path.is_file())
    files = sorted({*names, *(path.relative_to(folder).as_posix() for path in earlier)})
    write_sealed(folder / CONTENTS, {"schema": SCHEMA, "files": files})
