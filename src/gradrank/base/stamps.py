"""Stamps: a JSON file per folder, written last, that says what the folder was made of and what lies in it.

The stamps are fetched.json (raw data), collection.json and pairs.json (stored data), spec.json (a trained fold),
evaluation.json (a measured method), provenance.json (a data set or a study) and run.json (results/ itself). `files` of
a stamp holds the SHA-256 of every reproducible file by its path within the folder: no times and no logs. A folder among
them, such as tables/, has one digest for all its files. `checksum` covers the stamp itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json

SCHEMA = 2  # of all stamps; stamps without one were written by gradrank 0.1
OWN = "checksum"  # of the stamp's own content
OTHER_VERSION = "written by another version of gradrank"  # a mismatch that is no damage
REPAIR = "run `gradrank verify --repair`, then the same command again"


def write_stamp(path: Path, values: Mapping[str, Any], files: Iterable[Path]) -> None:
    """Write a stamp atomically: the schema, `values`, and the checksums of `files`, which lie below its folder."""
    write_sealed(path, {"schema": SCHEMA, **values, "files": checksums(files, path.parent)})


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Write a mapping as JSON, atomically, with a checksum of its content in place of the one that it may hold."""
    content = {key: value for key, value in values.items() if key != OWN}
    write_json(path, {**content, OWN: _digest(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what `write_sealed` wrote. Raises GradrankError if its content does not have its checksum."""
    said = read_json(path)
    if not isinstance(said, dict) or (OWN in said and said.pop(OWN) != _digest(said)):
        raise GradrankError(f"{path}: damaged or edited. Fix: {REPAIR}")
    return said


def _digest(values: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(values))  # as it is read back: keys are text
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def checksums(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return the checksum of each file by its path within `folder`, in the order of the paths."""
    return {path.relative_to(folder).as_posix(): checksum(path) for path in sorted(files)}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and checksums of all files in a folder, hidden ones left out."""
    if not path.is_dir():
        return sha256(path)
    inside = sorted(each for each in path.rglob("*") if each.is_file() and not each.name.startswith("."))
    lines = [f"{each.relative_to(path).as_posix()} {sha256(each)}" for each in inside]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_stamp(path: Path) -> dict[str, Any]:
    """Read a stamp. Raises GradrankError if it is missing, damaged or of another schema."""
    if not path.is_file():
        raise GradrankError(f"{path}: no such file, so nothing says what lies in {path.parent}. Fix: {REPAIR}")
    stamp = read_json(path)
    if not isinstance(stamp, dict) or stamp.get("schema") != SCHEMA:
        found = stamp.get("schema", 1) if isinstance(stamp, dict) else "none"
        raise GradrankError(f"{path}: its schema is {found}, not {SCHEMA}: another version wrote it. Fix: {REPAIR}")
    if OWN not in stamp:
        raise GradrankError(f"{path}: damaged or edited: it has no {OWN}. Fix: {REPAIR}")
    return read_sealed(path)


def check_file(stamp: Path, path: Path) -> None:
    """Raise GradrankError unless `path` has the checksum that the stamp of its folder names."""
    known = read_stamp(stamp)["files"].get(path.relative_to(stamp.parent).as_posix())
    if not path.exists() or known is None or checksum(path) != known:
        state = "damaged or edited" if path.exists() else "missing"
        raise GradrankError(f"{path}: {state}: it is not the file that {stamp} names. Fix: {REPAIR}")


def mismatches(stamp: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file that a stamp names and that is missing or has another checksum, with that reason.

    A stamp that cannot be read is a mismatch itself.
    """
    try:
        files = read_stamp(stamp)["files"]
        named = {stamp.parent / name: digest for name, digest in files.items()}
    except (GradrankError, KeyError, AttributeError, OSError):
        yield stamp, OTHER_VERSION if _has_other_schema(stamp) else "damaged or edited"
        return
    for path, digest in named.items():
        if not path.exists():
            yield path, "missing"
        elif not _has(path, digest):
            yield path, "damaged or edited"


def _has_other_schema(stamp: Path) -> bool:
    try:
        said = read_json(stamp)
    except (GradrankError, OSError):
        return False
    return isinstance(said, dict) and said.get("schema", 1) in range(1, SCHEMA) and OWN not in said


def _has(path: Path, digest: str) -> bool:
    try:
        return checksum(path) == digest
    except OSError:  # a disk that cannot read it
        return False
