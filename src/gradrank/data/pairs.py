"""Crucial pairs: two documents of one query with different grades, the better one first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gradrank.compiled import compiled
from gradrank.data.stored import PAIRS, describe, part_file, write_parts
from gradrank.errors import GradrankError
from gradrank.files import write_json

BATCH = 1_000_000  # pairs held at once while writing: about 13 MB of columns


@dataclass(frozen=True)
class Pairs:
    """Crucial pairs: within one query, `better` has the higher grade.

    better, worse: (p,) int32 row numbers within the Collection that holds them.
    query: (p,) int32 position of the query in that Collection.
    """

    better: np.ndarray
    worse: np.ndarray
    query: np.ndarray

    def __len__(self) -> int:
        return len(self.better)


def crucial_pairs(labels: np.ndarray, offsets: np.ndarray, ties: bool = False) -> Pairs:
    """All crucial pairs, by query, then better, then worse document in file order.

    labels: (n,) grades >= 0. offsets: (q+1,). With `ties` the pairs of equal grade come too, once each and in
    file order: RankNet may train on them with target probability 1/2 (Burges et al. 2005).
    """
    labels, offsets = np.ascontiguousarray(labels, np.int32), np.ascontiguousarray(offsets, np.int64)
    counts = pair_counts(labels, offsets, ties)
    return _pairs(labels, offsets, counts, 0, len(counts), ties)


def _pairs(labels, offsets, counts, start: int, stop: int, ties: bool) -> Pairs:
    """The pairs of queries start..stop-1, whose numbers are in `counts`."""
    first = np.r_[0, np.cumsum(counts[start:stop])]
    better, worse = np.empty(first[-1], np.int32), np.empty(first[-1], np.int32)
    _fill(labels, offsets[start : stop + 1], first, ties, better, worse)
    return Pairs(better, worse, np.repeat(np.arange(start, stop, dtype=np.int32), counts[start:stop]))


@compiled
def pair_counts(labels, offsets, ties):
    """(q,) int64: pairs of each query, n(n-1)/2 less (unless `ties`) those within a grade."""
    counts = np.zeros(len(offsets) - 1, np.int64)
    for q in range(len(counts)):
        ordered = np.sort(labels[offsets[q] : offsets[q + 1]])
        equal = 0  # documents before i with the grade of i
        for i in range(1, len(ordered)):
            equal = equal + 1 if ordered[i] == ordered[i - 1] else 0
            counts[q] += i if ties else i - equal
    return counts


@compiled
def _fill(labels, offsets, first, ties, better, worse):
    for q in range(len(offsets) - 1):
        a, b, p = offsets[q], offsets[q + 1], first[q]
        for i in range(a, b):
            for j in range(a, b):
                gap = labels[i] - labels[j]
                if gap > 0 or (ties and gap == 0 and i < j):
                    better[p], worse[p] = i, j
                    p += 1


def pairs(collection: Path | str, out: Path | str) -> None:
    """Write the pairs of a stored collection into the folder `out`: part1.parquet, .., pairs.json.

    Parquet: columns query (position in the part), better, worse (row numbers in the part), Int32; rows sorted by query.
    They are written in batches of queries: memory does not grow with their number.
    JSON: parts, with the number of pairs of each, the SHA-256 of its file, and that of the rows it is `of`.
    """
    folder, out = Path(collection), Path(out)
    parts = describe(folder)["parts"]
    writers = {
        int(part): partial(_write, part_file(folder, int(part)), own["sha256"]) for part, own in parts.items()
    }
    written = write_parts(out, PAIRS, writers)
    write_json(out / PAIRS, {"parts": written})


def _write(rows: Path, of: str, path: Path) -> dict[str, int | str]:
    import polars as pl
    from polars.io.plugins import register_io_source

    count = 0

    def source(*_) -> Iterator[pl.DataFrame]:
        nonlocal count
        for found in _batches(rows):
            count += len(found)
            yield pl.DataFrame({"query": found.query, "better": found.better, "worse": found.worse})

    schema = dict.fromkeys(("query", "better", "worse"), pl.Int32)
    with path.open("wb") as file:  # as in parse.py
        register_io_source(source, schema=schema).sink_parquet(file)
    return {"pairs": count, "of": of}


def _batches(rows: Path) -> Iterator[Pairs]:
    import polars as pl

    frame = pl.scan_parquet(rows).select("qid", "label").collect()
    qid, labels = frame["qid"].to_numpy(), frame["label"].to_numpy().astype(np.int32)
    offsets = np.r_[0, np.flatnonzero(qid[1:] != qid[:-1]) + 1, len(labels)].astype(np.int64)
    counts = pair_counts(labels, offsets, False)
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        done = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, done + BATCH, side="right")))
        yield _pairs(labels, offsets, counts, start, stop, ties=False)
        start = stop


def read_pairs(folder: Path | str, collection: Path | str, parts: Sequence[int]) -> Pairs:
    """The stored pairs of some parts of a collection, one after the other in the order given.

    Rows and queries are counted in these parts, as `Collection.read` reads them, not in the files. Raises GradrankError
    for a file that is missing or damaged, and for pairs of other rows.
    """
    import polars as pl

    rows, stored = describe(collection)["parts"], describe(folder, PAIRS)["parts"]
    pieces, row, query = [], 0, 0
    for part in parts:
        path, own = part_file(folder, part, PAIRS), rows[str(part)]
        if stored[str(part)]["of"] != own["sha256"]:
            raise GradrankError(
                f"{path}: pairs of other rows than those of {collection}; run `gradrank pairs` again"
            )
        pieces.append(
            pl.scan_parquet(path).select(
                pl.col("better", "worse") + pl.lit(row, pl.Int32), pl.col("query") + pl.lit(query, pl.Int32)
            )
        )
        row, query = row + own["rows"], query + own["queries"]
    table = pl.concat(pieces).collect()
    return Pairs(*(table[name].to_numpy(writable=True) for name in ("better", "worse", "query")))
