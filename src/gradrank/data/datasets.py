"""Data sets of the catalogue as Python objects: `load_dataset`, its cache on disk, and the table of all data sets.

A RankingDataset is one fold of a stored data set as NumPy arrays and Polars frames, which are read when they are first
used.

A cached data set is a folder with the files that `gradrank parse` writes. The name of the folder contains a digest of
the catalogue entry and of the code that reads data. Another version of gradrank therefore does not read old files. The
folder is written under a temporary name and then renamed. A killed process therefore leaves no incomplete data set, and
several processes can write the same data set at the same time.
"""

import hashlib
import os
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.base.errors import GradrankError
from gradrank.base.files import remove_abandoned, temporary_folder
from gradrank.base.forks import refuse_fork
from gradrank.base.text_tables import Grid, html_table, plain_table
from gradrank.data.sources.catalogue import Entry, catalogue, check_counts, get_entry
from gradrank.data.stored import StoredCollection

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from gradrank.data.collection import Collection


SPLITS = ("train", "vali", "test")


class DatasetPart:
    """The training, validation or test part of a fold: n documents with d features.

    The documents of each query are contiguous. The arrays and the frame are read from disk when they are first used,
    and then stay in memory.
    """

    def __init__(self, stored: StoredCollection, name: str, numbers: Sequence[int]) -> None:
        self.name, self._stored, self._numbers = name, stored, numbers

    @property
    def rows(self) -> int:
        """The number of documents, n."""
        return sum(self._stored.part(number)["rows"] for number in self._numbers)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(self._stored.part(number)["queries"] for number in self._numbers)

    @property
    def grades(self) -> dict[int, int]:
        """A dict from each relevance grade to its number of documents, in ascending order."""
        counts: dict[int, int] = {}
        for number in self._numbers:
            for grade, rows in self._stored.part(number)["labels"].items():
                counts[int(grade)] = counts.get(int(grade), 0) + rows
        return dict(sorted(counts.items()))

    @property
    def X(self) -> "np.ndarray":
        """The features, (n, d) float32."""
        return self._collection.features

    @property
    def y(self) -> "np.ndarray":
        """The relevance grades, (n,) int32."""
        return self._collection.labels

    @cached_property
    def qid(self) -> "np.ndarray":
        """The query id of each row, (n,) int64."""
        return self._collection.qids[self._collection.query_of_row]

    @cached_property
    def docid(self) -> "np.ndarray | None":
        """The document id of each row, (n,) strings, or None if the data have no document ids.

        A row without an id has None.
        """
        ids = self._columns("docid")["docid"]
        return None if ids.null_count() == len(ids) else ids.to_numpy()

    @cached_property
    def documents_per_query(self) -> "np.ndarray":
        """The number of documents of each query, (q,) int64, in the order of the rows."""
        import numpy as np
        import polars as pl

        paths = map(self._stored.part_file, self._numbers)
        lengths = pl.col("qid").rle().struct.field("len")
        return np.concatenate([pl.scan_parquet(path).select(lengths).collect().to_numpy()[:, 0] for path in paths])

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """A frame with one row per document.

        Its columns are `qid`, `query` (the query id as text, if query ids are text), `label`, `docid` (if the data have
        document ids), and one column per feature with the names in `RankingDataset.feature_names`.
        """
        import polars as pl

        names = dict(zip(_numbered(self._stored), feature_names(self._stored), strict=True))
        roles = {role["role"] for role in self._stored.roles}
        has_text_ids = "query" in pl.read_parquet_schema(self._stored.part_file(self._numbers[0]))
        heads = ["qid", *(["query"] if has_text_ids else []), "label", *(["docid"] if "docid" in roles else [])]
        frame = self._columns(*heads, *names)
        return frame.with_columns(pl.col("label").cast(pl.Int32)).rename(names)

    def __repr__(self) -> str:
        return f"DatasetPart({self.name}: {self.rows:,} rows, {self.queries:,} queries)"

    @cached_property
    def _collection(self) -> "Collection":
        return self._stored.read(self._numbers)

    def _columns(self, *names: str) -> "pl.DataFrame":
        """Return columns of the stored files."""
        import polars as pl

        return (
            pl.concat(pl.scan_parquet(self._stored.part_file(number)) for number in self._numbers)
            .select(names)
            .collect()
        )


class RankingDataset:
    """One fold of a data set: its training, validation and test part.

    `load_dataset` returns this object. At first, only the description is read. Data are read when they are used.

    Parameters
    ----------
    stored
        The stored data set.
    fold
        The number of the fold, from 1.
    title
        The full name of the data set.
    """

    def __init__(self, stored: StoredCollection, fold: int, title: str) -> None:
        self.stored, self.fold, self.title = stored, fold, title
        self.train, self.vali, self.test = (DatasetPart(stored, split, stored.fold(fold)[split]) for split in SPLITS)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.stored.name

    @property
    def feature_names(self) -> list[str]:
        """The names of the d features: the column names of the data, or f1 to fd for text, which has no names."""
        return feature_names(self.stored)

    def describe(self) -> "pl.DataFrame":
        """Return a frame with one row per part.

        The columns are `part`, `rows`, `queries`, the smallest, median and largest number of documents per query
        (`documents_min`, `documents_median`, `documents_max`), and the number of rows per grade (`grade_0` and so on).
        """
        import numpy as np
        import polars as pl

        parts = (self.train, self.vali, self.test)
        grades = sorted({grade for part in parts for grade in part.grades})
        described = []
        for part in parts:
            sizes = part.documents_per_query
            spread = {"min": int(sizes.min()), "median": float(np.median(sizes)), "max": int(sizes.max())}
            described.append(
                {"part": part.name, "rows": part.rows, "queries": part.queries}
                | {f"documents_{name}": value for name, value in spread.items()}
                | {f"grade_{grade}": part.grades.get(grade, 0) for grade in grades}
            )
        return pl.DataFrame(described)

    def __repr__(self) -> str:
        return f"{self._caption()}\n{plain_table(self._grid())}"

    def _repr_html_(self) -> str:
        return html_table(self._grid(), self._caption())

    def _caption(self) -> str:
        folds = f"fold {self.fold} of {len(self.stored.folds)}"
        return f"{self.name}: {self.title}, {folds}, {self.stored.features} features"

    def _grid(self) -> Grid:
        frame = self.describe()
        head = [name.replace("_", " ") for name in frame.columns]
        lines = [
            [str(row[0]), *(f"{value:,g}" if value % 1 else f"{value:,.0f}" for value in row[1:])]
            for row in frame.rows()
        ]
        return Grid(head, "l" + "r" * (len(head) - 1), lines)


def feature_names(stored: StoredCollection) -> list[str]:
    """Return the feature names of a stored data set: the names in the data, or f1 to fd if the data have no names."""
    return stored.feature_names or _numbered(stored)


def _numbered(stored: StoredCollection) -> list[str]:
    """Return the names of the feature columns in the stored files, f1 to fd."""
    return [f"f{number}" for number in range(1, stored.features + 1)]


# The size of artificial data and the seed in the project's params.yaml, so that the rows equal those of the workflow.
QUERIES, DOCUMENTS, SEED = 50, 30, 2005
# Fields of an entry that do not change the stored data.
DESCRIPTIVE = {"title", "about", "citation", "licence", "homepage", "obtain", "convention"}


def load_dataset(
    name: str,
    fold: int = 1,
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> RankingDataset:
    """Return one fold of a data set of the catalogue. `datasets` lists the catalogue.

    The first call generates or fetches the data, checks every line, and stores them as Parquet in the cache; later
    calls read the cache. Artificial data are generated. Public data are downloaded, and their checksums are verified.
    Licensed data are read from `mirror`, because each user must accept the licence on the owner's page and download the
    data there.

    Parameters
    ----------
    name
        The name of the data set, for example `mq2007`.
    fold
        The number of the fold, from 1. Data sets with a single split have only fold 1.
    mirror
        A folder or an http(s) address with the archives of data sets. It is searched before all other sources. By
        default, the value of the environment variable GRADRANK_MIRROR. The mirror is not used if the data set is in the
        cache.
    cache
        The folder of the cache. By default, the value of the environment variable GRADRANK_CACHE, or else `datasets` in
        the user's cache folder for gradrank, such as ~/.cache/gradrank on Linux.

    Returns
    -------
    RankingDataset
        `.train`, `.vali` and `.test` have the arrays `.X` ((n, d) float32), `.y` ((n,) int32), `.qid` ((n,) int64) and
        `.docid` ((n,) strings, or None), and the same rows as a Polars frame, `.frame`.

    Raises
    ------
    GradrankError
        If the name or the fold does not exist, if a checksum or the content of a file is wrong, or if no source has the
        data. In the last case, the message gives the page with the licence and the steps to get the data.

    Examples
    --------
    >>> import gradrank, tempfile
    >>> data = gradrank.load_dataset("synthetic_net", cache=tempfile.mkdtemp())
    >>> data.train.X.shape, data.train.y.shape, data.train.qid[:2].tolist()
    ((900, 50), (900,), [1, 1])
    >>> data.describe().select("part", "rows", "queries").rows()
    [('train', 900, 30), ('vali', 300, 10), ('test', 300, 10)]
    """
    refuse_fork("load_dataset")
    if not isinstance(name, str):
        raise GradrankError(f"name: {name!r} is not a text. Fix: give the name of a data set, such as 'mq2007'")
    entry = get_entry(name)
    if isinstance(fold, bool) or fold not in range(1, entry.folds + 1):
        folds = "only fold 1" if entry.folds == 1 else f"folds 1 to {entry.folds}"
        raise GradrankError(f"fold: {fold!r} does not exist. Fix: {name} has {folds}")
    stored = cached_collection(entry, mirror, cache)
    return RankingDataset(stored, int(fold), entry.title)


def cached_collection(
    entry: Entry, mirror: str | os.PathLike[str] | None, cache: str | os.PathLike[str] | None
) -> StoredCollection:
    """Return a data set from the cache. If the data set is missing or damaged, it is first written to the cache.

    The arguments and the errors are those of `load_dataset`.
    """
    folder = _cache_folder(cache) / f"{entry.name}-{_key(entry)}"
    stored = _complete(folder)
    if stored is not None:
        return stored
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder.parent)
        with temporary_folder(folder) as scratch:
            source = os.fspath(mirror) if mirror is not None else os.environ.get("GRADRANK_MIRROR")
            _publish(_make(entry, source, scratch), folder)
    except (OSError, ValueError) as error:  # ValueError: a null character, or text that cannot be a file name
        raise GradrankError(
            f"cache: {error}. Fix: free the space, or set GRADRANK_CACHE to another folder that you can write to"
        ) from error
    return StoredCollection.open(folder)


def _cache_folder(cache: str | os.PathLike[str] | None) -> Path:
    from platformdirs import user_cache_path

    chosen = cache if cache is not None else os.environ.get("GRADRANK_CACHE")
    return Path(chosen).expanduser() if chosen else user_cache_path("gradrank", appauthor=False) / "datasets"


def _key(entry: Entry) -> str:
    """Return a digest of everything that determines the stored files of a data set."""
    described = entry.model_dump_json(exclude=DESCRIPTIVE)
    return hashlib.sha256(f"{described} {_code_digest()}".encode()).hexdigest()[:12]


@cache
def _code_digest() -> str:
    """Return a digest of the code in this folder, which generates, fetches and parses data."""
    hashed, room = hashlib.sha256(), Path(__file__).parent
    for path in sorted(room.rglob("*.py")):
        hashed.update(f"{path.relative_to(room).as_posix()}\n".encode() + path.read_bytes())
    return hashed.hexdigest()


def _complete(folder: Path) -> StoredCollection | None:
    """Open a data set in the cache. Return None if it is missing, incomplete or damaged."""
    try:
        stored = StoredCollection.open(folder)
        for part in stored.parts:
            stored.part_file(part)  # computes the checksum
    except (GradrankError, KeyError, OSError):  # KeyError: an edited description without its checksum
        return None
    return stored


def _make(entry: Entry, mirror: str | None, scratch: Path) -> Path:
    """Fetch or generate a data set, and store it in a new folder below `scratch`. Return this folder."""
    from gradrank.data.parse import parse
    from gradrank.data.sources.fetch import fetch
    from gradrank.data.sources.synthetic import generate

    raw, out = scratch / "raw" / entry.name, scratch / entry.name
    if entry.generator:
        generate(entry.generator, QUERIES, DOCUMENTS, SEED, raw)
    else:
        fetch(entry, raw, mirror)
    description = parse(raw, out, SEED, entry.name, features=entry.declared_features, columns=entry.columns())
    check_counts(entry, description)
    return out


def _publish(made: Path, folder: Path) -> None:
    """Move a data set into the cache, unless another process was faster. A damaged data set is replaced."""
    if _complete(folder) is not None:
        return
    if folder.exists():
        folder.replace(made.with_name("damaged"))
    try:
        made.rename(folder)
    except OSError:
        if _complete(folder) is None:
            raise


def datasets() -> "pl.DataFrame":
    """Return a frame with one row per data set of the catalogue.

    The columns are `name`, `title`, `access`, `rows`, `queries` and `features` (null if unknown), `folds`, `licence`,
    `homepage`, `obtain` (how to get the data), `archives` (names and sizes of the archives or single files), `citation`
    and `about`. The values of `access` are:

    - `artificial`: `load_dataset` generates the data;
    - `public`: `load_dataset` downloads the data;
    - `licensed`: each user gets the data from the owner, as `obtain` says.

    Examples
    --------
    >>> import gradrank
    >>> gradrank.datasets().filter(name="mq2007").select("access", "queries", "folds").row(0)
    ('licensed', 1692, 5)
    """
    import polars as pl

    texts = ("name", "title", "access", "licence", "homepage", "obtain", "archives", "citation", "about")
    counts = ("rows", "queries", "features", "folds")
    order = ("name", "title", "access", *counts, *texts[3:])
    rows = [_described(entry) for entry in catalogue().values()]
    schema = {column: pl.Int64 if column in counts else pl.String for column in order}
    return pl.DataFrame([{column: row[column] for column in order} for row in rows], schema=schema)


def _described(entry: Entry) -> dict[str, str | int | None]:
    """Return the cells of a data set in `datasets`."""
    archives = (_sized(archive.name, archive.bytes) for archive in entry.archives)
    files = (_sized(file.name, file.bytes) for file in entry.files)
    fields = ("name", "title", "about", "citation", "licence", "homepage", "obtain")
    fields += ("rows", "queries", "features", "folds", "access")
    return {field: getattr(entry, field) for field in fields} | {
        "archives": " or ".join(archives) or " and ".join(files) or None
    }


def _sized(name: str, size: int | None) -> str:
    return f"{name} ({size / 1e6:.1f} MB)" if size else name
