"""LETOR and SVMlight text as a lazy Polars frame: every line checked, in bounded memory.

A row is `<grade> qid:<query> <number>:<value> ... #docid = <id> inc = <x> prob = <p>`, the comment optional.

Accepted as well: CRLF, tabs, trailing blanks, a UTF-8 byte order mark, blank lines and lines that are only a
comment (skipped), comments of any other form (docid, inc and prob are null where absent; inc and prob also
where -1), and a complete last row without a newline. A grade is a whole number from 0 to 31. A value is a
decimal number, stored as float32(float(text)), or as the largest float32 where it is beyond that (Istella's
1.8e308). `NULL`, LETOR's missing value, becomes the least value of its feature in the query, as in LETOR's
own MIN files.

The first row decides between dense and sparse. If it numbers its features 1, 2, .. without a gap, every row
must have exactly these. If it has a gap, any row may leave features out, which are then 0, and the highest
number anywhere is the width. Declaring `features` says that rows are sparse, and how wide.

A query's id is a whole number of up to 18 digits or, as in TREC topics, any text; then `qid` numbers the queries from 1
in the order of their first appearance, and the column `query` has their ids.

Anything else is a GradrankError with the file, the line, what was expected and what was found.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from polars.io.plugins import register_io_source

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import PlainFile
from gradrank.data.text.rows import Missing, Rows, first_row, read_rows
from gradrank.data.text.text_file import TextFile, find_queries

CHUNK_BYTES = 8 << 20  # of text and parsed rows together; about four chunks are in memory at a time
THREADS = 2
UNKNOWN = -1.0  # what LETOR writes for an unknown inc or prob


def scan_letor(
    source: str | Path | Sequence[str | Path],
    *,
    features: int | None = None,
    text_ids: bool | None = None,
    missing: Missing = "least",
) -> pl.LazyFrame:
    """Lazily read LETOR or SVMlight text, plain or packed (.gz, .xz, .zst); several files are one frame.

    Columns: qid (Int64), query (String, only where ids are text), docid (String), inc, prob (Float64), label (Int16),
    f1..fd (Float32); rows in the files' order. Every row that is read is checked, whatever columns are asked for; with
    a row limit, as of `head`, reading stops soon after it. Files of the same query ids share the ids.

    features: the width of sparse rows, which are else read once more to find it.
    text_ids: whether query ids are text; None: as that of the first row is.
    missing: what `NULL` becomes: the `least` value or the `mean` of its feature in its query, `zero`, or NaN (`keep`).

    Raises GradrankError with file, line, what was expected and what was found: here for what the first row shows and
    for a file that is not there, else where the frame is collected.

    >>> import gradrank, polars as pl
    >>> rows = gradrank.scan_letor(["Fold1/train.txt", "Fold1/vali.txt.gz"])
    >>> rows.group_by("qid").agg(pl.len(), pl.col("label").max()).collect()
    >>> rows.sink_parquet("fold1.parquet")
    """
    paths = [Path(each) for each in ([source] if isinstance(source, str | Path) else source)]
    if not paths:
        raise GradrankError("scan_letor: no file given")
    if missing_files := [str(path) for path in paths if not path.is_file()]:
        raise GradrankError(f"{', '.join(missing_files)}: no such file")
    plain = cache(PlainFile)  # a packed file is unpacked once, for as long as the frame lives
    first = first_row(paths[0])
    width, sparse = (features, True) if features else (first.features, first.sparse)
    named = first.text_ids if text_ids is None else text_ids
    if sparse and not features:
        width = max(
            find_queries(plain(path), numbers=True, known={} if named else None).highest_number for path in paths
        )

    def frames(rows: int | None) -> Iterator[pl.DataFrame]:
        known = {} if named else None
        for path in paths:
            found = find_queries(plain(path), numbers=False, known=known, most_rows=rows)
            pieces = chunks(found, np.arange(len(found.qids)), width)
            for frame in ahead(lambda piece, own=found: text_frame(own, piece, width, sparse, missing), pieces):
                yield frame
                if rows is not None and (rows := rows - len(frame)) <= 0:
                    return

    return lazy(schema(width, named), frames)


def schema(width: int, named: bool) -> pl.Schema:
    """The columns of rows with `width` features; `named`: where query ids are text."""
    ids = {"qid": pl.Int64} | ({"query": pl.String} if named else {}) | {"docid": pl.String}
    numbers = {"inc": pl.Float64, "prob": pl.Float64, "label": pl.Int16}
    return pl.Schema(ids | numbers | {f"f{number}": pl.Float32 for number in range(1, width + 1)})


def lazy(columns: pl.Schema, frames: Callable[[int | None], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """A Polars IO source of the frames that `frames` yields, told how many rows are wanted at most (None: all)."""

    def batches(
        wanted: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        left = rows
        for frame in frames(rows) if rows != 0 else ():
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if wanted is None else frame.select(wanted)
            if left == 0:
                return

    return register_io_source(batches, schema=columns)


def chunks(source: Any, queries: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Cuts queries, by their ascending positions, into runs whose text and rows stay near CHUNK_BYTES."""
    piece = (np.cumsum(source.cost(width)[queries]) - 1) // CHUNK_BYTES
    yield from np.split(queries, np.flatnonzero(np.diff(piece)) + 1)


def ahead(function: Callable, items: Iterable) -> Iterator:
    """Results in order, computed at most THREADS results ahead."""
    pending: deque = deque()
    pool = ThreadPoolExecutor(THREADS)
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > THREADS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # who stops early may do so in a thread of the pool itself, which cannot wait for its own end
        pool.shutdown(wait=False, cancel_futures=True)


def text_frame(source: TextFile, queries: np.ndarray, width: int, sparse: bool, missing: Missing) -> pl.DataFrame:
    """The rows of the queries at these ascending positions, in the columns of `schema`."""
    rows = read_rows(source, queries, width, sparse, missing)
    estimates = (pa.array(each, mask=np.isnan(each) | (each == UNKNOWN)) for each in (rows.inc, rows.prob))
    names = []
    if source.names is not None:
        own = [source.names[query] for query in queries.tolist()]
        names = [pa.array(own, pa.string()).take(pa.array(np.repeat(np.arange(len(own)), source.rows[queries])))]
    columns = [pa.array(rows.qids), *names, _docids(source, rows), *estimates, pa.array(rows.labels)]
    columns += map(pa.array, rows.features)
    return pl.from_arrow(pa.table(columns, names=list(schema(width, bool(names)))))


def _docids(source: TextFile, rows: Rows) -> pa.Array:
    present = np.packbits(np.diff(rows.ends) > 0, bitorder="little")
    buffers = [pa.py_buffer(present), pa.py_buffer(rows.ends), pa.py_buffer(rows.docids)]
    docids = pa.Array.from_buffers(pa.string(), len(rows.labels), buffers)
    try:
        docids.validate(full=True)
    except pa.ArrowInvalid:
        raise GradrankError(f"{source.path}: a docid is not UTF-8 text") from None
    return docids
