"""The `parse` stage: write ranking data as a stored collection, one Parquet file per part.

Every line of text is checked (see data/text/letor.py). Text is parsed in bounded memory, whereas tables are read whole.

The Parquet files contain the rows in file order, in the columns of `scan_letor`. collection.json always has these keys:

- `dataset`: the name of the data set;
- `rows`, `queries`, `features`: the numbers of rows, queries and features; a query in several parts counts once;
- `source_sha256`: the SHA-256 of the source files, decompressed and concatenated;
- `megabytes`: the total size of the Parquet files;
- `parts`: for each part, the number of `rows` and `queries`, the number of rows per grade (`labels`), and the `sha256`
  of its file;
- `folds`: for each fold, the part numbers of its splits;
- `roles`: the columns of the source (see `describe_roles`).

These keys are present only if they apply:

- `note`: decisions that the user did not declare, and queries that two parts share;
- `held_out`: the queries that are held out for validation in folds without a validation file (data/fold_parts.py);
- `fold_values`: the value of the column `fold` on which each fold tests;
- `division`: the part of each query in file order, if a file was divided into parts;
- `files`: the source files of several folds, if they are not LETOR's rotation;
- `labels`: the number of rows per grade, if a query is in several parts;
- `tests_overlap`: true if a query id is in the test parts of several folds;
- `missing`: the replacement of missing values, if the user declared it;
- `missing_values`: the number of rows without a value per feature, if missing values are kept;
- `fill`: true if `missing` is applied in the training, to the parts of methods that do not take missing values;
- `names`: the feature names of a table;
- `levels`: the levels of each feature with categories. The Parquet files contain their places, from 0;
- `columns`: the declared columns of a table;
- `uneven_weights`: the id of the first query whose documents have different weights;
- `normalise`: the normalisation of the features (data/normalisation.py), which is applied when parts are read;
- `sparse`: true if rows of text may leave features out;
- `warnings`: features that may be outcomes, or whose values merge (data/checks.py).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.stamps import write_sealed
from gradrank.data.checks import (
    Contents,
    OrderCounts,
    check_training_weights,
    feature_warnings,
    order_counts,
    query_digests,
    shared_queries,
    uneven_query,
)
from gradrank.data.description import (
    ColumnRanges,
    column_ranges,
    describe_roles,
    large_features,
    merge_ranges,
    notes_of,
)
from gradrank.data.file_forms import blocks, check_memory
from gradrank.data.fold_files import FilesRead, read_files
from gradrank.data.fold_parts import Division, Part, divide, division_text, tests_overlap
from gradrank.data.layout import FoldOptions, Layout, find_layout, is_table
from gradrank.data.normalisation import Normalise
from gradrank.data.part_files import COLLECTION, check_part_folder, write_parts
from gradrank.data.preparation import FILLS, Fill
from gradrank.data.reader import Reading, feature_matrix
from gradrank.data.tables.roles import Columns
from gradrank.data.text.copied import sizes_file
from gradrank.data.text.letor import CHUNK_BYTES, Missing, chunks, lazy_frame, map_ahead


def parse(
    path: Path | str,
    out: Path | str,
    seed: int,
    dataset: str,
    features: int | None = None,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    missing: Missing | Fill | None = None,
    normalise: Normalise = "none",
    options: FoldOptions = FoldOptions(),  # noqa: B008 - immutable
) -> dict[str, Any]:
    """Write the collection at `path` into the folder `out`: part1.parquet and so on, and collection.json.

    Parameters
    ----------
    path
        A file or a folder (see data/layout.py).
    out
        The folder to write.
    seed
        The seed with which a single file is divided into folds, and with which queries are held out for validation.
    dataset
        The name of the data set.
    features
        The number of features of sparse text. If None, the highest feature number is used.
    columns
        The declared columns of a table.
    missing
        The replacement of missing values (see `Missing`). None means `least` for text, and `keep` for tables. `mean`,
        `median` and `indicator` keep missing values in the files. The training replaces them for methods that do not
        take missing values (data/preparation.py).
    normalise
        The normalisation of the features. The Parquet files contain the features without normalisation.
    options
        The division into folds, and the share of queries that are held out.

    Returns the content of collection.json, whose keys are listed at the top of this module. Raises GradrankError for
    malformed data, for parts with the same queries, and if `out` contains files of others. `out` then stays as it was.
    """
    layout, out = find_layout(path, options), Path(out)
    check_part_folder(out / COLLECTION, [Path(path)], lambda columns: columns[:1] == ["qid"] and "f1" in columns)
    out.parent.mkdir(parents=True, exist_ok=True)
    fill = missing if missing in FILLS else None
    read = read_files(layout, options, columns, features, "keep" if fill else missing, out.parent)  # pyright: ignore[reportArgumentType] - narrowed by `fill`
    divided = divide(layout, read.repeated, read.sources, options, seed, read.reading.width)
    check_training_weights(divided.parts, divided.folds)
    check_memory(Path(path), _largest_fold(divided), read.reading.width)
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(
            source_sha256, list(_with_side_files(read.sources))
        )  # the checksum is computed while the parts are written
        contents: dict[int, Contents] = {}
        writers = {
            number: partial(_write, part, divided.is_new[number], read.reading, contents, number)
            for number, part in divided.parts.items()
        }
        shared: list[str] = []
        written = write_parts(out, COLLECTION, writers, lambda: shared.extend(shared_queries(contents, divided.folds)))
        description = _description(dataset, (Path(path), out), layout, read, divided, written, digest)
    notes = [*divided.notes, *notes_of(description["roles"]), *shared]
    optional: dict[str, Any] = {"note": ". ".join(notes), "missing": missing, "names": read.reading.names}
    optional |= {"fill": bool(fill), "levels": read.reading.levels}
    optional |= {"columns": read.columns.declared(), "sparse": read.reading.sparse}
    optional |= {"normalise": normalise.removeprefix("none"), "uneven_weights": uneven_query(read.sources.values())}
    description |= {key: value for key, value in optional.items() if value}
    write_sealed(out / COLLECTION, description)
    return description


def _description(
    dataset: str,
    paths: tuple[Path, Path],
    layout: Layout,
    read: FilesRead,
    divided: Division,
    written: dict[str, dict[str, Any]],
    digest: Future[str],
) -> dict[str, Any]:
    """Return the entries of collection.json, except those that the user declared.

    paths: the path of the source, and the folder of the Parquet files. digest: the SHA-256 of the source files. The
    counts of new queries, and the ranges, are removed from `written`.
    """
    path, out = paths
    new = [part.pop("new") for part in written.values()]
    orders = [counts for part in written.values() for counts in part.pop("orders")]
    ranges = merge_ranges(span for part in written.values() if (span := part.pop("ranges")) is not None)
    rows, queries = (sum(counts[unit] for counts in new) for unit in ("rows", "queries"))
    description = {
        "dataset": dataset,
        "rows": rows,
        "queries": queries,
        "features": read.reading.width,
        "source_sha256": digest.result(),
        "megabytes": -(-sum(part.stat().st_size for part in out.glob("part*.parquet")) // 1_000_000),
        "parts": written,
        "folds": divided.folds,
        "roles": describe_roles(next(iter(read.sources.values())), read.reading.names, ranges, rows, queries),
    }
    merged = read.reading.merged(large_features(ranges))
    grades = sum((Counter(counts["labels"]) for counts in new), Counter())
    is_repeated = rows != sum(part["rows"] for part in written.values())
    files = [file.relative_to(path).as_posix() for file in read.sources] if layout.kind == "folds" else []
    optional: dict[str, Any] = {
        "held_out": divided.held_out,
        "fold_values": layout.fold_values,
        "division": division_text(read.sources, divided) if layout.kind != "folds" else None,
        "files": None if read.repeated else files,
        "tests_overlap": tests_overlap(divided),
        "labels": {str(grade): count for grade, count in sorted(grades.items())} if is_repeated else None,
        "missing_values": _missing_values(read.reading, ranges),
        "warnings": feature_warnings(read.reading.names, read.columns.keep, orders, merged),
    }
    return description | {key: value for key, value in optional.items() if value}


def _missing_values(reading: Reading, ranges: ColumnRanges) -> dict[str, int]:
    """Return the number of rows without a value for each feature that has such rows. Empty if values are replaced."""
    if reading.missing != "keep":
        return {}
    counts = zip(ranges.names, ranges.missing.astype(int).tolist(), strict=True)
    return {name: count for name, count in counts if name[:1] == "f" and count}


def _largest_fold(divided: Division) -> int:
    """Return the number of rows of the fold with the most rows."""
    rows = {number: int(part.source.rows[part.queries].sum()) for number, part in divided.parts.items()}
    return max(sum(rows[part] for parts in fold.values() for part in parts) for fold in divided.folds)


def _with_side_files(files: Iterable[Path]) -> Iterator[Path]:
    """Yield each file, and after it the side file with the sizes of its queries, if there is one."""
    for file in files:
        yield file
        if not is_table(file) and (sizes := sizes_file(file)):
            yield sizes


def source_sha256(files: list[Path]) -> str:
    """Return the SHA-256 of the concatenated content of files. Compressed files are decompressed first."""
    digest = hashlib.sha256()
    for file in files:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _write(
    part: Part, is_new: np.ndarray, reading: Reading, contents: dict[int, Contents], number: int, path: Path
) -> dict[str, Any]:
    """Write the Parquet file of a part, and set `contents[number]` to its queries.

    is_new: (q,) mask of the queries that no earlier part contains. Returns the numbers of rows, of queries and of rows
    per grade. `new` has the same numbers for the new queries, `ranges` the ranges of their columns (None without new
    queries), and `orders` a list of their order counts.
    """
    source, queries = part
    grades: Counter[int] = Counter()
    new_grades: Counter[int] = Counter()
    ranges: list[ColumnRanges] = []
    digests: list[np.ndarray] = []
    orders: list[OrderCounts] = []
    is_new_query = np.zeros(len(source.qids), dtype=bool)
    is_new_query[queries] = is_new

    def read(chunk: np.ndarray) -> tuple[pl.DataFrame, pl.DataFrame, ColumnRanges | None, np.ndarray, OrderCounts]:
        frame, counts = reading.frame(source, chunk), source.rows[chunk]
        features = feature_matrix(frame)
        rows = np.repeat(is_new_query[chunk], counts)
        new_frame, new_features = (frame, features) if rows.all() else (frame.filter(rows), features[rows])
        chunk_ranges = column_ranges(new_frame, new_features) if len(new_frame) else None
        chunk_digests = query_digests(frame["label"].to_numpy(), features, counts)
        chunk_orders = order_counts(new_features, new_frame["label"].to_numpy(), counts[is_new_query[chunk]])
        filled = reading.filled(features, counts)
        if filled is not features:
            frame = frame.with_columns(pl.Series(f"f{k}", values) for k, values in enumerate(filled.T, start=1))
        return frame, new_frame.select("label"), chunk_ranges, chunk_digests, chunk_orders

    def frames(_: int | None) -> Iterator[pl.DataFrame]:
        read_chunks = map_ahead(read, chunks(source, queries, reading.width))
        for frame, new_labels, chunk_ranges, chunk_digests, chunk_orders in read_chunks:
            grades.update(dict(frame["label"].value_counts().iter_rows()))
            new_grades.update(dict(new_labels["label"].value_counts().iter_rows()))
            ranges.extend([chunk_ranges] if chunk_ranges else [])
            digests.append(chunk_digests)
            orders.append(chunk_orders)
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
        "new": {"rows": new_grades.total(), "queries": int(is_new.sum()), "labels": new_grades},
        "ranges": merge_ranges(ranges) if ranges else None,
        "orders": orders,
    }
