"""Checksum files, called stamps, and the folders that gradrank writes.

A stamp is one JSON file per folder, with its inputs and the checksums of its files.

The stamp is the last file that is written into a folder. The stamps are fetched.json (raw data), collection.json and
pairs.json (stored data), spec.json (a trained fold), evaluation.json (an evaluated method), provenance.json (a data set
or a study), run.json (results/ itself) and submission.json (a submission). The key `files` of a stamp maps the path of
each reproducible file in the folder to the SHA-256 of that file. Timings and logs are left out. A subfolder such as
tables/ has one digest for all its files. The key `checksum` covers the stamp itself.

The first key, `gradrank`, is the marker: its value is the name of the file without .json. A file without marker and
without a valid checksum is not a stamp, whatever its name. Anyone can write a stamp, so its content is untrusted: the
paths that it names must be below its folder.

Folders with the files of others are refused. A folder is ours if it contains our stamp. The files of the stamp's list
are ours as well. Snakemake deletes the stamp before it repeats a job, so some files are also recognised by their
content.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import check_folder_output, read_json, sha256, write_json

SCHEMA = 2  # version of the format of all stamps
MARKER = "gradrank"  # the first key of a stamp
CHECKSUM = "checksum"  # the key of the checksum that covers the stamp itself
TABLES = "tables"  # a subfolder with one digest for all its files
MISSING, DAMAGED = "missing", "damaged or edited"  # the reasons of a mismatch that a repair can remove
REPAIR = (
    "run `gradrank verify --repair` in the project, then the same command again; outside a project, write the folder "
    "again"
)
_NOT_A_STAMP = "damaged, or not written by gradrank"
_BEGINNING = re.compile(rb'\s*\{\s*"gradrank"\s*:\s*"(\w+)"')
_BEGINNING_BYTES = 200  # more than the marker needs
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def write_stamp(path: Path, values: Mapping[str, Any], files: Iterable[Path]) -> None:
    """Write a stamp atomically, with the schema, `values`, and the checksums of `files`.

    files: paths in the folder of the stamp.
    """
    write_sealed(path, {"schema": SCHEMA, **values, "files": checksums(files, path.parent)})


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Write a mapping atomically as JSON, with a marker and a checksum of its content.

    A marker and a checksum in `values` are replaced.
    """
    content = {key: value for key, value in values.items() if key not in (MARKER, CHECKSUM)}
    content = {MARKER: path.stem, **content}
    write_json(path, {**content, CHECKSUM: _digest(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the mapping that `write_sealed` wrote, without marker and checksum.

    A file without marker, as gradrank wrote it before the marker existed, is read if its checksum is valid. Raises
    GradrankError if the content differs from its checksum, or if it is the content of a stamp of another name.
    """
    content = read_json(path)
    if not _is_sealed(content):
        raise GradrankError(f"{path}: {DAMAGED if has_marker(path) else _NOT_A_STAMP}. Fix: {_advice(path)}")
    if content.get(MARKER, path.stem) != path.stem:
        raise GradrankError(
            f"{path}: contains a {content[MARKER]}.json. Fix: give each file of gradrank the name that it was "
            "written with"
        )
    return {key: value for key, value in content.items() if key not in (MARKER, CHECKSUM)}


def _advice(path: Path) -> str:
    """Return how to fix a stamp that cannot be read. A repair removes only stamps with a marker."""
    return REPAIR if has_marker(path) else f"if {path.name} is yours, move it; else delete it, and write it again"


def _is_sealed(content: Any) -> bool:
    """Return True if the content of a JSON file has a valid checksum of itself."""
    if not isinstance(content, dict) or CHECKSUM not in content:
        return False
    try:
        return content[CHECKSUM] == _digest({key: value for key, value in content.items() if key != CHECKSUM})
    except RecursionError:  # json reads deeper structures than it writes
        return False


def is_recognised(path: Path) -> bool:
    """Return True if gradrank wrote a file: it begins with the marker of its name, or its checksum is valid.

    A file with a marker may be damaged.
    """
    if has_marker(path):
        return True
    try:
        return path.is_file() and _is_sealed(read_json(path))
    except (GradrankError, OSError):
        return False


def has_marker(path: Path) -> bool:
    """Return True if a file begins with the marker of a stamp of its name. The rest may be damaged."""
    match = _BEGINNING.match(beginning(path))
    return match is not None and match[1].decode() == path.stem


def beginning(path: Path) -> bytes:
    """Return the first bytes of a regular file, or no bytes if the path is not a regular file or cannot be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            return stream.read(_BEGINNING_BYTES)
    except OSError:
        return b""


def _digest(values: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(values))  # the same data as after reading the file: keys become text
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def checksums(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return a dict from the path of each file within `folder` to its checksum, sorted by path."""
    return {path.relative_to(folder).as_posix(): checksum(path) for path in sorted(files)}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; for a folder, of the names and checksums of all its files that are not hidden.

    Symbolic links in a folder are left out.
    """
    if not path.is_dir():
        return sha256(path)
    files = sorted(file for file in path.rglob("*") if is_plain_file(file) and not file.name.startswith("."))
    lines = [f"{file.relative_to(path).as_posix()} {sha256(file)}" for file in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_plain_file(path: Path) -> bool:
    """Return True for a regular file that is not a symbolic link."""
    return path.is_file() and not path.is_symlink()


def fault_of_name(name: object) -> str | None:
    """Return why a path that a stamp names is unsafe, as text for messages; None if it is a plain path below a folder.

    A safe path has the form that `checksums` writes: relative, with slashes, without `..`.
    """
    if not isinstance(name, str):
        return "is not text"
    if not name or _UNPRINTABLE.search(name):
        return "is not the name of a file"
    windows = PureWindowsPath(name)
    if name.startswith("/") or windows.drive or "\\" in name:
        return "is not relative to the folder"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "is not a plain path below the folder"
    return None


def check_names(stamp: Path, names: Iterable[object]) -> None:
    """Raise GradrankError for the first unsafe path that a stamp names."""
    for name in names:
        if fault := fault_of_name(name):
            raise GradrankError(
                f"{stamp}: names {ascii(name)[:200]}, which {fault}, so gradrank did not write this file. Fix: delete "
                "it, and run the command that writes it"
            )


def fault_of_path(folder: Path, name: str) -> str | None:
    """Return why a path below `folder` must not be opened, as text for messages; None if it may be.

    Regular files and the folder TABLES may be opened if their real place is within the real place of `folder`. The text
    is MISSING if there is nothing at the path.
    """
    path = folder / name
    try:
        if not os.path.lexists(path):
            return MISSING
        if not path.resolve().is_relative_to(folder.resolve()):
            return "a symbolic link that leads out of the folder"
        return None if path.is_file() or (path.is_dir() and name == TABLES) else "not a regular file"
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that the system does not accept
        return "cannot be opened"


def read_stamp(path: Path) -> dict[str, Any]:
    """Return the content of a stamp without marker and checksum.

    Raises GradrankError if it is missing or damaged, has a different schema, or names a path outside its folder.
    """
    if not path.is_file():
        raise GradrankError(
            f"{path}: this stamp is missing, so the files in {path.parent} cannot be checked. Fix: run Snakemake or "
            "the command that writes it again"
        )
    content = read_json(path)
    schema = content.get("schema", 1) if isinstance(content, dict) else "missing"
    if schema != SCHEMA:
        raise GradrankError(
            f"{path}: the schema is {schema}, not {SCHEMA}, so another version of gradrank or another program wrote "
            f"it. Fix: if it is yours, move it; else delete {path}, and run the command that writes it"
        )
    stamp = read_sealed(path)
    files = stamp.get("files")
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise GradrankError(f"{path}: `files` is not a list of checksums. Fix: delete it, and write it again")
    check_names(path, files)
    return stamp


def check_file(stamp: Path, path: Path) -> None:
    """Raise GradrankError if the checksum of `path` differs from the one in the stamp, or if a file is missing."""
    expected = read_stamp(stamp)["files"].get(path.relative_to(stamp.parent).as_posix())
    if expected is None and path.exists():
        raise GradrankError(f"{path}: not listed in {stamp}. Fix: delete {stamp}, and run the same command again")
    if not (path.is_file() or path.is_dir()) or checksum(path) != expected:
        state = DAMAGED if path.exists() else MISSING
        raise GradrankError(f"{path}: {state}, according to {stamp}. Fix: {REPAIR}")


def mismatches(stamp: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path, reason) for each file of a stamp that is missing or has a different checksum.

    If the stamp itself cannot be read, only the stamp is yielded. No file outside its folder is opened.
    """
    try:
        files = read_stamp(stamp)["files"]
    except (GradrankError, OSError) as error:
        yield stamp, reason_of(stamp, error)
        return
    yield from differing(stamp, files)


def differing(stamp: Path, files: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield (path, reason) for each of the `files` that is missing, must not be opened or has a different SHA-256.

    files: the checksums by path below the folder of the stamp; `check_names` has accepted the paths.
    """
    for name, digest in files.items():
        path = stamp.parent / name
        if fault := fault_of_path(stamp.parent, name):
            yield path, fault
        elif not _has_checksum(path, digest):
            yield path, DAMAGED


def reason_of(stamp: Path, error: Exception | None = None) -> str:
    """Return the reason of a mismatch for a stamp that could not be read. error: the error of the attempt."""
    if not is_recognised(stamp):
        return _NOT_A_STAMP
    try:
        is_complete = _is_sealed(read_json(stamp))
    except (GradrankError, OSError):
        is_complete = False
    if error is None or not is_complete:
        return DAMAGED
    return str(error).removeprefix(f"{stamp}: ").partition(" Fix: ")[0].rstrip(".")


def _has_checksum(path: Path, digest: str) -> bool:
    try:
        return checksum(path) == digest
    except OSError:  # the disk cannot read the file
        return False


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
