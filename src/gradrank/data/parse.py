"""A collection to Parquet, one file a part: every line of its text checked, as `letor` says, in bounded memory."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.data.compressed import Plain, blocks
from gradrank.data.layout import Layout, check_copies, find_layout
from gradrank.data.letor import CHUNK_BYTES, ahead, chunks, lazy, schema, text_frame
from gradrank.data.rows import first_row, read_rows
from gradrank.data.stored import COLLECTION, write_parts
from gradrank.data.text_file import Source, line_error, survey_any
from gradrank.errors import GradrankError
from gradrank.files import write_json

MOST_FEATURES = 10_000  # rows are stored dense


class Part(NamedTuple):
    """Queries of one file, by their ascending positions."""

    source: Source
    queries: np.ndarray


def parse(
    path: Path | str, out: Path | str, seed: int, dataset: str, features: int | None = None
) -> dict[str, Any]:
    """Parse the collection at `path` (see data/layout.py) into the folder `out`: part1.parquet, .., collection.json.

    Parquet: rows in file order, in the columns of `scan_letor`.
    JSON, also returned: dataset, rows, queries, features, source_sha256 (of the parts' text, one file after the other),
    megabytes (of the Parquet files), parts (rows, queries, rows a grade and the SHA-256 of its Parquet file, of each)
    and folds.
    seed divides the queries of a single file into five parts; folders come divided.
    features: the width of sparse rows.
    Raises GradrankError at a bad line; `out` then stays as it was.
    """
    layout, out = find_layout(path), Path(out)
    check_copies(layout)
    width, sparse = (features, True) if features else first_row(layout.files[0])[:2]
    files = list(dict.fromkeys(layout.sources.values()))
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_sha256, files)  # beside all that follows
        sources = _surveyed(files, out.parent, numbers=sparse and not features)
        if sparse and not features:
            width = max(source.highest_number for source in sources.values())
        if not 1 <= width <= MOST_FEATURES:
            raise GradrankError(f"{path}: rows have {width} features; expected 1 to {MOST_FEATURES:,}")
        for source in sources.values():  # what is wrong with every row is said of the first
            read_rows(source, np.array([0]), width, sparse)
        parts = _parts(layout, sources, seed)
        writers = {number: partial(_write, part, width, sparse) for number, part in parts.items()}
        written = write_parts(out, COLLECTION, writers)
        meta = {
            "dataset": dataset,
            "rows": sum(part["rows"] for part in written.values()),
            "queries": sum(part["queries"] for part in written.values()),
            "features": width,
            "source_sha256": digest.result(),
            "megabytes": -(-sum(part.stat().st_size for part in out.glob("part*.parquet")) // 1_000_000),
            "parts": written,
            "folds": layout.folds,
        }
    write_json(out / COLLECTION, meta)
    return meta


def _sha256(files: list[Path]) -> str:
    """The hash of the files' text one after the other."""
    digest = hashlib.sha256()
    for file in files:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _surveyed(files: list[Path], folder: Path, numbers: bool) -> dict[Path, Source]:
    """Each file's queries; packed files are unpacked in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [Plain(file, folder) for file in files]
    return dict(zip(files, survey_any(texts, numbers), strict=True))


def _parts(layout: Layout, sources: Mapping[Path, Source], seed: int) -> dict[int, Part]:
    """The queries of each part.

    Raises GradrankError where a query is in two parts of a five-fold collection: folds would test what they
    trained on. (Separate train, vali and test files may each number their queries from 1.)
    """
    if layout.kind == "single_file":
        (source,) = sources.values()
        count = len(source.qids)
        if count < len(layout.sources):
            raise GradrankError(f"{source.path}: {count} queries; five parts need at least 5")
        shares = np.array_split(np.random.default_rng(seed).permutation(count), len(layout.sources))
        return {part: Part(source, np.sort(share)) for part, share in enumerate(shares, start=1)}
    seen: dict[int, Path] = {}
    for source in sources.values() if layout.kind == "five_fold" else ():
        for query in np.flatnonzero(np.isin(source.qids, list(seen)))[:1]:
            other = seen[int(source.qids[query])]
            message = f"query {source.ids[query]} is in {other} too; a query must be in one part"
            raise line_error(source.text, source.starts[query], message)
        seen |= dict.fromkeys(source.qids.tolist(), source.path)
    return {
        part: Part(sources[file], np.arange(len(sources[file].qids))) for part, file in layout.sources.items()
    }


def _write(part: Part, width: int, sparse: bool, path: Path) -> dict[str, Any]:
    """Write the file of one part; its rows, queries and rows a grade."""
    source, grades = part.source, Counter()

    def frames(_: int | None) -> Iterator[pl.DataFrame]:
        for frame in ahead(lambda piece: text_frame(source, piece, width, sparse, "least"), pieces):
            grades.update(dict(frame["label"].value_counts().iter_rows()))
            yield frame

    pieces = chunks(source, part.queries, width)
    # Opened here: after an error Polars' threads may still create a file by its name, when it has been removed.
    with path.open("wb") as file:
        lazy(schema(width, source.names is not None), frames).sink_parquet(
            file,
            compression="lz4",  # a quarter more bytes than zstd, a quarter less time to write, half to read
            statistics=False,
            row_group_size=max(1, CHUNK_BYTES // (4 * width)),  # as much as is in memory at once
        )
    return {
        "rows": grades.total(),
        "queries": len(part.queries),
        "labels": {str(grade): count for grade, count in sorted(grades.items())},
    }
