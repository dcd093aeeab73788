"""Data sets of the catalogue as Python objects: `load_dataset`, its cache on disk, and the table of all data sets.

A cached data set is a folder with the files that `gradrank parse` writes. The name of the folder contains a digest of
the catalogue entry and of the code that reads data. Another version of gradrank therefore does not read old files. The
folder is written under a temporary name and then renamed. A killed process therefore leaves no incomplete data set, and
several processes can write the same data set at the same time.
"""

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradrank.base.errors import GradrankError
from gradrank.base.files import remove_abandoned, temporary_folder
from gradrank.base.forks import refuse_fork
from gradrank.data.ranking_dataset import RankingDataset
from gradrank.data.sources.catalogue import Entry, catalogue, check_counts, get_entry
from gradrank.data.stored import StoredCollection

if TYPE_CHECKING:
    import polars as pl

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
    Data under a licence are read from `mirror`, because each user must accept the licence on the owner's page.

    Parameters
    ----------
    name
        The name of the data set, for example `mq2007`.
    fold
        The number of the fold, from 1. Data sets with a single split have only fold 1.
    mirror
        A folder or an http(s) address with the archives of data sets, which is searched first. By default, the value of
        the environment variable GRADRANK_MIRROR. The mirror is not used if the data set is in the cache.
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
        data. In the last case, the message gives the page with the licence, and says what to do.

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
