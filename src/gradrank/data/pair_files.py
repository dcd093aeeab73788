"""The stage of pairs: those of a stored collection, once for all folds and models."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from gradrank.base.files import sha256
from gradrank.base.stamps import write_sealed
from gradrank.data.given_pairs import read_given
from gradrank.data.pairs import Pairs, pair_batches
from gradrank.data.part_files import GIVEN, GRADES, HALF, PAIRS, write_parts
from gradrank.data.stored import StoredCollection

BATCH = 1_000_000  # pairs held at once while writing: about 29 MB of columns
SCHEMA = {"query": pl.Int32, "better": pl.Int32, "worse": pl.Int32, "target": pl.Float64, "weight": pl.Float64}


def pairs(
    collection: Path | str, out: Path | str, ties: Literal["omit", "half"] = "omit", given: Path | str | None = None
) -> None:
    """Write the pairs of a stored collection into the folder `out`: part1.parquet, .., pairs.json.

    given: a user's file (see data/given_pairs.py); without it they are those of the grades, of which equal ones make no
    pair (ties `omit`) or one with target 1/2 (`half`). Those of grades are written in batches of queries: memory does
    not grow with their number.
    Parquet: columns query (position in the part), better, worse (row numbers in the part), Int32; target, weight,
    Float64, as `Pairs` has them; rows sorted by query.
    JSON: targets (`grades` or `given`), ties or the SHA-256 of the file given, and parts, with the number of pairs of
    each, the SHA-256 of its file, and that of the rows it is `of`.
    Raises GradrankError at what is wrong in the file given; `out` then stays as it was.
    """
    stored, out = StoredCollection.open(collection), Path(out)
    paths = {part: stored.part_file(part) for part in stored.parts}
    if given is None:
        said: dict[str, Any] = {"targets": GRADES, "ties": ties}
        found = {part: _of_grades(path, ties == HALF) for part, path in paths.items()}
    else:
        said = {"targets": GIVEN, "given_sha256": sha256(Path(given))}
        found = {part: [own] for part, own in read_given(Path(given), paths).items()}
    writers = {part: partial(_write, found[part], of) for part, of in stored.checksums.items()}
    written = write_parts(out, PAIRS, writers)
    write_sealed(out / PAIRS, said | {"parts": written})


def _of_grades(rows: Path, ties: bool) -> Iterator[Pairs]:
    frame = pl.scan_parquet(rows).select("qid", "label").collect()
    qid, labels = frame["qid"].to_numpy(), frame["label"].to_numpy().astype(np.int32)
    offsets = np.r_[0, np.flatnonzero(qid[1:] != qid[:-1]) + 1, len(labels)].astype(np.int64)
    yield from pair_batches(labels, offsets, ties, BATCH)


def _write(batches: Iterable[Pairs], of: str, path: Path) -> dict[str, int | str]:
    count = 0

    def source(*_) -> Iterator[pl.DataFrame]:
        nonlocal count
        for found in batches:
            count += len(found)
            yield pl.DataFrame({name: _column(found, name) for name in SCHEMA}, schema=SCHEMA)

    with path.open("wb") as file:  # as in parse.py
        register_io_source(source, schema=SCHEMA).sink_parquet(file)
    return {"pairs": count, "of": of}


def _column(found: Pairs, name: str) -> Any:
    values = getattr(found, name)
    return pl.repeat(1.0, len(found), eager=True) if values is None else values
