"""Folders of numbered Parquet files (part1.parquet, part2.parquet and so on), with a JSON file that describes them.

The description is written last and contains the SHA-256 of each part file. Workflows therefore need to track only the
description. When a part is read, the checksum shows whether its file was changed after it was written.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, sha256
from gradrank.base.stamps import REPAIR, check_own_folder, read_sealed

# The descriptions in data/parquet/<dataset>/ and in data/pairs/<dataset>/.
COLLECTION, PAIRS = "collection.json", "pairs.json"
# Values of `targets` and `ties` in pairs.json.
GRADES, GIVEN, OMIT, HALF = "grades", "given", "omit", "half"
PART_NAME = re.compile(r"part(\d+)\.parquet")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class PartFolder:
    """A folder of part files whose description has been read.

    Parameters
    ----------
    path
        The folder.
    description
        The content of the JSON file, without the checksum of the JSON file itself.
    """

    DESCRIPTION_FILE: ClassVar[str]
    COMMAND: ClassVar[str]  # the command that writes such a folder
    ENTRIES: ClassVar[Mapping[str, type]]  # the entries that each description has besides `parts`
    PART_ENTRIES: ClassVar[Mapping[str, type]]  # the entries of each part

    path: Path
    description: dict[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Read the description of the folder `path`.

        Raises GradrankError if the folder has no description, or if the description is damaged or edited, or was not
        written by gradrank.
        """
        folder = Path(path)
        file = folder / cls.DESCRIPTION_FILE
        if not file.is_file():
            raise GradrankError(
                f"{folder}: no {cls.DESCRIPTION_FILE} in this folder. Fix: give a folder that `gradrank {cls.COMMAND}` "
                "has written"
            )
        description = read_sealed(file)
        if fault := cls._fault(description):
            raise GradrankError(
                f"{file}: {fault}, so gradrank did not write this file. Fix: run `gradrank {cls.COMMAND}` again"
            )
        return cls(folder, description)

    @classmethod
    def _fault(cls, description: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the form of a description, as text for messages; None if nothing is."""
        parts = description.get("parts")
        if not isinstance(parts, dict) or not all(_NUMBER.fullmatch(part) for part in parts):
            return "`parts` is not a mapping from part numbers"
        entries = [("", description, cls.ENTRIES)]
        entries += [(f"parts.{part}.", entry, {"sha256": str, **cls.PART_ENTRIES}) for part, entry in parts.items()]
        for where, entry, types in entries:
            for key, kind in types.items():
                if not isinstance(entry, dict) or type(entry.get(key)) is not kind:
                    return f"`{where}{key}` is not of the type {kind.__name__}"
        return None

    @property
    def parts(self) -> list[int]:
        """The part numbers, in the order of the description."""
        return [int(part) for part in self.description["parts"]]

    @property
    def checksums(self) -> dict[int, str]:
        """A dict from part number to the SHA-256 of the part file."""
        return {part: self.part(part)["sha256"] for part in self.parts}

    def part(self, number: int) -> dict[str, Any]:
        """Return the description of one part. Raises GradrankError if there is no such part."""
        parts = self.description["parts"]
        if str(number) not in parts:
            raise GradrankError(
                f"{self.path}: part {number} has no rows. Fix: give one of its parts, {', '.join(parts)}"
            )
        return parts[str(number)]

    def part_file(self, number: int) -> Path:
        """Check a part file against the checksum in the description, and return its path.

        Raises GradrankError if there is no such part, or if its file is missing or was changed. The checksum of an
        unchanged file is computed only once per process.
        """
        expected = self.part(number)["sha256"]
        path = self.path / f"part{number}.parquet"
        described_in = self.path / self.DESCRIPTION_FILE
        if not path.is_file():
            raise GradrankError(f"{path}: missing, although {described_in} lists it. Fix: {REPAIR}")
        stat = path.stat()
        if _sha256(path, stat.st_size, stat.st_mtime_ns) != expected:
            raise GradrankError(
                f"{path}: damaged or replaced: its checksum differs from the checksum in {described_in}. Fix: {REPAIR}"
            )
        return path


@cache
def _sha256(path: Path, size: int, modified_ns: int) -> str:
    """Return the SHA-256 of a file. It is computed again only if the size or the modification time changes."""
    return sha256(path)


def check_part_folder(stamp: Path, inputs: Iterable[Path], is_ours: Callable[[list[str]], bool]) -> None:
    """Raise GradrankError if the folder of `stamp` contains files that gradrank has not written.

    Without the stamp, which Snakemake deletes before it repeats a job, part files are recognised by their columns.

    Parameters
    ----------
    stamp
        The description of the folder, which need not exist.
    inputs
        The inputs of the command. The folder may not contain them.
    is_ours
        A function that takes the names of the columns of a part file. It returns True if gradrank writes such files.
    """
    check_own_folder(stamp, inputs, lambda path: _is_part(path, is_ours))


def _is_part(path: Path, is_ours: Callable[[list[str]], bool]) -> bool:
    import polars as pl
    from polars.exceptions import PolarsError

    if not PART_NAME.fullmatch(path.name) or not path.is_file():
        return False
    try:
        return is_ours(list(pl.read_parquet_schema(path)))
    except (PolarsError, OSError):
        return False


def write_parts(
    folder: Path,
    description_file: str,
    writers: Mapping[int, Callable[[Path], Mapping[str, Any]]],
    check: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Write all part files under temporary names, and then move them into place together.

    If a part cannot be written or is rejected, `folder` stays as it was. Otherwise, the old `description_file` and
    the parts of an earlier collection with more parts are removed, and the caller writes the new description last. The
    caller has called `check_part_folder`.

    Parameters
    ----------
    writers
        A dict from part number to a function. The function takes a path, writes the part to this path, and returns the
        entries of the part for the description.
    check
        A function that is called after all parts are written. It raises an error to reject the parts.

    Returns
    -------
    dict
        For each part, its entries and the `sha256` of its file. The keys are the part numbers as text.
    """
    written: dict[str, dict[str, Any]] = {}
    with _removed_if_empty(folder), ExitStack() as stack:
        for part, write in writers.items():
            partial = stack.enter_context(atomic(folder / f"part{part}.parquet"))
            written[str(part)] = dict(write(partial)) | {"sha256": sha256(partial)}
        check()
        (folder / description_file).unlink(missing_ok=True)
    for path in folder.iterdir():
        if (match := PART_NAME.fullmatch(path.name)) and match[1] not in written:
            path.unlink()
    return written


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """Remove the folder on exit if it is empty, so that nothing is left after a failure."""
    try:
        yield
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
