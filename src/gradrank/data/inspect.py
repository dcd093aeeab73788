"""Description of how training, prediction and evaluation interpret a file. Nothing is written."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from gradrank.data.description import column_ranges, describe_roles, merge_ranges, role_table
from gradrank.data.layout import find_layout
from gradrank.data.part_files import COLLECTION
from gradrank.data.reader import feature_matrix, read_collection
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns


def inspect(path: Path, columns: Columns = Columns(), features: int | None = None) -> Iterator[str]:  # noqa: B008 - frozen
    """Yield the number of rows, queries and features and the table of column roles, as lines of text.

    Parameters
    ----------
    path
        A file, a folder whose files are read as one collection, or a stored collection. Grades may be missing.
    columns
        The columns that the user declares for a table.
    features
        The number of features of sparse text. If None, the highest feature number is used.

    Raises GradrankError if a file cannot be read.
    """
    if (path / COLLECTION).is_file():
        stored = StoredCollection.open(path)
        yield f"{path}: {stored.rows:,} rows, {stored.queries:,} queries, {stored.features} features"
        yield from role_table(stored.roles)
        return
    files = [path] if path.is_file() else list(dict.fromkeys(find_layout(path).sources.values()))
    with TemporaryDirectory(prefix="gradrank-") as folder:
        reading = read_collection(files, columns, features, folder=Path(folder), roles=("query",))
        frames = (frame for source in reading.sources for frame in reading.frames(source))
        ranges = merge_ranges(column_ranges(frame, feature_matrix(frame)) for frame in frames)
    rows = sum(int(source.rows.sum()) for source in reading.sources)
    queries = sum(len(source.qids) for source in reading.sources)
    roles = describe_roles(reading.sources[0], reading.names, ranges, rows, queries)
    yield f"{path}: {rows:,} rows, {queries:,} queries, {reading.width} features"
    yield from role_table(roles)
