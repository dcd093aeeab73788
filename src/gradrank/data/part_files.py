"""Folders of numbered Parquet files, part1.parquet, part2.parquet and so on, with a JSON file that describes them.

The description is written last and names the SHA-256 of each part file. Workflows therefore track the description
alone, and a reader of a part can tell whether the file is still the one that was written.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, sha256
from gradrank.base.stamps import REPAIR, read_sealed

COLLECTION, PAIRS = "collection.json", "pairs.json"  # in data/parquet/<dataset>/ and data/pairs/<dataset>/
# Values of `targets` and `ties` in pairs.json.
GRADES, GIVEN, OMIT, HALF = "grades", "given", "omit", "half"


@dataclass(frozen=True)
class PartFolder:
    """A folder of part files whose description has been read.

    Parameters
    ----------
    path
        The folder.
    description
        The content of its JSON file, without the checksum of the JSON file itself.
    """

    DESCRIPTION_FILE: ClassVar[str]
    COMMAND: ClassVar[str]  # the command that writes such a folder

    path: Path
    description: dict[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Read the description of the folder `path`.

        Raises GradrankError if the folder has no description, or if the description is damaged or edited.
        """
        folder = Path(path)
        file = folder / cls.DESCRIPTION_FILE
        if not file.is_file():
            raise GradrankError(
                f"{folder}: no {cls.DESCRIPTION_FILE} in this folder. Fix: give a folder that `gradrank {cls.COMMAND}` "
                "has written"
            )
        return cls(folder, read_sealed(file))

    @property
    def parts(self) -> list[int]:
        """The part numbers, in the order of the description."""
        return [int(part) for part in self.description["parts"]]

    @property
    def checksums(self) -> dict[int, str]:
        """The SHA-256 of each part file, by part number."""
        return {part: self.part(part)["sha256"] for part in self.parts}

    def part(self, number: int) -> dict[str, Any]:
        """Return the description of one part. Raises GradrankError if there is no such part."""
        parts = self.description["parts"]
        if str(number) not in parts:
            raise GradrankError(f"{self.path}: part {number} has no rows; its parts are {', '.join(parts)}")
        return parts[str(number)]

    def part_file(self, number: int) -> Path:
        """Return the path of a part file, after comparing its checksum with the description.

        Raises GradrankError if there is no such part, or if its file is missing or not the one that was written. The
        checksum of an unchanged file is computed once per process.
        """
        expected = self.part(number)["sha256"]
        path = self.path / f"part{number}.parquet"
        described_in = self.path / self.DESCRIPTION_FILE
        if not path.is_file():
            raise GradrankError(f"{path}: missing, although {described_in} names it. Fix: {REPAIR}")
        stat = path.stat()
        if _sha256(path, stat.st_size, stat.st_mtime_ns) != expected:
            raise GradrankError(
                f"{path}: damaged or replaced: its checksum differs from that in {described_in}. Fix: {REPAIR}"
            )
        return path


@cache
def _sha256(path: Path, size: int, modified_ns: int) -> str:
    """Return the checksum of a file, cached by its path, size and modification time."""
    return sha256(path)


def write_parts(
    folder: Path,
    description_file: str,
    writers: Mapping[int, Callable[[Path], Mapping[str, Any]]],
    check: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Write all part files to temporary names and move them into place together.

    If anything fails, `folder` stays as it was. Otherwise, `description_file` is removed from it, and the caller writes
    the new description last.

    Parameters
    ----------
    writers
        For each part number, a function that writes the part to the path it is given and returns the part's entries for
        the description.
    check
        Called after all parts are written. It raises an error to reject them.

    Returns
    -------
    dict
        The entries of each part and its `sha256`, by the part number as text.
    """
    written: dict[str, dict[str, Any]] = {}
    with _removed_if_empty(folder), ExitStack() as stack:
        for part, write in writers.items():
            partial = stack.enter_context(atomic(folder / f"part{part}.parquet"))
            written[str(part)] = dict(write(partial)) | {"sha256": sha256(partial)}
        check()
        (folder / description_file).unlink(missing_ok=True)
    for path in folder.glob("part*.parquet"):
        if path.stem.removeprefix("part") not in written:  # from an earlier collection with more parts
            path.unlink()
    return written


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """Remove the folder at the end if it is empty, so that a failure leaves nothing behind."""
    try:
        yield
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
