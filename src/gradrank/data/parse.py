"""The `parse` stage: write ranking data as a stored collection, one Parquet file per part.

Every line of text is checked (see data/text/letor.py). Text is parsed in bounded memory, whereas tables are read whole.

The Parquet files contain the rows in file order, in the columns of `scan_letor`. collection.json always has these keys:

- `dataset`: the name of the data set;
- `rows`, `queries`, `features`: the numbers of rows, queries and features;
- `source_sha256`: the SHA-256 of the source files, decompressed and concatenated;
- `megabytes`: the total size of the Parquet files;
- `parts`: for each part, the number of `rows` and `queries`, the number of rows per grade (`labels`), and the `sha256`
  of its file;
- `folds`: for each fold, the part numbers of its splits;
- `roles`: the columns of the source (see `describe_roles`).

These keys are present only if they apply:

- `note`: decisions that the user did not declare, and queries that two parts share;
- `division`: the part of each query, one digit per query in file order, if a file was divided into parts;
- `missing`: the replacement of missing values, if the user declared it;
- `missing_values`: the number of rows without a value per feature, if missing values are kept;
- `names`: the feature names of a table;
- `columns`: the declared columns of a table;
- `uneven_weights`: the id of the first query whose documents have different weights;
- `normalise`: the normalisation of the features (data/normalisation.py), which is applied when parts are read;
- `sparse`: true if rows of text may leave features out.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_sealed
from gradrank.data.compressed import blocks
from gradrank.data.description import ColumnRanges, column_ranges, describe_roles, merge_ranges, notes_of
from gradrank.data.layout import Layout, check_copies, find_layout, is_table
from gradrank.data.leakage import Contents, query_digests, shared_queries
from gradrank.data.memory import check_memory
from gradrank.data.normalisation import Normalise
from gradrank.data.part_files import COLLECTION, write_parts
from gradrank.data.reader import Reading, feature_matrix, read_collection
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.data.text.letor import CHUNK_BYTES, chunks, lazy_frame, map_ahead
from gradrank.data.text.rows import Missing
from gradrank.data.text.text_file import TextFile
from gradrank.data.weights import check_training_weights, uneven_query


class Part(NamedTuple):
    """The queries of one part: the file that contains them, and their ascending positions in that file."""

    source: TextFile | DataTable
    queries: np.ndarray


def parse(
    path: Path | str,
    out: Path | str,
    seed: int,
    dataset: str,
    features: int | None = None,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    missing: Missing | None = None,
    normalise: Normalise = "none",
) -> dict[str, Any]:
    """Write the collection at `path` into the folder `out`: part1.parquet and so on, and collection.json.

    Parameters
    ----------
    path
        A file or a folder (see data/layout.py).
    out
        The folder to write.
    seed
        The seed with which the queries of a single file are divided into five parts, and with which a held-out
        validation part is drawn.
    dataset
        The name of the data set.
    features
        The number of features of sparse text. If None, the highest feature number is used.
    columns
        The declared columns of a table.
    missing
        The replacement of missing values (see `Missing`). None means `least` for text, and `keep` for tables.
    normalise
        The normalisation of the features. The Parquet files contain the features without normalisation.

    Returns
    -------
    dict
        The content of collection.json, whose keys are listed at the top of this module.

    Raises GradrankError for malformed data, and for parts with the same queries. `out` then stays as it was.
    """
    layout, out = find_layout(path), Path(out)
    files = list(dict.fromkeys(layout.sources.values()))
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_sha256, files)  # the checksum is computed while the files are parsed
        reading, sources = _read(layout, files, columns, features, missing, out.parent)
        check_memory(Path(path), sum(int(source.rows.sum()) for source in sources.values()), reading.width)
        parts = _parts(layout, sources, seed)
        contents: dict[int, Contents] = {}
        writers = {number: partial(_write, part, reading, contents, number) for number, part in parts.items()}
        shared: list[str] = []
        written = write_parts(out, COLLECTION, writers, lambda: shared.extend(shared_queries(contents, layout.folds)))
        ranges = merge_ranges(part.pop("ranges") for part in written.values())
        description = _description(dataset, out, layout, reading, sources, written, ranges, digest)
    notes = [*filter(None, [layout.note]), *notes_of(description["roles"]), *shared]
    optional: dict[str, Any] = {"note": ". ".join(notes), "missing": missing, "names": reading.names}
    optional |= {"columns": columns.declared(), "sparse": reading.sparse, "normalise": normalise.removeprefix("none")}
    optional |= {"uneven_weights": uneven_query(sources.values()), "missing_values": _missing_values(reading, ranges)}
    optional["division"] = _division(sources.values(), parts) if layout.slots else None
    description |= {key: value for key, value in optional.items() if value}
    write_sealed(out / COLLECTION, description)
    return description


def _description(
    dataset: str,
    out: Path,
    layout: Layout,
    reading: Reading,
    sources: Mapping[Path, TextFile | DataTable],
    written: Mapping[str, Mapping[str, Any]],
    ranges: ColumnRanges,
    digest: Future[str],
) -> dict[str, Any]:
    """Return the entries of collection.json that are always present."""
    rows, queries = (sum(part[count] for part in written.values()) for count in ("rows", "queries"))
    return {
        "dataset": dataset,
        "rows": rows,
        "queries": queries,
        "features": reading.width,
        "source_sha256": digest.result(),
        "megabytes": -(-sum(part.stat().st_size for part in out.glob("part*.parquet")) // 1_000_000),
        "parts": written,
        "folds": layout.folds,
        "roles": describe_roles(next(iter(sources.values())), reading.names, ranges, rows, queries),
    }


def _missing_values(reading: Reading, ranges: ColumnRanges) -> dict[str, int]:
    """Return the number of rows without a value for each feature that has such rows. Empty if values are replaced."""
    if reading.missing != "keep":
        return {}
    counts = zip(ranges.names, ranges.missing.astype(int).tolist(), strict=True)
    return {name: count for name, count in counts if name[:1] == "f" and count}


def _read(
    layout: Layout, files: list[Path], columns: Columns, features: int | None, missing: Missing | None, folder: Path
) -> tuple[Reading, dict[Path, TextFile | DataTable]]:
    """Read the files that contain the parts, and check the files that repeat parts.

    Returns the reading, and a dict from each file to its source. Compressed text is decompressed into `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(map(is_table, layout.files)):
        check_copies(layout)
        reading = read_collection(files, columns, features, missing, folder)
        return reading, dict(zip(files, reading.sources, strict=True))
    reading = read_collection(layout.files, columns, features, missing)
    sources = zip(layout.files, reading.sources, strict=True)
    tables = {file: table for file, table in sources if isinstance(table, DataTable)}
    check_copies(layout, "row", lambda copy, parts: tables[copy].differing_row([tables[part] for part in parts]))
    return reading, {file: tables[file] for file in files}


def _sha256(files: list[Path]) -> str:
    """Return the SHA-256 of the concatenated content of files. Compressed files are decompressed first."""
    digest = hashlib.sha256()
    for file in files:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _parts(layout: Layout, sources: Mapping[Path, TextFile | DataTable], seed: int) -> dict[int, Part]:
    """Return a dict from part number to the queries of the part.

    A file that contains several parts is divided at random, with the seed.

    Raises GradrankError if a query is in two parts of a five-fold collection, because a model would then be tested on
    its training data. (Separate training, validation and test files may each number their queries from 1.) Also raises
    GradrankError if a file has too few queries to be divided, or if all weights of a training part are 0.
    """
    if layout.kind == "five_fold":
        _check_query_ids(sources.values())
    parts: dict[int, Part] = {}
    for file, source in sources.items():
        numbers = [part for part, path in layout.sources.items() if path == file]
        count, slots = len(source.qids), np.array(layout.slots if len(numbers) > 1 else numbers)
        if count < len(slots):
            raise GradrankError(
                f"{file}: {count} queries, but dividing it into {len(numbers)} parts needs at least {len(slots)}. "
                "Fix: add queries, or give separate files for training, validation and test"
            )
        shares = np.array_split(np.random.default_rng(seed).permutation(count), len(slots))
        parts |= {
            part: Part(source, np.sort(np.concatenate([shares[k] for k in np.flatnonzero(slots == part)])))
            for part in numbers
        }
    check_training_weights(parts, layout.folds)
    return {part: parts[part] for part in sorted(parts)}


def _check_query_ids(sources: Iterable[TextFile | DataTable]) -> None:
    """Raise GradrankError if two files contain the same query id."""
    path_of: dict[int, Path | str] = {}
    for source in sources:
        for query in np.flatnonzero(np.isin(source.qids, list(path_of)))[:1]:
            other = path_of[int(source.qids[query])]
            raise source.error_at(
                query, f"query {source.ids[query]} is in {other} too. Fix: keep each query in one part"
            )
        path_of |= dict.fromkeys(source.qids.tolist(), source.path)


def _division(sources: Iterable[TextFile | DataTable], parts: Mapping[int, Part]) -> str:
    """Return the part numbers of all queries as text, one digit per query in file order."""
    digits = []
    for source in sources:
        part_of_query = np.empty(len(source.qids), np.int64)
        for number, part in parts.items():
            if part.source is source:
                part_of_query[part.queries] = number
        digits += map(str, part_of_query.tolist())
    return "".join(digits)


def _write(part: Part, reading: Reading, contents: dict[int, Contents], number: int, path: Path) -> dict[str, Any]:
    """Write the Parquet file of a part, and set `contents[number]` to its queries.

    Returns the numbers of rows, of queries and of rows per grade, and the ranges of the columns.
    """
    source, queries = part
    grades: Counter[int] = Counter()
    ranges: list[ColumnRanges] = []
    digests: list[np.ndarray] = []

    def read(chunk: np.ndarray) -> tuple[pl.DataFrame, ColumnRanges, np.ndarray]:
        frame, counts = reading.frame(source, chunk), source.rows[chunk]
        features = feature_matrix(frame)
        chunk_ranges = column_ranges(frame, features)
        chunk_digests = query_digests(frame["label"].to_numpy(), features, counts)
        filled = reading.filled(features, counts)
        if filled is not features:
            frame = frame.with_columns(pl.Series(f"f{k}", values) for k, values in enumerate(filled.T, start=1))
        return frame, chunk_ranges, chunk_digests

    def frames(_: int | None) -> Iterator[pl.DataFrame]:
        for frame, chunk_ranges, chunk_digests in map_ahead(read, chunks(source, queries, reading.width)):
            grades.update(dict(frame["label"].value_counts().iter_rows()))
            ranges.append(chunk_ranges)
            digests.append(chunk_digests)
            yield frame

    # The file is opened here and not by Polars. After an error, the file is removed, and the threads of Polars might
    # create it again.
    with path.open("wb") as file:
        lazy_frame(reading.schema(source), frames).sink_parquet(
            file,
            compression="lz4",  # compared with zstd: 25% more bytes, 25% less writing time, 50% less reading time
            statistics=False,
            row_group_size=max(1, CHUNK_BYTES // (4 * reading.width)),  # as many rows as are in memory at once
        )
    contents[number] = Contents(Path(source.path), source.ids[queries], np.concatenate(digests))
    return {
        "rows": grades.total(),
        "queries": len(queries),
        "labels": {str(grade): count for grade, count in sorted(grades.items())},
        "ranges": merge_ranges(ranges),
    }
