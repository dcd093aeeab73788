"""Crucial pairs: two documents of one query with different grades, the better one first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradrank.compiled import compiled
from gradrank.files import atomic

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


def pairs(parquet: Path | str, out: Path | str) -> None:
    """Write the pairs of a Parquet collection in batches of queries: memory does not grow with their number.

    Columns `part`, `query` (position in the collection), `better`, `worse` (row numbers); rows sorted by part
    and query.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = {"part": pl.Int8, "query": pl.Int32, "better": pl.Int32, "worse": pl.Int32}

    def source(with_columns, predicate, n_rows, batch_size):
        for columns in _batches(parquet):
            yield pl.DataFrame(columns, schema=schema)

    with atomic(out) as partial:
        register_io_source(source, schema=schema).sink_parquet(partial, maintain_order=True)


def _batches(parquet: Path | str) -> Iterator[dict[str, np.ndarray]]:
    import polars as pl

    frame = pl.scan_parquet(parquet).select("part", "qid", "label").collect()
    part, qid = frame["part"].to_numpy(), frame["qid"].to_numpy()
    labels = frame["label"].to_numpy().astype(np.int32)
    new = (part[1:] != part[:-1]) | (qid[1:] != qid[:-1])
    offsets = np.r_[0, np.flatnonzero(new) + 1, len(labels)].astype(np.int64)
    counts = pair_counts(labels, offsets, False)
    total, start = np.cumsum(counts), 0
    while start < len(counts):
        done = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, done + BATCH, side="right")))
        found = _pairs(labels, offsets, counts, start, stop, ties=False)
        yield {
            "part": part[found.better],
            "query": found.query,
            "better": found.better,
            "worse": found.worse,
        }
        start = stop


def read_pairs(path: Path | str, parquet: Path | str, parts: Sequence[int]) -> Pairs:
    """The stored pairs of some parts of a collection, one after the other in the order given.

    Rows and queries are counted in these parts, as `Collection.read` reads them, not in the file.
    """
    import polars as pl

    sizes = pl.scan_parquet(parquet).group_by("part").agg(rows=pl.len(), queries=pl.col("qid").n_unique())
    before = pl.col("rows", "queries").cum_sum() - pl.col("rows", "queries")  # parts are stored in order
    stored = sizes.sort("part").with_columns(before.name.suffix("_before")).collect()
    stored = stored.rows_by_key("part", named=True, unique=True)
    pieces, row, query = [], 0, 0
    for part in parts:
        own = stored[part]
        pieces.append(
            pl.scan_parquet(path)
            .filter(pl.col("part") == part)
            .select(
                pl.col("better", "worse") + pl.lit(row - own["rows_before"], pl.Int32),
                pl.col("query") + pl.lit(query - own["queries_before"], pl.Int32),
            )
        )
        row, query = row + own["rows"], query + own["queries"]
    table = pl.concat(pieces).collect()
    return Pairs(*(table[name].to_numpy(writable=True) for name in ("better", "worse", "query")))
