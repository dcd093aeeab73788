"""New data to rank, some whole queries at a time: LETOR or SVMlight text, or Parquet."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradrank.data.memory import check_memory
from gradrank.errors import GradrankError

if TYPE_CHECKING:
    import polars as pl

    from gradrank.data.rows import Missing

ROWS_A_BATCH = 1 << 16


class Batch(NamedTuple):
    """Whole queries: features (n, d) float32, offsets (q+1,), qids (q,), numbers or text, docids n strings or None."""

    features: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: list[str | None]


def read_batches(path: Path, width: int, missing: "Missing | None" = None) -> Iterator[Batch]:
    """The rows of a file in order, some whole queries at a time; `missing` values as `gradrank.data.parse` has them.

    Raises GradrankError unless it has `width` features; sparse text may leave any of them out.
    """
    if not path.is_file():
        raise GradrankError(f"{path}: no such file; expected LETOR or SVMlight text, or Parquet")
    with path.open("rb") as stream:
        is_parquet = stream.read(4) == b"PAR1"
    if is_parquet:
        return _parquet_batches(path, width, missing or "keep")
    return _text_batches(path, width, missing or "least")


def _text_batches(path: Path, width: int, missing: "Missing") -> Iterator[Batch]:
    from gradrank.data.compressed import Plain
    from gradrank.data.rows import first_row, read_rows
    from gradrank.data.text_file import survey_any

    found, sparse, _ = first_row(path)
    source = survey_any([Plain(path)], numbers=sparse)[0]
    if not sparse or source.highest_number > width:
        _check_width(path, max(found, source.highest_number), width)
    check_memory(path, int(source.rows.max()), width)
    for queries in _batches(source.rows):
        rows = read_rows(source, queries, width, sparse, missing)
        offsets = np.r_[0, np.cumsum(source.rows[queries])]
        docids = [
            bytes(rows.docids[a:b]).decode(errors="backslashreplace") if b > a else None
            for a, b in pairwise(rows.ends.tolist())
        ]
        yield Batch(rows.features.T, offsets, source.ids[queries], docids)


def _parquet_batches(path: Path, width: int, missing: "Missing") -> Iterator[Batch]:
    import polars as pl

    from gradrank.data.parquet import parquet_frames, parquet_schema, read_parquet
    from gradrank.data.rows import fill

    columns = parquet_schema(path)
    _check_width(path, sum(name[:1] == "f" and name[1:].isdigit() for name in columns), width)
    names = [f"f{i}" for i in range(1, width + 1)]
    if absent := [name for name in ["qid", *names] if name not in columns]:
        raise GradrankError(
            f"{path}: no column {absent[0]!r}; expected qid, f1 to f{width}, and docid if known"
        )
    if unfit := [name for name in names if not _is_number(columns[name])]:
        raise GradrankError(f"{path}: column {unfit[0]!r} is {columns[unfit[0]]}, not numbers")
    # Parts may each number their queries from 1.
    keys = read_parquet(path, ("part", "qid"))
    if keys.is_empty() or keys["qid"].null_count():
        raise GradrankError(f"{path}: {'no rows' if keys.is_empty() else 'a row has no query id'}")
    runs = keys.select(pl.struct(pl.all()).rle().alias("run"))["run"].struct.unnest()
    if runs["value"].is_duplicated().any():
        again = runs["value"].filter(runs["value"].is_duplicated())[0]["qid"]
        raise GradrankError(f"{path}: the rows of query {again} are not together")
    counts = runs["len"].to_numpy().astype(np.int64)
    ids = "query" if "query" in columns else "qid"
    frames = parquet_frames(path, (ids, "docid", *names), ROWS_A_BATCH)
    for queries, rows in _cut(_batches(counts), counts, frames):
        offsets = np.r_[0, np.cumsum(counts[queries])]
        features = _float32(rows.select(pl.col(names).cast(pl.Float64)).to_numpy().T)
        fill(features, counts[queries], missing)
        docids = rows["docid"] if "docid" in columns else [None] * len(rows)
        yield Batch(features.T, offsets, rows[ids].to_numpy()[offsets[:-1]], list(map(_text, docids)))


def _float32(values: np.ndarray) -> np.ndarray:
    """Beyond its range its largest, as where data are parsed; what is infinite stays so."""
    largest = np.finfo(np.float32).max
    within = np.where(np.isfinite(values), np.clip(values, -largest, largest), values)
    return np.array(within, np.float32, order="C")  # its own: it is written to


def _is_number(kind: "pl.DataType") -> bool:
    return kind.is_numeric() or str(kind) in ("Boolean", "Null")


def _text(docid: object) -> str | None:
    if isinstance(docid, bytes):
        return docid.decode(errors="backslashreplace")
    return None if docid is None else str(docid)


def _cut(
    batches: list[np.ndarray], counts: np.ndarray, frames: "Iterator[pl.DataFrame]"
) -> "Iterator[tuple[np.ndarray, pl.DataFrame]]":
    """Each batch of queries with its rows, which come in frames that end anywhere."""
    import polars as pl

    held = next(frames)
    for queries in batches:
        wanted = counts[queries].sum()
        while len(held) < wanted:
            held = pl.concat([held, next(frames)])
        yield queries, held[:wanted]
        held = held[wanted:]


def _batches(rows: np.ndarray) -> list[np.ndarray]:
    """Neighbouring queries by position, about ROWS_A_BATCH rows together; rows (q,) is how many each has."""
    return np.split(np.arange(len(rows)), np.flatnonzero(np.diff(np.cumsum(rows) // ROWS_A_BATCH)) + 1)


def _check_width(path: Path, found: int, width: int) -> None:
    if found != width:
        raise GradrankError(f"{path}: has {found} features, but the model was trained on {width}")
