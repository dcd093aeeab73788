"""LETOR and SVMlight text to one Parquet file: every line checked, in bounded memory.

A row is `<grade> qid:<id> <number>:<value> ... #docid = <id> inc = <x> prob = <p>`, the comment optional.

Accepted as well: CRLF, tabs, trailing blanks, a UTF-8 byte order mark, blank lines and lines that are only a
comment (skipped), comments of any other form (docid, inc and prob are null where absent; inc and prob also
where -1), and a complete last row without a newline. A grade is a whole number from 0 to 31. A value is a
decimal number, stored as float32(float(text)), or as the largest float32 where it is beyond that (Istella's
1.8e308). `NULL`, LETOR's missing value, becomes the least value of its feature in the query, as in LETOR's
own MIN files.

The first row decides between dense and sparse. If it numbers its features 1, 2, .. without a gap, every row
must have exactly these. If it has a gap, any row may leave features out, which are then 0, and the highest
number anywhere is the width. Declaring `features` says that rows are sparse, and how wide.

Anything else is a GradrankError with the file, the line, what was expected and what was found.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gradrank.data import scan
from gradrank.data.layout import Layout, check_copies, find_layout
from gradrank.data.rows import Rows, first_row, read_rows
from gradrank.data.text_file import Source, line_error, survey
from gradrank.errors import GradrankError
from gradrank.files import atomic, write_json

CHUNK_BYTES = 16 << 20  # of text and parsed rows together; about four chunks are in memory at a time
THREADS = 2
MOST_FEATURES = 10_000  # rows are stored dense
UNKNOWN = -1.0  # what LETOR writes for an unknown inc or prob


class Chunk(NamedTuple):
    """Queries of one part that are parsed together, by their ascending positions in the source."""

    part: int
    source: Source
    queries: np.ndarray


def parse(
    path: Path | str, out: Path | str, seed: int, dataset: str, features: int | None = None
) -> dict[str, Any]:
    """Parse the collection at `path` (see data/layout.py) to the Parquet file `out`, with a JSON file beside.

    Parquet: rows in file order, sorted by part, at least one row group a part; columns part (Int8), qid
    (Int64), docid (String), inc, prob (Float64), label (Int16), f1..fd (Float32).
    JSON, also returned: dataset, rows, queries, features, source_sha256 (of the parts' files one after the
    other), parts (rows, queries, rows a grade and sha256 of each) and folds.
    seed divides the queries of a single file into five parts; folders come divided.
    features: the width of sparse rows.
    Raises GradrankError at a bad line; `out` then stays as it was.
    """
    layout, out = find_layout(path), Path(out)
    check_copies(layout)
    width, sparse = (features, True) if features else first_row(layout.files[0])
    files = list(dict.fromkeys(layout.sources.values()))
    with ThreadPoolExecutor(THREADS + 1) as pool:
        digest = pool.submit(_sha256, files)  # beside all that follows
        sources = {file: survey(file, None, numbers=sparse and not features) for file in files}
        if sparse and not features:
            width = max(source.highest_number for source in sources.values())
        if not 1 <= width <= MOST_FEATURES:
            raise GradrankError(f"{path}: rows have {width} features; expected 1 to {MOST_FEATURES:,}")
        parts = _parts(layout, sources, seed)
        chunks = [chunk for part in parts for chunk in _chunks(part, width)]
        with atomic(out) as partial:
            written = _write(partial, width, _ahead(pool, lambda chunk: _read(chunk, width, sparse), chunks))
            meta = {
                "dataset": dataset,
                "rows": sum(part["rows"] for part in written.values()),
                "queries": sum(part["queries"] for part in written.values()),
                "features": width,
                "source_sha256": digest.result(),
                "parts": written,
                "folds": layout.folds,
            }
    write_json(out.with_suffix(".json"), meta)
    return meta


def _sha256(files: list[Path]) -> str:
    """The hash of the files one after the other."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(1 << 20))
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                digest.update(buffer[:count])
    return digest.hexdigest()


def _parts(layout: Layout, sources: dict[Path, Source], seed: int) -> list[Chunk]:
    """Each part as one chunk.

    Raises GradrankError where a query is in two parts of a five-fold collection: folds would test what they
    trained on. (Separate train, vali and test files may each number their queries from 1.)
    """
    if layout.kind == "single_file":
        (source,) = sources.values()
        count = len(source.qids)
        if count < len(layout.sources):
            raise GradrankError(f"{source.path}: {count} queries; five parts need at least 5")
        shares = np.array_split(np.random.default_rng(seed).permutation(count), len(layout.sources))
        return [Chunk(part, source, np.sort(share)) for part, share in enumerate(shares, start=1)]
    seen: dict[int, Path] = {}
    for source in sources.values() if layout.kind == "five_fold" else ():
        for query in np.flatnonzero(np.isin(source.qids, list(seen)))[:1]:
            other = seen[int(source.qids[query])]
            message = f"query {source.qids[query]} is in {other} too; a query must be in one part"
            raise line_error(source.path, source.starts[query], message)
        seen |= dict.fromkeys(source.qids.tolist(), source.path)
    return [
        Chunk(part, source, np.arange(len(source.qids)))
        for part, source in ((part, sources[file]) for part, file in layout.sources.items())
    ]


def _chunks(part: Chunk, width: int) -> Iterator[Chunk]:
    """Cuts a part between queries so that text and rows of a piece stay near CHUNK_BYTES."""
    source, queries = part.source, part.queries
    cost = source.stops[queries] - source.starts[queries] + source.rows[queries] * width * 4
    piece = (np.cumsum(cost) - 1) // CHUNK_BYTES
    for share in np.split(queries, np.flatnonzero(np.diff(piece)) + 1):
        yield Chunk(part.part, source, share)


def _read(chunk: Chunk, width: int, sparse: bool) -> tuple[Chunk, Rows, pa.Table]:
    rows = read_rows(chunk.source, chunk.queries, width, sparse)
    return chunk, rows, _table(*chunk, rows)


def _ahead(pool: ThreadPoolExecutor, function: Callable, items: Iterable) -> Iterator:
    """Results in order, computed in the pool at most THREADS results ahead."""
    pending: deque = deque()
    for item in items:
        pending.append(pool.submit(function, item))
        if len(pending) > THREADS:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


def _write(path: Path, width: int, chunks: Iterable[tuple[Chunk, Rows, pa.Table]]) -> dict[str, Any]:
    """Write each chunk as a row group; return the counts and the hash of each part, by its number."""
    parts: dict[str, Any] = {}
    writer = pq.ParquetWriter(
        path,
        _schema(width),
        compression="lz4",  # a quarter more bytes than zstd, a quarter less time to write, half to read
        use_dictionary=["part", "qid", "label"],  # feature values hardly repeat
        write_statistics=["part", "qid"],
    )
    with writer:
        for chunk, rows, table in chunks:
            writer.write_table(table)
            counts = parts.setdefault(
                str(chunk.part), {"rows": 0, "queries": 0, "labels": Counter(), "sha256": hashlib.sha256()}
            )
            counts["rows"] += len(rows.labels)
            counts["queries"] += len(chunk.queries)
            counts["labels"].update(dict(enumerate(np.bincount(rows.labels).tolist())))
            counts["sha256"].update(rows.text)
    for counts in parts.values():
        counts["labels"] = {str(grade): count for grade, count in sorted(counts["labels"].items()) if count}
        counts["sha256"] = counts["sha256"].hexdigest()
    return parts


def _schema(width: int) -> pa.Schema:
    ids = [("part", pa.int8(), False), ("qid", pa.int64(), False), ("docid", pa.string(), True)]
    numbers = [("inc", pa.float64(), True), ("prob", pa.float64(), True), ("label", pa.int16(), False)]
    features = [(f"f{number}", pa.float32(), False) for number in range(1, width + 1)]
    return pa.schema([pa.field(*field) for field in ids + numbers + features])


def _table(part: int, source: Source, queries: np.ndarray, rows: Rows) -> pa.Table:
    estimates = (rows.inc, rows.prob)
    columns = [
        pa.array(np.full(len(rows.labels), part, np.int8)),
        pa.array(rows.qids),
        _docids(source, queries, rows),
        *(pa.array(values, mask=np.isnan(values) | (values == UNKNOWN)) for values in estimates),
        pa.array(rows.labels),
        *(pa.array(values) for values in rows.features),
    ]
    return pa.Table.from_arrays(columns, schema=_schema(len(rows.features)))


def _docids(source: Source, queries: np.ndarray, rows: Rows) -> pa.Array:
    data, offsets = scan.gather(rows.text, rows.docids)
    present = np.packbits(rows.docids[:, 0] >= 0, bitorder="little")
    buffers = [pa.py_buffer(present), pa.py_buffer(offsets), pa.py_buffer(data)]
    docids = pa.Array.from_buffers(pa.string(), len(rows.docids), buffers)
    try:
        docids.validate(full=True)
    except pa.ArrowInvalid:
        raise GradrankError(f"{source.path}: a docid is not UTF-8 text") from None
    return docids
