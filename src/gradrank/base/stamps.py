"""Checksum files, called stamps: one JSON file per folder, with its inputs and the checksums of its files.

The stamp is the last file that is written into a folder. The stamps are fetched.json (raw data), collection.json and
pairs.json (stored data), spec.json (a trained fold), evaluation.json (an evaluated method), provenance.json (a data set
or a study) and run.json (results/ itself). The key `files` of a stamp maps the path of each reproducible file in the
folder to the SHA-256 of that file. Timings and logs are left out. A subfolder such as tables/ has one digest for all
its files. The key `checksum` covers the stamp itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import read_json, sha256, write_json

SCHEMA = 2  # version of the format of all stamps; gradrank 0.1 wrote stamps without it
CHECKSUM = "checksum"  # the key of the checksum that covers the stamp itself
OTHER_VERSION = "written by another version of gradrank"  # the reason of a mismatch if a stamp has another schema
REPAIR = "run `gradrank verify --repair`, then the same command again"


def write_stamp(path: Path, values: Mapping[str, Any], files: Iterable[Path]) -> None:
    """Write a stamp atomically, with the schema, `values`, and the checksums of `files`.

    files: paths in the folder of the stamp.
    """
    write_sealed(path, {"schema": SCHEMA, **values, "files": checksums(files, path.parent)})


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Write a mapping atomically as JSON, with a checksum of its content. A checksum in `values` is replaced."""
    content = {key: value for key, value in values.items() if key != CHECKSUM}
    write_json(path, {**content, CHECKSUM: _digest(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the mapping that `write_sealed` wrote. Raises GradrankError if the content differs from its checksum."""
    content = read_json(path)
    if not isinstance(content, dict) or (CHECKSUM in content and content.pop(CHECKSUM) != _digest(content)):
        raise GradrankError(f"{path}: damaged or edited. Fix: {REPAIR}")
    return content


def _digest(values: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(values))  # the same data as after reading the file: keys become text
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def checksums(files: Iterable[Path], folder: Path) -> dict[str, str]:
    """Return a dict from the path of each file within `folder` to its checksum, sorted by path."""
    return {path.relative_to(folder).as_posix(): checksum(path) for path in sorted(files)}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; for a folder, of the names and checksums of all its files that are not hidden."""
    if not path.is_dir():
        return sha256(path)
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    lines = [f"{file.relative_to(path).as_posix()} {sha256(file)}" for file in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_stamp(path: Path) -> dict[str, Any]:
    """Return the content of a stamp. Raises GradrankError if it is missing or damaged, or has a different schema."""
    if not path.is_file():
        raise GradrankError(
            f"{path}: this stamp is missing, so the files in {path.parent} cannot be checked. Fix: {REPAIR}"
        )
    stamp = read_json(path)
    if not isinstance(stamp, dict) or stamp.get("schema") != SCHEMA:
        schema = stamp.get("schema", 1) if isinstance(stamp, dict) else "missing"
        raise GradrankError(
            f"{path}: the schema is {schema}, not {SCHEMA}, so another version of gradrank wrote it. Fix: {REPAIR}"
        )
    if CHECKSUM not in stamp:
        raise GradrankError(f"{path}: damaged or edited: it has no {CHECKSUM}. Fix: {REPAIR}")
    return read_sealed(path)


def check_file(stamp: Path, path: Path) -> None:
    """Raise GradrankError if the checksum of `path` differs from the one in the stamp, or if a file is missing."""
    expected = read_stamp(stamp)["files"].get(path.relative_to(stamp.parent).as_posix())
    if not path.exists() or expected is None or checksum(path) != expected:
        state = "damaged or edited" if path.exists() else "missing"
        raise GradrankError(f"{path}: {state}, according to {stamp}. Fix: {REPAIR}")


def mismatches(stamp: Path) -> Iterator[tuple[Path, str]]:
    """Yield (path, reason) for each file of a stamp that is missing or has a different checksum.

    If the stamp itself cannot be read, only the stamp is yielded.
    """
    try:
        files = read_stamp(stamp)["files"]
        expected = {stamp.parent / name: digest for name, digest in files.items()}
    except (GradrankError, KeyError, AttributeError, OSError):
        yield stamp, OTHER_VERSION if _has_other_schema(stamp) else "damaged or edited"
        return
    for path, digest in expected.items():
        if not path.exists():
            yield path, "missing"
        elif not _has_checksum(path, digest):
            yield path, "damaged or edited"


def _has_other_schema(stamp: Path) -> bool:
    try:
        content = read_json(stamp)
    except (GradrankError, OSError):
        return False
    return isinstance(content, dict) and content.get("schema", 1) in range(1, SCHEMA) and CHECKSUM not in content


def _has_checksum(path: Path, digest: str) -> bool:
    try:
        return checksum(path) == digest
    except OSError:  # the disk cannot read the file
        return False
