"""A collection to Parquet, one file a part: text, every line checked as `letor` says, in bounded memory; or tables."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import write_sealed
from gradrank.data.compressed import blocks
from gradrank.data.description import Ranges, describe_roles, joined, notes_of, ranges
from gradrank.data.layout import Layout, check_copies, find_layout, is_table
from gradrank.data.leakage import Contents, query_digests, shared_queries
from gradrank.data.memory import check_memory
from gradrank.data.part_files import COLLECTION, write_parts
from gradrank.data.reader import Reading, feature_matrix, read_collection
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.data.text.letor import CHUNK_BYTES, ahead, chunks, lazy, schema
from gradrank.data.text.rows import Missing
from gradrank.data.text.text_file import Source


class Part(NamedTuple):
    """Queries of one file, by their ascending positions."""

    source: Source | DataTable
    queries: np.ndarray


def parse(
    path: Path | str,
    out: Path | str,
    seed: int,
    dataset: str,
    features: int | None = None,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    missing: Missing | None = None,
) -> dict[str, Any]:
    """Parse the collection at `path` (see data/layout.py) into the folder `out`: part1.parquet, .., collection.json.

    Parquet: rows in file order, in the columns of `scan_letor`.
    JSON, also returned: dataset, rows, queries, features, source_sha256 (of the parts' text, one file after the other),
    megabytes (of the Parquet files), parts (rows, queries, rows a grade and the SHA-256 of its Parquet file, of each),
    folds and roles (what was understood of each column, see data/description.py); where they are: note (what was
    decided that nobody declared, and queries that two parts share), division (of files that were divided the part of
    each query, a digit each in the files' order), missing (what missing values become, if it was declared),
    missing_values (rows without a value, by feature, where they stay missing), names (a table's own names of its
    features), columns (what was declared of a table), sparse (true where rows of text may leave features out).
    seed divides the queries of a single file into five parts; folders come divided.
    features: the width of sparse rows. columns: of tables.
    missing: what missing values become; None: `least` in text, where they are NULL, `keep` in tables.
    Raises GradrankError at a bad line, and where two parts are the same; `out` then stays as it was.
    """
    layout, out = find_layout(path), Path(out)
    files = list(dict.fromkeys(layout.sources.values()))
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_sha256, files)  # beside all that follows
        reading, sources = _read(layout, files, columns, features, missing, out.parent)
        check_memory(Path(path), sum(int(source.rows.sum()) for source in sources.values()), reading.width)
        parts = _parts(layout, sources, seed)
        contents: dict[int, Contents] = {}
        writers = {number: partial(_write, part, reading, contents, number) for number, part in parts.items()}
        shared: list[str] = []
        written = write_parts(out, COLLECTION, writers, lambda: shared.extend(shared_queries(contents, layout.folds)))
        whole = joined(part.pop("ranges") for part in written.values())
        rows, queries = (sum(part[count] for part in written.values()) for count in ("rows", "queries"))
        roles = describe_roles(next(iter(sources.values())), reading.names, whole, rows, queries)
        meta = {
            "dataset": dataset,
            "rows": rows,
            "queries": queries,
            "features": reading.width,
            "source_sha256": digest.result(),
            "megabytes": -(-sum(part.stat().st_size for part in out.glob("part*.parquet")) // 1_000_000),
            "parts": written,
            "folds": layout.folds,
            "roles": roles,
        }
    notes = [*([layout.note] if layout.note else []), *notes_of(roles), *shared]
    more = {"note": ". ".join(notes), "missing": missing, "names": reading.names, "columns": columns.declared()}
    more |= {"sparse": reading.sparse, "division": _division(sources.values(), parts) if layout.slots else None}
    if reading.missing == "keep":
        counts = dict(zip(whole.names, whole.missing.astype(int).tolist(), strict=True))
        more["missing_values"] = {name: count for name, count in counts.items() if name[:1] == "f" and count}
    write_sealed(out / COLLECTION, meta := meta | {key: value for key, value in more.items() if value})
    return meta


def _read(
    layout: Layout, files: list[Path], columns: Columns, features: int | None, missing: Missing | None, folder: Path
) -> tuple[Reading, dict[Path, Source | DataTable]]:
    """The files that hold the parts; those that repeat parts are compared with them. Packed text is unpacked in
    `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(map(is_table, layout.files)):
        check_copies(layout)
        reading = read_collection(files, columns, features, missing, folder)
        return reading, dict(zip(files, reading.sources, strict=True))
    reading = read_collection(layout.files, columns, features, missing)
    found = dict(zip(layout.files, reading.sources, strict=True))
    check_copies(layout, "row", lambda copy, originals: found[copy].differing_row([found[each] for each in originals]))
    return reading, {file: found[file] for file in files}


def _sha256(files: list[Path]) -> str:
    """The hash of the files' text one after the other."""
    digest = hashlib.sha256()
    for file in files:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _parts(layout: Layout, sources: Mapping[Path, Source | DataTable], seed: int) -> dict[int, Part]:
    """The queries of each part; those of a file that holds several are divided by the seed.

    Raises GradrankError where a query is in two parts of a five-fold collection: folds would test what they
    trained on. (Separate train, vali and test files may each number their queries from 1.)
    """
    seen: dict[int, Path] = {}
    for source in sources.values() if layout.kind == "five_fold" else ():
        for query in np.flatnonzero(np.isin(source.qids, list(seen)))[:1]:
            other = seen[int(source.qids[query])]
            message = f"query {source.ids[query]} is in {other} too; a query must be in one part"
            raise source.error_at(query, message)
        seen |= dict.fromkeys(source.qids.tolist(), source.path)
    parts = {}
    for file, source in sources.items():
        own = [part for part, path in layout.sources.items() if path == file]
        count, slots = len(source.qids), np.array(layout.slots if len(own) > 1 else own)
        if count < len(slots):
            raise GradrankError(f"{file}: {count} queries; {len(own)} parts need at least {len(slots)}")
        shares = np.array_split(np.random.default_rng(seed).permutation(count), len(slots))
        parts |= {
            part: Part(source, np.sort(np.concatenate([shares[k] for k in np.flatnonzero(slots == part)])))
            for part in own
        }
    return {part: parts[part] for part in sorted(parts)}


def _division(sources: Iterable[Source | DataTable], parts: Mapping[int, Part]) -> str:
    """The part of each query, a digit each, in the files' order."""
    digits = []
    for source in sources:
        own = np.empty(len(source.qids), np.int64)
        for number, part in parts.items():
            if part.source is source:
                own[part.queries] = number
        digits += map(str, own.tolist())
    return "".join(digits)


def _write(part: Part, reading: Reading, contents: dict[int, Contents], number: int, path: Path) -> dict[str, Any]:
    """Write the file of one part; its rows, queries, rows a grade and ranges. What it holds is added to `contents`."""
    source, grades, spans, digests = part.source, Counter(), [], []
    columns = schema(reading.width, source.names is not None)

    def read(queries: np.ndarray) -> tuple[pl.DataFrame, Ranges, np.ndarray]:
        frame, counts = reading.frame(source, queries), source.rows[queries]
        features = feature_matrix(frame)
        digests = query_digests(frame["label"].to_numpy(), features, counts)
        filled = reading.filled(features, counts)
        if filled is not features:
            own = (pl.Series(f"f{number}", each) for number, each in enumerate(filled.T, start=1))
            return frame.with_columns(own), ranges(frame, features), digests
        return frame, ranges(frame, features), digests

    def frames(_: int | None) -> Iterator[pl.DataFrame]:
        for frame, span, digest in ahead(read, chunks(source, part.queries, reading.width)):
            grades.update(dict(frame["label"].value_counts().iter_rows()))
            spans.append(span)
            digests.append(digest)
            yield frame

    # Opened here: after an error Polars' threads may still create a file by its name, when it has been removed.
    with path.open("wb") as file:
        lazy(columns, frames).sink_parquet(
            file,
            compression="lz4",  # a quarter more bytes than zstd, a quarter less time to write, half to read
            statistics=False,
            row_group_size=max(1, CHUNK_BYTES // (4 * reading.width)),  # as much as is in memory at once
        )
    contents[number] = Contents(Path(source.path), source.ids[part.queries], np.concatenate(digests))
    return {
        "rows": grades.total(),
        "queries": len(part.queries),
        "labels": {str(grade): count for grade, count in sorted(grades.items())},
        "ranges": joined(spans),
    }
