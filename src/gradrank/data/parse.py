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

from gradrank.data.compressed import Plain, blocks
from gradrank.data.layout import Layout, check_copies, find_layout, is_table
from gradrank.data.letor import CHUNK_BYTES, ahead, chunks, lazy, schema, text_frame
from gradrank.data.memory import check_memory
from gradrank.data.rows import Missing, first_row, read_rows
from gradrank.data.stored import COLLECTION, write_parts
from gradrank.data.table import Columns, Table, read_tables
from gradrank.data.text_file import Source, survey_any
from gradrank.errors import GradrankError
from gradrank.files import write_json


class Part(NamedTuple):
    """Queries of one file, by their ascending positions."""

    source: Source | Table
    queries: np.ndarray


class Form(NamedTuple):
    """How rows are read: the number of features, whether text may leave some out, what missing values become."""

    width: int
    sparse: bool
    missing: Missing


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
    megabytes (of the Parquet files), parts (rows, queries, rows a grade and the SHA-256 of its Parquet file, of each)
    and folds; where they are: note (what was decided that nobody declared), division (of files that were divided the
    part of each query, a digit each in the files' order), missing (what missing values became, if it was declared),
    missing_values (rows without a value, by feature), names (a table's own of its features).
    seed divides the queries of a single file into five parts; folders come divided.
    features: the width of sparse rows. columns: of tables.
    missing: what missing values become; None: `least` in text, where they are NULL, `keep` in tables.
    Raises GradrankError at a bad line; `out` then stays as it was.
    """
    layout, out = find_layout(path), Path(out)
    files = list(dict.fromkeys(layout.sources.values()))
    with ThreadPoolExecutor(1) as pool:
        digest = pool.submit(_sha256, files)  # beside all that follows
        if any(map(is_table, layout.files)):
            sources, form, names = _tables(layout, columns, missing)
        else:
            check_copies(layout)
            sources, form, names = *_texts(files, out.parent, features, missing), None
        check_memory(Path(path), sum(int(source.rows.sum()) for source in sources.values()), form.width)
        parts = _parts(layout, sources, seed)
        writers = {number: partial(_write, part, form) for number, part in parts.items()}
        written = write_parts(out, COLLECTION, writers)
        without = sum((part.pop("missing_values") for part in written.values()), Counter())
        meta = {
            "dataset": dataset,
            "rows": sum(part["rows"] for part in written.values()),
            "queries": sum(part["queries"] for part in written.values()),
            "features": form.width,
            "source_sha256": digest.result(),
            "megabytes": -(-sum(part.stat().st_size for part in out.glob("part*.parquet")) // 1_000_000),
            "parts": written,
            "folds": layout.folds,
        }
    more = {"note": layout.note, "missing": missing, "missing_values": without, "names": names}
    more["division"] = _division(sources.values(), parts) if layout.slots else None
    write_json(out / COLLECTION, meta := meta | {key: value for key, value in more.items() if value})
    return meta


def _texts(
    files: list[Path], folder: Path, features: int | None, missing: Missing | None
) -> tuple[dict[Path, Source], Form]:
    """Each file's queries, packed files unpacked in `folder`, and the form of the rows by the first one of all."""
    width, sparse = (features, True) if features else first_row(files[0])[:2]
    folder.mkdir(parents=True, exist_ok=True)
    found = survey_any([Plain(file, folder) for file in files], numbers=sparse and not features)
    if sparse and not features:
        width = max(source.highest_number for source in found)
    form = Form(width, sparse, missing or "least")
    check_memory(files[0], int(max(source.rows.max() for source in found)), width)
    for source in found:  # what is wrong with every row is said of the first
        read_rows(source, np.array([0]), *form)
    return dict(zip(files, found, strict=True)), form


def _tables(
    layout: Layout, columns: Columns, missing: Missing | None
) -> tuple[dict[Path, Table], Form, list[str]]:
    """Each part's table, the form of the rows, and the features' own names."""
    if mixed := [str(file) for file in layout.files if not is_table(file)]:
        raise GradrankError(
            f"{', '.join(mixed)}: text beside tables; give all parts of a collection in one form"
        )
    found = dict(zip(layout.files, read_tables(layout.files, columns), strict=True))
    check_copies(
        layout, "row", lambda copy, originals: found[copy].differing_row([found[each] for each in originals])
    )
    names = found[layout.files[0]].features
    parts = {file: found[file] for file in layout.sources.values()}
    return parts, Form(len(names), False, missing or "keep"), names


def _sha256(files: list[Path]) -> str:
    """The hash of the files' text one after the other."""
    digest = hashlib.sha256()
    for file in files:
        for block in blocks(file):
            digest.update(block)
    return digest.hexdigest()


def _parts(layout: Layout, sources: Mapping[Path, Source | Table], seed: int) -> dict[int, Part]:
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


def _division(sources: Iterable[Source | Table], parts: Mapping[int, Part]) -> str:
    """The part of each query, a digit each, in the files' order."""
    digits = []
    for source in sources:
        own = np.empty(len(source.qids), np.int64)
        for number, part in parts.items():
            if part.source is source:
                own[part.queries] = number
        digits += map(str, own.tolist())
    return "".join(digits)


def _write(part: Part, form: Form, path: Path) -> dict[str, Any]:
    """Write the file of one part; its rows, queries and rows a grade, and by feature the rows without a value."""
    source, grades, without = part.source, Counter(), Counter()
    columns = schema(form.width, source.names is not None)

    def read(queries: np.ndarray) -> pl.DataFrame:
        if isinstance(source, Table):
            return source.taken(queries, form.missing)
        return text_frame(source, queries, *form)

    def frames(_: int | None) -> Iterator[pl.DataFrame]:
        for frame in ahead(read, chunks(source, part.queries, form.width)):
            grades.update(dict(frame["label"].value_counts().iter_rows()))
            if form.missing == "keep":
                absent = frame.select(pl.col(pl.Float32).is_nan().sum()).row(0, named=True)
                without.update({name: count for name, count in absent.items() if count})
            yield frame

    # Opened here: after an error Polars' threads may still create a file by its name, when it has been removed.
    with path.open("wb") as file:
        lazy(columns, frames).sink_parquet(
            file,
            compression="lz4",  # a quarter more bytes than zstd, a quarter less time to write, half to read
            statistics=False,
            row_group_size=max(1, CHUNK_BYTES // (4 * form.width)),  # as much as is in memory at once
        )
    return {
        "rows": grades.total(),
        "queries": len(part.queries),
        "labels": {str(grade): count for grade, count in sorted(grades.items())},
        "missing_values": without,
    }
