"""Reading of the files of a collection, of which LETOR's rotation repeats each part.

The files of LETOR's folds are checked to repeat the files of its parts, so that each part is stored once.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, permutations
from pathlib import Path
from typing import NamedTuple

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import blocks
from gradrank.data.fold_parts import Source
from gradrank.data.layout import FoldOptions, Layout, Rotation, is_table
from gradrank.data.reader import Reading, read_collection
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.data.text.letor import Missing


def differing_line(copy: Path, originals: Sequence[Path]) -> int | None:
    """Return the number of the first line that differs from the concatenated originals, or None if no line differs.

    Lines are counted from 1.
    """
    return _first_difference(blocks(copy), chain.from_iterable(map(blocks, originals)))


Difference = Callable[[Path, Sequence[Path]], int | None]


def is_repeated(rotation: Rotation, difference: Difference = differing_line) -> bool:
    """Return True if every file of the folds repeats the parts that `rotation.copies` lists for it.

    difference: a function of a file and its originals. It returns the number of the first unit that differs, or None if
    the file is equal to its originals. The default compares text byte by byte.
    """
    return not any(_differing(rotation, copy, difference) for copy in rotation.copies)


def check_copies(rotation: Rotation, unit: str = "line", difference: Difference = differing_line) -> None:
    """Raise GradrankError if a file of a fold does not repeat its parts.

    unit: the name of what `difference` counts, for the error message. The other arguments are those of `is_repeated`.
    """
    for copy, parts in rotation.copies.items():
        if number := _differing(rotation, copy, difference):
            originals = " + ".join(str(rotation.sources[part]) for part in parts)
            raise GradrankError(
                f"{copy}: {unit} {number}: differs from {originals}, which this file must repeat. Fix: get the "
                "files of the folds and of the parts from the same release"
            )


def _differing(rotation: Rotation, copy: Path, difference: Difference) -> int | None:
    """Return the number of the first unit in which a file differs from its parts, or None if it repeats them.

    If the parts may have any order, it is the highest number over all orders.
    """
    differing: list[int] = []
    parts = rotation.copies[copy]
    for order in [parts] if rotation.in_order else permutations(parts):
        number = difference(copy, [rotation.sources[part] for part in order])
        if number is None:
            return None
        differing.append(number)
    return max(differing)


def _first_difference(first: Iterable[bytes], second: Iterable[bytes]) -> int | None:
    """Return the number of the first line in which two texts differ, counted from 1, or None if they are equal."""
    line, a, b = 1, b"", b""
    blocks_a, blocks_b = iter(first), iter(second)
    while True:
        a, b = a or next(blocks_a, b""), b or next(blocks_b, b"")
        length = min(len(a), len(b))
        if a[:length] != b[:length]:
            equal_bytes = next(i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
            return line + a.count(b"\n", 0, equal_bytes)
        if length == 0:
            return line if a or b else None
        line += a.count(b"\n", 0, length)
        a, b = a[length:], b[length:]


class FilesRead(NamedTuple):
    """The files of a collection after their queries were found.

    Parameters
    ----------
    reading
        The files, and how their rows are read.
    sources
        The queries of each file that contains a part.
    repeated
        LETOR's rotation, if the files are one. The files that repeat parts are then not in `sources`.
    columns
        The declared columns of tables, in which the column of folds is set aside.
    """

    reading: Reading
    sources: dict[Path, Source]
    repeated: Rotation | None
    columns: Columns


def read_files(
    layout: Layout,
    options: FoldOptions,
    columns: Columns,
    features: int | None,
    missing: Missing | None,
    folder: Path,
    roles: Sequence[str] = ("query", "label"),
) -> FilesRead:
    """Find the queries of the files of a collection.

    `columns`, `features`, `missing`, `folder` and `roles` are those of `read_collection`. The column `options.fold` is
    set aside.

    Raises GradrankError for the errors of `read_collection`, and if S1 to S5 are present but the files of the folds do
    not repeat them.
    """
    if options.fold is not None and options.fold not in columns.ignore:
        columns = replace(columns, ignore=(*columns.ignore, options.fold))
    if not any(map(is_table, layout.files)):
        repeated = _repeated(layout, options, "line", differing_line)
        files = layout.files if repeated is None else list(repeated.sources.values())
        reading = read_collection(files, columns, features, missing, folder, roles)
        return FilesRead(reading, dict(zip(files, reading.sources, strict=True)), repeated, columns)
    reading = read_collection(layout.files, columns, features, missing, roles=roles)
    sources = zip(layout.files, reading.sources, strict=True)
    tables = {file: table for file, table in sources if isinstance(table, DataTable)}

    def difference(copy: Path, parts: Sequence[Path]) -> int | None:
        return tables[copy].differing_row([tables[part] for part in parts])

    repeated = _repeated(layout, options, "row", difference)
    files = layout.files if repeated is None else list(repeated.sources.values())
    return FilesRead(reading, {file: tables[file] for file in files}, repeated, columns)


def _repeated(layout: Layout, options: FoldOptions, unit: str, difference: Difference) -> Rotation | None:
    """Return the rotation that the files repeat, or None if they are not a rotation.

    Raises GradrankError if S1 to S5 are present and the files of the folds do not repeat them.
    """
    if layout.rotation is None or options.validation is not None:
        return None
    if layout.kind == "parts":
        check_copies(layout.rotation, unit, difference)
        return layout.rotation
    return layout.rotation if is_repeated(layout.rotation, difference) else None
