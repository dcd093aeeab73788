"""Print how training, prediction and evaluation understand a file, without writing anything."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from gradrank.data.description import describe_roles, joined, ranges, role_table
from gradrank.data.layout import find_layout
from gradrank.data.part_files import COLLECTION
from gradrank.data.reader import feature_matrix, read_collection
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns


def inspect(path: Path, columns: Columns = Columns(), features: int | None = None) -> Iterator[str]:  # noqa: B008 - frozen
    """The table of roles of a file, of a folder's files together or of a stored collection, as lines of text.

    Grades may be missing.

    Raises GradrankError for what cannot be read.
    """
    if (path / COLLECTION).is_file():
        stored = StoredCollection.open(path)
        yield f"{path}: {stored.rows:,} rows, {stored.queries:,} queries, {stored.features} features"
        yield from role_table(stored.roles)
        return
    files = [path] if path.is_file() else list(dict.fromkeys(find_layout(path).sources.values()))
    with TemporaryDirectory(prefix="gradrank-") as folder:
        reading = read_collection(files, columns, features, folder=Path(folder), roles=("query",))
        whole = joined(
            ranges(frame, feature_matrix(frame)) for source in reading.sources for frame in reading.frames(source)
        )
    rows, queries = (
        sum(map(count, reading.sources)) for count in (lambda own: int(own.rows.sum()), lambda own: len(own.qids))
    )
    roles = describe_roles(reading.sources[0], reading.names, whole, rows, queries)
    yield f"{path}: {rows:,} rows, {queries:,} queries, {reading.width} features"
    yield from role_table(roles)
