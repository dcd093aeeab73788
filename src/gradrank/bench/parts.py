"""The parts of a study, and the packed files in git that have the rows of all parts.

Each job of a tuned study and each of a study's own jobs writes one file, a part. A long computation can therefore be
stopped, and continues with the parts that are missing:

trials/<dataset>/<method>/tuner<t>.parquet        the trials of one tuner on every fold
values/<dataset>/<method>/tuner<t>.parquet        the test values of the choices of one tuner, per query
divisions/<dataset>/<method>.parquet              the test values of one configuration on other divisions of the queries
jobs/<job>.json                                   the result of one of the study's own jobs

Git ignores these folders. trials.parquet, values.parquet, divisions.parquet and jobs.parquet have the rows of all
parts of a folder, and columns for the names in the path of the part and for the SHA-256 of its file. The bytes of a
packed file depend only on the parts. If the folder of the parts does not exist, as in a fresh clone, the packed file is
read instead.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.base.files import atomic, read_json, sha256, temporary_folder, write_json
from gradrank.base.stamps import REPAIR, SCHEMA, beginning, fault_of_name

if TYPE_CHECKING:
    import polars as pl

FILE_SHA256 = "file_sha256"  # column of a packed file
PACKED = ".packed"  # a file in the folder of the parts, with the SHA-256 of the packed file that has the same rows
TUNER = "tuner"  # the column whose values are numbers
ROWS = 2**18  # rows per row group of a packed file
LEVEL = 19  # of the compression with zstd

Key = tuple[str | int, ...]  # the names in the path of a part


class Kind(NamedTuple):
    """A kind of parts.

    name: name of their folder. file: path of a part in this folder. columns: the columns of the packed file for the
    names in this path. in_parts: whether the parts have these columns, too.
    """

    name: str
    file: str
    columns: tuple[str, ...]
    in_parts: bool = False

    def key(self, path: str) -> Key | None:
        """Return the names in the path of a part below its folder; None for the path of another file."""
        pattern = re.escape(self.file).replace(r"\{\}", "([^/]+)").replace("tuner([^/]+)", r"tuner([0-9]+)")
        match = re.fullmatch(pattern, path)
        if match is None:
            return None
        names = zip(match.groups(), self.columns, strict=True)
        return tuple(int(name) if column == TUNER else name for name, column in names)

    def position(self, key: Key) -> Key:
        """Return the key by which parts are sorted: jobs by the names of their files, the others by tuner, too."""
        return key if TUNER in self.columns else (self.file.format(*key),)


TRIALS = Kind("trials", "{}/{}/tuner{}.parquet", ("dataset", "model", TUNER), in_parts=True)
VALUES = Kind("values", "{}/{}/tuner{}.parquet", ("dataset", "model", TUNER))
DIVISIONS = Kind("divisions", "{}/{}.parquet", ("dataset", "model"))
JOBS = Kind("jobs", "{}.json", ("job",))
KINDS = {kind.name: kind for kind in (TRIALS, VALUES, DIVISIONS, JOBS)}
PACKED_FILES = tuple(f"{name}.parquet" for name in KINDS)


@dataclass(frozen=True)
class Parts:
    """The parts of one kind of a study. folder: results/studies/<study>/, or that of the reduced form."""

    folder: Path
    kind: Kind

    @property
    def packed_path(self) -> Path:
        return self.folder / f"{self.kind.name}.parquet"

    @property
    def parts_path(self) -> Path:
        """The folder of the parts."""
        return self.folder / self.kind.name

    @property
    def are_unpacked(self) -> bool:
        """Whether the parts are read from their own files, and not from the packed file."""
        return self.parts_path.is_dir()

    def path(self, *key: str | int) -> Path:
        """Return the file of a part. It need not exist."""
        return self.parts_path / self.kind.file.format(*key)

    def name(self, *key: str | int) -> str:
        """Return the path of a part, relative to the folder of the study."""
        return f"{self.kind.name}/{self.kind.file.format(*key)}"

    def existing(self, *first: str | int) -> list[Key]:
        """Return the sorted keys of the existing parts. first: the beginning of the keys; by default, all keys."""
        if not self.are_unpacked:
            return [key for key in self._packed() if key[: len(first)] == first]
        # The names of `first` are folders or files, so only these folders are listed.
        pattern = self.kind.file.format(*first, *["*"] * (len(self.kind.columns) - len(first)))
        files = (path for path in self.parts_path.glob(pattern) if path.is_file())
        found = (self.kind.key(path.relative_to(self.parts_path).as_posix()) for path in files)
        return sorted((key for key in found if key is not None), key=self.kind.position)

    def read(self, *key: str | int) -> "pl.DataFrame":
        """Return the table of a part. Raises GradrankError if the part does not exist or is damaged."""
        if self.are_unpacked:
            return self._read(self.path(*key))
        if key not in self._packed():
            raise GradrankError(f"{self.path(*key)}: no such file. Fix: run `snakemake {self.path(*key)}`")
        added = [] if self.kind.in_parts else self.kind.columns
        return self._packed()[key].drop(FILE_SHA256, *added)

    def sha256(self, *key: str | int) -> str:
        """Return the SHA-256 of the file of a part."""
        return sha256(self.path(*key)) if self.are_unpacked else self._packed()[key][FILE_SHA256][0]

    def whole(self) -> "pl.DataFrame | None":
        """Return the rows of all parts with the columns of the packed file; None if there are no parts.

        Raises GradrankError if a part is damaged, or if parts have different columns.
        """
        import polars as pl

        keys = self.existing()
        tables = [self._with_columns(key) if self.are_unpacked else self._packed()[key] for key in keys]
        try:
            return pl.concat(tables) if tables else None
        except pl.exceptions.PolarsError as error:
            raise GradrankError(
                f"{self.parts_path}: the files have different columns ({error}). Fix: delete those of another version "
                "of gradrank, and run Snakemake again"
            ) from None

    def pack(self) -> int:
        """Write the packed file from the parts, and return the number of parts.

        Raises GradrankError if there are no parts, or if the packed file is not one of gradrank.
        """
        if not self.are_unpacked or not (keys := self.existing()):
            raise GradrankError(f"{self.parts_path}: nothing to pack. Fix: compute the parts with Snakemake first")
        if os.path.lexists(self.packed_path):
            self._check_own()
        table = self.whole()
        assert table is not None
        with atomic(self.packed_path) as partial:
            table.write_parquet(partial, compression="zstd", compression_level=LEVEL, row_group_size=ROWS)
            self._mark(self.parts_path, sha256(partial))
        return len(keys)

    def unpack(self) -> int:
        """Write the parts from the packed file if their folder does not exist. Return the number of written parts.

        A single part that is missing in an existing folder is not written, because its job may have been stopped. The
        parts have the time of the oldest file of the study, so that Snakemake does not take them as newer than a file
        that was made from them.

        Raises GradrankError if the folder exists, and its parts have not been packed to the present packed file, or if
        the packed file names a path outside the folder.
        """
        if not self.packed_path.is_file():
            return 0
        if self.are_unpacked:
            self._check_mark()
            return 0
        if os.path.lexists(self.parts_path):
            raise GradrankError(f"{self.parts_path}: not a folder. Fix: move it, and run the same command again")
        files = {key: self.kind.file.format(*key) for key in self._packed()}
        for key, file in files.items():
            if fault_of_name(file) or self.kind.key(file) != key:
                raise GradrankError(
                    f"{self.packed_path}: names {ascii(file)[:200]}, which is not a part of a study. Fix: run `git "
                    f"restore {self.packed_path}`, or delete it"
                )
        oldest = min(path.stat().st_mtime_ns for path in self.folder.iterdir() if path.is_file())
        with temporary_folder(self.parts_path) as partial:
            for key, file in files.items():
                path = partial / file
                path.parent.mkdir(parents=True, exist_ok=True)
                self._write(self.read(*key), path)
                os.utime(path, ns=(oldest, oldest))
            self._mark(partial, sha256(self.packed_path))
            partial.rename(self.parts_path)
        return len(files)

    def _packed(self) -> "Mapping[Key, pl.DataFrame]":
        """Return the rows of each part in the packed file; empty if there is no packed file."""
        if not self.packed_path.is_file():
            return {}
        self._check_own()
        about = self.packed_path.stat()
        return _partition(self.packed_path.absolute(), self.kind.columns, about.st_mtime_ns, about.st_size)

    def _check_own(self) -> None:
        """Raise GradrankError if the packed file exists, and is not one of gradrank."""
        import polars as pl

        try:
            names = set(pl.read_parquet_schema(self.packed_path)) if self.packed_path.is_file() else set()
        except (OSError, pl.exceptions.PolarsError):
            names = set()
        if not {FILE_SHA256, *self.kind.columns} <= names:
            raise GradrankError(
                f"{self.packed_path}: damaged, or not written by gradrank. Fix: if it is yours, move it; else run `git "
                f"restore {self.packed_path}`, or delete it to pack the parts again"
            )

    def _mark(self, folder: Path, digest: str) -> None:
        with atomic(folder / PACKED) as partial:
            partial.write_text(f"{digest}\n", encoding="ascii")

    def _check_mark(self) -> None:
        mark = self.parts_path / PACKED
        if mark.is_file() and mark.read_text(encoding="ascii", errors="replace").strip() == sha256(self.packed_path):
            return
        raise GradrankError(
            f"{self.packed_path}: is not the file that {self.parts_path} was unpacked from or packed to, for example "
            f"because git replaced it. Fix: delete the folder to use the file, or the file to pack the folder again"
        )

    def _with_columns(self, key: Key) -> "pl.DataFrame":
        """Return the table of a part with the columns of the packed file. Raises GradrankError for a misplaced file."""
        import polars as pl

        table, path = self.read(*key), self.path(*key)
        named = dict(zip(self.kind.columns, key, strict=True))
        if self.kind.in_parts and table.select(*named).unique().rows() != [key]:
            raise GradrankError(f"{path}: has the rows of another part. Fix: move it to the path of its rows")
        digest = pl.lit(sha256(path)).alias(FILE_SHA256)
        if self.kind.in_parts:
            return table.with_columns(digest)
        types = [pl.Int64 if name == TUNER else pl.String for name in named]
        constants = [pl.lit(value, kind).alias(name) for (name, value), kind in zip(named.items(), types, strict=True)]
        return table.select(*constants, pl.all(), digest)

    def _read(self, path: Path) -> "pl.DataFrame":
        import polars as pl

        if not path.is_file():
            raise GradrankError(f"{path}: no such file. Fix: run `snakemake {path}`")
        if self.kind is JOBS:
            return pl.DataFrame({"found": [json.dumps(read_job(path), ensure_ascii=False)]})
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise GradrankError(f"{path}: damaged ({error}). Fix: delete it, and run `snakemake {path}`") from None

    def _write(self, table: "pl.DataFrame", path: Path) -> None:
        if self.kind is JOBS:
            write_job(path, json.loads(table["found"][0]))
        else:
            write_part(table, path)


@lru_cache(maxsize=4)
def _partition(path: Path, columns: tuple[str, ...], *_: int) -> "Mapping[Key, pl.DataFrame]":
    """Return the rows of each part in a packed file. The further arguments change if the file changes."""
    import polars as pl

    try:
        return pl.read_parquet(path).partition_by(columns, as_dict=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise GradrankError(f"{path}: damaged ({error}). Fix: run `git restore {path}`") from None


def write_part(table: "pl.DataFrame", path: Path) -> None:
    """Write the table of a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as partial:
        table.write_parquet(partial, compression="zstd", compression_level=LEVEL)


def unpack_results(folder: Path) -> Iterator[str]:
    """Unpack each packed file of a study whose parts do not exist, and yield a line about it.

    Snakemake then finds the results of the jobs as if they had been computed here. folder: as for `study_parts`.
    """
    for parts in study_parts(folder):
        if count := parts.unpack():
            yield f"{parts.parts_path}: {count} results of jobs, unpacked from {parts.packed_path}"


def study_parts(folder: Path) -> Iterator[Parts]:
    """Yield the parts of each kind of a study. folder: results/studies/<study>/, or that of the reduced form."""
    return (Parts(folder, kind) for kind in KINDS.values())


_JOB = re.compile(rb'\s*\{\s*"schema": \d+,\s*"sha256": "[0-9a-f]{64}",\s*"found":')


def write_job(path: Path, result: Any) -> None:
    """Write the result of a study's job as JSON. The file contains its own checksum, so it needs no separate stamp."""
    write_json(path, {"schema": SCHEMA, "sha256": _sha256_of(result), "found": result})


def read_job(path: Path) -> Any:
    """Return the result that `write_job` wrote. Raises GradrankError if the file was damaged or edited."""
    content = read_json(path)
    if not isinstance(content, dict) or "found" not in content or content.get("sha256") != _sha256_of(content["found"]):
        advice = (
            REPAIR if is_job(path) else f"if {path.name} is yours, move it; else delete it, and run Snakemake again"
        )
        raise GradrankError(f"{path}: damaged or edited. Fix: {advice}")
    return content["found"]


def is_job(path: Path) -> bool:
    """Return True if a file begins as `write_job` begins it. The rest may be damaged."""
    return _JOB.match(beginning(path)) is not None


def _sha256_of(value: Any) -> str:
    try:
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
    except RecursionError:  # json reads deeper structures than it writes
        return ""
