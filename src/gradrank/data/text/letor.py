"""LETOR and SVMlight text as arrays and as a lazy Polars frame. Every line is checked; memory is bounded.

A row has the form `<grade> qid:<query> <number>:<value> ... #docid = <id> inc = <x> prob = <p>`, with an optional
comment.

- The grade is a whole number from 0 to 31.
- The query id is a whole number of up to 18 digits or, as in TREC topics, any text. For text ids, the column `qid`
  numbers the queries from 1 in the order of first appearance, and the column `query` contains the ids.
- A value is a decimal number, stored as float32(float(text)). Values beyond the range of float32, such as Istella's
  1.8e308, are stored as the largest float32.
- `NULL` marks a missing value in LETOR. By default, it is replaced by the lowest value of the feature in the query, as
  in LETOR's own MIN files.
- Comments may have a different form. `docid`, `inc` and `prob` are null if they are absent. `inc` and `prob` are also
  null if they are -1.

The first row decides whether rows are dense or sparse. If its features are numbered 1, 2 and so on without a gap, every
row must have exactly these features. If there is a gap, or if the first row has no features, any row may leave features
out. Omitted features are 0, and the number of features is the highest feature number in the file. If `features` is
declared, rows are sparse, and `features` is the number of features.

CRLF, tabs, trailing blanks, a UTF-8 byte order mark, and a complete last row without a newline are accepted. Blank
lines and lines with only a comment are skipped. For any other deviation, a GradrankError is raised. Its message
contains the file, the line, what was expected and what was found.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from gradrank.base.errors import GradrankError
from gradrank.base.forks import refuse_fork
from gradrank.data.exact_values import WHOLE
from gradrank.data.file_forms import PlainFile, check_form, check_memory, lines, readable_path
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.text import scan, tokens
from gradrank.data.text.text_file import BYTE_ORDER_MARK, TextFile, find_queries, mark_length, thread_buffer
from gradrank.data.text.tokens import fixed_width_form

# The replacement of missing values: the lowest value of the feature in the query (`least`), the mean of the feature
# in the query (`mean`), 0 (`zero`), or NaN (`keep`).
Missing = Literal["least", "mean", "zero", "keep"]


@dataclass(frozen=True)
class Rows:
    """Parsed rows: n documents with d features.

    Parameters
    ----------
    features
        (d, n) float32.
    labels
        (n,) int16.
    qids
        (n,) int64.
    docids, ends
        The concatenated bytes of the document ids (uint8), and their (n+1,) int32 offsets. The id of row i is
        docids[ends[i]:ends[i+1]], which is empty if the row has no id.
    inc, prob
        (n,) float64, NaN if unknown.
    """

    features: np.ndarray
    labels: np.ndarray
    qids: np.ndarray
    docids: np.ndarray
    ends: np.ndarray
    inc: np.ndarray
    prob: np.ndarray


class FirstRow(NamedTuple):
    """The properties of a file that follow from its first row.

    `features` is the number of features, `sparse` is True if rows may leave features out, and `text_ids` is True if
    query ids are text.
    """

    features: int
    sparse: bool
    text_ids: bool


def first_row(path: Path, copy: Path | None = None) -> FirstRow:
    """Read the first row of a file, and return the properties of the file that follow from it.

    path: the user's file, for messages. copy: the file to read; None for `path`.

    Rows are sparse if the first row leaves feature numbers out or has no features. A malformed row counts as dense. The
    error for it is raised later, when the rows are read. Raises GradrankError if features are numbered from 0.
    """
    rows = (line.removeprefix(BYTE_ORDER_MARK).split(b"#")[0].split() for line in lines(copy or path))
    number, tokens = next((row for row in enumerate(rows, start=1) if len(row[1]) > 1), (0, []))
    if not tokens:
        return FirstRow(1, False, False)
    features = [token.partition(b":")[0] for token in tokens[2:]]
    values = [int(feature[:18]) if feature.isdigit() else -1 for feature in features]
    if values[:1] == [0]:
        raise GradrankError(
            f"{path}: line {number}: features are numbered from 0, found {tokens[2].decode(errors='replace')!r}; "
            "expected numbers from 1. Fix: declare `features_from: 0` (`--features-from 0`)"
        )
    qid = tokens[1].removeprefix(b"qid:")
    text_ids = bool(qid) and qid != tokens[1] and not re.match(WHOLE, qid.decode(errors="replace"))
    increasing = all(a < b for a, b in zip([0, *values], values, strict=False))
    if increasing and values != list(range(1, len(values) + 1)):
        return FirstRow(values[-1], True, text_ids)
    return FirstRow(max(len(values), 1), not values, text_ids)


def read_rows(
    source: TextFile,
    queries: np.ndarray,
    width: int,
    sparse: bool,
    missing: Missing = "least",
    edges: Sequence[float] = (),
) -> Rows:
    """Read the rows of some queries. `NULL` is replaced according to `missing`.

    queries: the ascending positions of the queries in `source`. edges: the edges of grades (see `Columns`).

    Raises GradrankError for the first malformed line.
    """
    text = source.read(queries)
    counts = source.rows[queries]
    n = counts.sum()
    features = np.zeros((width, n), np.float32) if sparse else np.empty((width, n), np.float32)
    labels, estimates = np.empty(n, np.int16), np.empty((2, n))
    docids, ends = thread_buffer("docids", len(text)), np.zeros(n + 1, np.int32)
    start = mark_length(text) if source.starts[queries[0]] == 0 else 0
    form = fixed_width_form(0 if sparse else width)
    thresholds, capacity = np.array(edges, np.float64), 3 * n + width
    while True:
        late = np.empty((capacity, 4), np.int64)
        code, position, number, nulls, late_count = scan.rows(
            text, start, sparse, *form, thresholds, HIGHEST_GRADE, features, labels, docids, ends, estimates, late
        )
        if code != scan.LATE_IS_FULL:
            break
        capacity *= 8
    if code != scan.OK:
        expected = _expected(code, number, width, sparse, bool(edges))
        if code == scan.BAD_NUMBER and not _is_ascending(bytes(text), position):
            expected = f"feature {number + 1}{' or a later one' if sparse else ''} ({_order_fault(text, position)};"
            expected += " sort the features and delete repeated ones, or declare `repeated: last`)"
        raise source.error(queries, position, expected)
    for column, row, first, end in late[:late_count]:
        value = float(bytes(text[first:end]))
        if column < width:
            features[column, row] = np.clip(value, -tokens.LARGEST, tokens.LARGEST)
        elif column < width + 2:
            estimates[column - width, row] = value
        else:
            labels[row] = np.searchsorted(thresholds, value, side="right")
    if nulls:
        fill(features, counts, missing)
    qids = np.repeat(source.qids[queries], counts)
    return Rows(features, labels, qids, docids[: ends[-1]].copy(), ends, *estimates)


def fill(features: np.ndarray, counts: np.ndarray, missing: Missing) -> None:
    """Replace NaN in (d, n) features, in place. counts: the (q,) numbers of documents per query."""
    if missing == "zero":
        np.nan_to_num(features, copy=False, nan=0.0)
    elif missing != "keep":
        scan.fill_missing(features, np.r_[0, np.cumsum(counts)], missing == "mean")


def _is_ascending(text: bytes, position: int) -> bool:
    """Return True if the feature numbers of the row at a position are strictly ascending."""
    start, end = text.rfind(b"\n", 0, position) + 1, text.find(b"\n", position)
    words = text[start:end].partition(b"#")[0].split()[2:]
    numbers = [int(word[:9]) for word in (word.partition(b":")[0] for word in words) if word.isdigit()]
    return all(a < b for a, b in pairwise(numbers))


def _order_fault(text: np.ndarray, position: int) -> str:
    """Return the first feature of the row at a position that is repeated or out of order, as text for a message."""
    content = bytes(text)
    start, end = content.rfind(b"\n", 0, position) + 1, content.find(b"\n", position)
    seen: dict[int, str] = {}
    for word in content[start:end].partition(b"#")[0].decode(errors="replace").split()[2:]:
        number, _, value = word.partition(":")
        if not number.isdecimal():
            break
        if int(number) in seen:
            return f"feature {number} has the values {seen[int(number)]} and {value}"
        if seen and int(number) < (last := max(seen)):
            return f"feature {number} with the value {value} comes after feature {last} with the value {seen[last]}"
        seen[int(number)] = value
    return "features out of order"


def _expected(code: int, number: int, width: int, sparse: bool, has_edges: bool) -> str:
    """Return, as text for an error message, what was expected at the position where `scan.rows` stopped.

    code: the error code of `scan.rows`. number: the last feature number before that position. has_edges: True if the
    edges of grades are declared.
    """
    if code == scan.BAD_GRADE:
        return "a finite number as label" if has_edges else f"a grade, a whole number from 0 to {HIGHEST_GRADE}"
    if code == scan.BAD_VALUE:
        return f"a finite decimal number or NULL as feature {number}"
    if number == width:
        return f"the end of the row after feature {width}"
    if sparse:
        return f"<feature>:<value>, the feature from {number + 1} to {width}"
    return f"feature {number + 1} (the first row has 1 to {width}; declare `features` if rows are sparse)"


CHUNK_BYTES = 8 << 20  # size of the text and the parsed rows of a chunk; about four chunks are in memory at a time
THREADS = 2
UNKNOWN = -1.0  # an unknown inc or prob in LETOR


def scan_letor(
    source: str | Path | Sequence[str | Path],
    *,
    features: int | None = None,
    text_ids: bool | None = None,
    missing: Missing = "least",
) -> pl.LazyFrame:
    """Read LETOR or SVMlight text lazily, plain or compressed (.gz, .xz, .zst).

    The columns are `qid` (Int64), `query` (String, only if query ids are text), `docid` (String), `inc` and `prob`
    (Float64), `label` (Int16), and `f1` to `fd` (Float32) for d features. Rows are in file order. Every row that is
    read is checked completely, whichever columns are selected. With a row limit (`head`), reading stops early.

    Raises GradrankError, with file and line, if a file is missing or malformed, and if a row does not fit into memory.
    Errors in rows after the first one are raised when the frame is collected.

    Parameters
    ----------
    source
        A file, or several files to concatenate. Equal query ids in two files denote the same query.
    features
        The number of features of sparse rows. If None, sparse files are read one more time to find this number.
    text_ids
        True if query ids are text. If None, the first row decides.
    missing
        The replacement of `NULL`: the `least` value or the `mean` of the feature in the query, `zero`, or NaN (`keep`).

    Examples
    --------
    >>> import gradrank, pathlib, polars as pl, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = path.write_text("2 qid:1 1:0.5 2:0.1\\n0 qid:1 1:0.2 2:0.3\\n1 qid:2 1:0.7 2:0.9\\n")
    >>> gradrank.scan_letor(path).group_by("qid").agg(pl.len(), pl.col("label").max()).sort("qid").collect().rows()
    [(1, 2, 2), (2, 1, 1)]
    """
    refuse_fork("scan_letor")
    paths = [readable_path(path) for path in ([source] if isinstance(source, str | Path) else source)]
    if not paths:
        raise GradrankError("scan_letor: `source` is empty. Fix: give at least one file")
    if missing_files := [str(path) for path in paths if not path.is_file()]:
        raise GradrankError(f"{', '.join(missing_files)}: no such file. Fix: correct the path in `source`")
    for path in paths:
        check_form(path)
    plain = cache(PlainFile)  # decompresses each file only once; the copy exists as long as the frame
    first = first_row(paths[0])
    width, sparse = (features, True) if features else (first.features, first.sparse)
    named = first.text_ids if text_ids is None else text_ids
    if sparse and not features:
        files = (find_queries(plain(path), numbers=True, known={} if named else None) for path in paths)
        width = max(file.highest_number for file in files)
    check_memory(paths[0], 1, width)

    def frames(rows: int | None) -> Iterator[pl.DataFrame]:
        known = {} if named else None
        for path in paths:
            file = find_queries(plain(path), numbers=False, known=known, most_rows=rows)
            read = partial(text_frame, file, width=width, sparse=sparse, missing=missing)
            for frame in map_ahead(read, chunks(file, np.arange(len(file.qids)), width)):
                yield frame
                if rows is not None and (rows := rows - len(frame)) <= 0:
                    return

    return lazy_frame(schema(width, named), frames)


def schema(width: int, named: bool, weighted: bool = False) -> pl.Schema:
    """Return the columns of rows with `width` features.

    named: True if query ids are text. weighted: True if rows have weights.
    """
    ids = {"qid": pl.Int64} | ({"query": pl.String} if named else {}) | {"docid": pl.String}
    numbers = {"inc": pl.Float64, "prob": pl.Float64, "label": pl.Int16}
    numbers |= {"weight": pl.Float64} if weighted else {}
    return pl.Schema(ids | numbers | {f"f{number}": pl.Float32 for number in range(1, width + 1)})


def lazy_frame(columns: pl.Schema, frames: Callable[[int | None], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """Return a lazy frame of the rows that `frames` yields.

    frames: a function that yields data frames. The argument is the number of rows that are needed, or None if all rows
    are needed.
    """

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


Item = TypeVar("Item")
Result = TypeVar("Result")


class HasCost(Protocol):
    """A source of queries with a method for the memory that each query takes."""

    def cost(self, width: int) -> np.ndarray:
        """Return the (q,) sizes of the queries in bytes if rows have `width` features."""
        ...


def chunks(source: HasCost, queries: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Split ascending query positions into chunks. The text and the rows of a chunk take about CHUNK_BYTES."""
    chunk = (np.cumsum(source.cost(width)[queries]) - 1) // CHUNK_BYTES
    yield from np.split(queries, np.flatnonzero(np.diff(chunk)) + 1)


def map_ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield function(item) for each item, in order. Threads compute up to THREADS results ahead."""
    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(THREADS)
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > THREADS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # if the consumer stops early, this may run in a thread of the pool, which cannot wait for itself
        pool.shutdown(wait=False, cancel_futures=True)


def text_frame(
    source: TextFile, queries: np.ndarray, width: int, sparse: bool, missing: Missing, edges: Sequence[float] = ()
) -> pl.DataFrame:
    """Return the rows of some queries, in the columns of `schema`.

    queries: their ascending positions in `source`. edges: the edges of grades (see `Columns`).
    """
    rows = read_rows(source, queries, width, sparse, missing, edges)
    columns: dict[str, np.ndarray | pl.Series] = {"qid": rows.qids}
    if source.names is not None:
        ids = pl.Series([source.names[query] for query in queries.tolist()])
        columns["query"] = ids.gather(np.repeat(np.arange(len(ids)), source.rows[queries]))
    columns |= {"docid": _docids(source, rows), "inc": rows.inc, "prob": rows.prob, "label": rows.labels}
    columns |= {f"f{number}": values for number, values in enumerate(rows.features, start=1)}
    estimates, docid = pl.col("inc", "prob"), pl.col("docid")
    return pl.DataFrame(columns).with_columns(
        pl.when(estimates.is_not_nan() & (estimates != UNKNOWN)).then(estimates), pl.when(docid != "").then(docid)
    )


def _docids(source: TextFile, rows: Rows) -> pl.Series:
    """Return the document ids. An absent id is "". Raises GradrankError if an id is not UTF-8 text."""
    lines = np.insert(rows.docids, rows.ends[1:-1], tokens.NEWLINE)
    try:
        text = lines.tobytes().decode()
    except UnicodeDecodeError:
        raise GradrankError(f"{source.path}: a docid is not UTF-8 text. Fix: store the file as UTF-8") from None
    return pl.Series([text]).str.split("\n").explode()
