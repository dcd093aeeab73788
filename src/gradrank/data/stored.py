"""Stored collections: a folder with a Parquet file a part, part1.parquet, .., and a JSON file that describes them.

The description, written last, names the SHA-256 of each part's file: it stands for all of them where a workflow asks
what has changed, and whoever reads a part finds out whether it is still the file that was written.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, sha256
from gradrank.base.stamps import REPAIR, read_sealed

COLLECTION, PAIRS = "collection.json", "pairs.json"  # of data/parquet/<dataset>/ and of data/pairs/<dataset>/
# What pairs.json says besides its parts: whose the targets are, the grades' or a user's; what becomes of equal grades.
GRADES, GIVEN, OMIT, HALF = "grades", "given", "omit", "half"
CRUCIAL = {"targets": GRADES, "ties": OMIT}


def write_parts(
    folder: Path,
    description: str,
    writers: Mapping[int, Callable[[Path], Mapping[str, Any]]],
    check: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Have each part's file written, and put them in place once all are whole; `folder` stays as it was otherwise.

    writers: for each part what writes its file, and returns what the description is to say of it. Returns that, with
    the file's `sha256`, by the part's number as text. check: called once all are written, to refuse them. The
    folder's `description` is removed: the caller writes it last.
    """
    written: dict[str, dict[str, Any]] = {}
    with _removed_if_empty(folder), ExitStack() as stack:
        for part, write in writers.items():
            partial = stack.enter_context(atomic(folder / f"part{part}.parquet"))
            written[str(part)] = dict(write(partial)) | {"sha256": sha256(partial)}
        check()
        (folder / description).unlink(missing_ok=True)
    for path in folder.glob("part*.parquet"):
        if path.stem.removeprefix("part") not in written:  # of a collection that had more
            path.unlink()
    return written


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    try:
        yield
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def describe(folder: Path | str, description: str = COLLECTION) -> dict[str, Any]:
    """What a folder's description says. Raises GradrankError where there is none."""
    path = Path(folder) / description
    if not path.is_file():
        command = {COLLECTION: "parse", PAIRS: "pairs"}[description]
        raise GradrankError(f"{folder}: no {description} in it; expected a folder that `gradrank {command}` has made")
    return read_sealed(path)


def pairs_told(folder: Path | str) -> dict[str, Any]:
    """What a specification says of stored pairs, under `pairs`; nothing of those that are the crucial pairs."""
    own = {key: value for key, value in describe(folder, PAIRS).items() if key != "parts"}
    return {} if own in ({}, CRUCIAL) else {"pairs": own}


def part_file(folder: Path | str, part: int, description: str = COLLECTION) -> Path:
    """The Parquet file of a part. Raises GradrankError unless it is, byte for byte, the one that was written."""
    folder = Path(folder)
    parts = describe(folder, description)["parts"]
    if str(part) not in parts:
        raise GradrankError(f"{folder}: part {part} has no rows; its parts are {', '.join(parts)}")
    path = folder / f"part{part}.parquet"
    if not path.is_file():
        raise GradrankError(f"{path}: missing, although {folder / description} names it. Fix: {REPAIR}")
    stat = path.stat()
    if _sha256(path, stat.st_size, stat.st_mtime_ns) != parts[str(part)]["sha256"]:
        raise GradrankError(
            f"{path}: damaged or replaced: not the file that {folder / description} names. Fix: {REPAIR}"
        )
    return path


@cache
def _sha256(path: Path, size: int, modified: int) -> str:
    """Once a process and file, so long as it does not change."""
    return sha256(path)


def files(folder: Path, description: str = COLLECTION) -> list[Path]:
    """The description and every part's file, as the description names them."""
    parts = describe(folder, description)["parts"]
    return [folder / description, *(folder / f"part{part}.parquet" for part in parts)]
