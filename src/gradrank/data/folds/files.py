"""Reading of the files of a collection, of which LETOR's rotation repeats each part."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gradrank.data.folds.parts import Source
from gradrank.data.folds.repeated_files import Difference, check_copies, differing_line, is_repeated
from gradrank.data.layout import FoldOptions, Layout, Rotation, is_table
from gradrank.data.reader import Reading, read_collection
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.data.text.rows import Missing


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
