"""The `pairs` stage: write the pairs of a stored collection once, for all folds and models."""

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
from gradrank.data.part_files import GIVEN, GRADES, HALF, PAIRS, check_part_folder, write_parts
from gradrank.data.stored import StoredCollection

BATCH = 1_000_000  # number of pairs in memory at once while writing: about 29 MB of columns
SCHEMA = {"query": pl.Int32, "better": pl.Int32, "worse": pl.Int32, "target": pl.Float64, "weight": pl.Float64}


def write_pairs(
    collection: Path | str, out: Path | str, ties: Literal["omit", "half"] = "omit", given: Path | str | None = None
) -> None:
    """Write the pairs of a stored collection into the folder `out`: part1.parquet and so on, and pairs.json.

    Pairs that follow from the grades are written in batches of queries, so memory does not grow with the number of
    pairs.

    The Parquet columns are those of `Pairs`. `query` (the position of the query in the part), `better` and `worse` (row
    numbers in the part) are Int32, and `target` and `weight` are Float64. Rows are sorted by query.

    pairs.json has the keys `targets`, `parts`, and either `ties` or `given_sha256`. `targets` is `grades` or `given`.
    `given_sha256` is the SHA-256 of the user's file. `parts` has three entries per part: the number of `pairs`, the
    `sha256` of the file of pairs, and `of`, the SHA-256 of the part file with the documents.

    Parameters
    ----------
    collection
        The folder of the stored collection.
    ties
        `omit` if documents of equal grade are not pairs, `half` if they are pairs with target 1/2.
    given
        A user's file of pairs (see data/given_pairs.py), which replaces the pairs of the grades.

    Raises GradrankError for an error in the user's file, and if `out` contains files of others. `out` then
    stays as it was.
    """
    stored, out = StoredCollection.open(collection), Path(out)
    inputs = [Path(collection), *([] if given is None else [Path(given)])]
    check_part_folder(out / PAIRS, inputs, lambda columns: columns == list(SCHEMA))
    rows = {part: stored.part_file(part) for part in stored.parts}
    batches: dict[int, Iterable[Pairs]]
    if given is None:
        settings: dict[str, Any] = {"targets": GRADES, "ties": ties}
        batches = {part: _pairs_of_grades(path, ties == HALF) for part, path in rows.items()}
    else:
        settings = {"targets": GIVEN, "given_sha256": sha256(Path(given))}
        batches = {part: [pairs] for part, pairs in read_given(Path(given), rows).items()}
    writers = {part: partial(_write, batches[part], checksum) for part, checksum in stored.checksums.items()}
    written = write_parts(out, PAIRS, writers)
    write_sealed(out / PAIRS, settings | {"parts": written})


def _pairs_of_grades(rows: Path, ties: bool) -> Iterator[Pairs]:
    """Yield the crucial pairs of one part file in batches. With `ties`, documents of equal grade are pairs as well."""
    frame = pl.scan_parquet(rows).select("qid", "label").collect()
    qid, labels = frame["qid"].to_numpy(), frame["label"].to_numpy().astype(np.int32)
    offsets = np.r_[0, np.flatnonzero(qid[1:] != qid[:-1]) + 1, len(labels)].astype(np.int64)
    yield from pair_batches(labels, offsets, ties, BATCH)


def _write(batches: Iterable[Pairs], rows_sha256: str, path: Path) -> dict[str, int | str]:
    """Write the pairs of one part, and return its entries for pairs.json."""
    count = 0

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal count
        for pairs in batches:
            count += len(pairs)
            yield pl.DataFrame({name: _column(pairs, name) for name in SCHEMA}, schema=SCHEMA)

    with path.open("wb") as file:  # opened here and not by Polars, as in parse.py
        register_io_source(frames, schema=SCHEMA).sink_parquet(file)
    return {"pairs": count, "of": rows_sha256}


def _column(pairs: Pairs, name: str) -> Any:
    values = getattr(pairs, name)
    return pl.repeat(1.0, len(pairs), eager=True) if values is None else values
