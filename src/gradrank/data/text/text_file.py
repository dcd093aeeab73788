"""A text file of ranking data: the positions of its queries, and errors with line numbers."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import query_id_error
from gradrank.data.file_forms import PlainFile
from gradrank.data.text import scan, tokens

BLOCK_BYTES = 4 << 20  # maximum length of a line
STEP_BYTES = 1 << 20  # number of bytes read at once, which fit into the cache of a CPU
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WHOLE_ID = "a whole number without leading zeros as query id (`text_ids=True`: ids are text)"

_buffers = threading.local()


class TextIds(GradrankError):
    """Error for a query id that is text although whole numbers were expected."""


@dataclass(frozen=True)
class TextFile:
    """A text file and its queries. Queries are in file order.

    Parameters
    ----------
    text
        The file.
    qids, rows, starts, stops
        (q,) int64 query numbers, numbers of rows per query, and byte positions. The text of query i is the bytes
        starts[i]:stops[i]. If all queries were found, the ranges together cover the whole file, including comment
        lines.
    highest_number
        The highest feature number, or 0 if `find_queries` was called with `numbers=False`.
    names
        The q query ids if they are text. None if the ids are whole numbers, which `qids` then contains.
    """

    text: PlainFile
    qids: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    highest_number: int
    names: list[str] | None = None

    @property
    def ids(self) -> np.ndarray:
        """The (q,) query ids in the file, as int64 or as text (dtype object)."""
        return self.qids if self.names is None else np.array(self.names, object)

    @property
    def path(self) -> Path:
        """The path of the user's file, for messages."""
        return self.text.path

    def cost(self, width: int) -> np.ndarray:
        """Return the (q,) sizes of the text and the parsed rows of each query in bytes.

        width: the number of features.
        """
        return self.stops - self.starts + self.rows * width * 4

    def read(self, queries: np.ndarray) -> np.ndarray:
        """Read the text of some queries into a uint8 buffer that ends with a newline (see data/text/tokens.py).

        queries: the ascending positions of the queries. Each thread has one buffer, and the next call in the same
        thread overwrites the buffer, because allocating a new buffer would take longer than reading.
        """
        size = int((self.stops[queries] - self.starts[queries]).sum())
        buffer = thread_buffer("text", size + 1 + tokens.SPARE)
        breaks = np.flatnonzero(np.diff(queries) != 1) + 1
        firsts, lasts = queries[np.r_[0, breaks]], queries[np.r_[breaks - 1, len(queries) - 1]]
        filled, view = 0, buffer.data
        with self.text.file.open("rb", buffering=0) as stream:  # with buffering, scattered queries take a third longer
            for start, stop in zip(self.starts[firsts].tolist(), self.stops[lasts].tolist(), strict=True):
                stream.seek(start)
                end = filled + stop - start
                while filled < end:
                    if not (count := stream.readinto(view[filled:end])):
                        raise GradrankError(f"{self.path}: became shorter while it was read. Fix: run again")
                    filled += count
        buffer[size] = tokens.NEWLINE
        return buffer[: size + (buffer[size - 1] != tokens.NEWLINE)]

    def digests(self, queries: np.ndarray) -> list[bytes]:
        """Return a digest of the text of each query. Line ends after the last row of a query do not count.

        queries: ascending positions.
        """
        content = bytes(self.read(queries))
        ends = np.cumsum(self.stops[queries] - self.starts[queries]).tolist()
        texts = (content[start:end] for start, end in pairwise([0, *ends]))
        return [blake2b(text.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n"), digest_size=16).digest() for text in texts]

    def error_at(self, query: int, message: str) -> GradrankError:
        """Return the error for the first row of the query at this position."""
        return line_error(self.text, self.starts[query], message)

    def error(self, queries: np.ndarray, position: int, expected: str) -> GradrankError:
        """Return the error for the token at a byte position in the result of `read(queries)`."""
        ends = np.cumsum(self.stops[queries] - self.starts[queries])
        k = np.searchsorted(ends[:-1], position, side="right")
        return bad_line(self.text, self.stops[queries[k]] - ends[k] + position, expected)


def thread_buffer(name: str, size: int) -> np.ndarray:
    """Return a uint8 array with at least `size` bytes. Each thread has one array per name, which is reused."""
    buffer = getattr(_buffers, name, None)
    if buffer is None or len(buffer) < size:
        buffer = np.empty(size, np.uint8)
        setattr(_buffers, name, buffer)
    return buffer


def find_queries(
    text: PlainFile, numbers: bool, known: dict[str, int] | None = None, most_rows: int | None = None
) -> TextFile:
    """Find the queries of a file.

    Parameters
    ----------
    numbers
        True to find the highest feature number as well.
    known
        A dict from the text ids in earlier files to their numbers. New ids in this file are added to it. None if query
        ids are whole numbers.
    most_rows
        If not None, reading stops soon after whole queries with this number of rows have been found.

    Raises GradrankError for a row without a qid, a query whose rows are not contiguous, and a file without rows.
    Without `known`, raises TextIds for a query id that is not a whole number.
    """
    runs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    highest, is_complete = 0, False
    heads = np.empty((BLOCK_BYTES // 8 + 1, 5), np.int64)  # allocated once; the shortest row has eight bytes
    for offset, buffer in _blocks(text):
        qids, starts, rows, number = _heads(text, offset, buffer, heads, numbers, known)
        highest = max(highest, number)
        runs.append((qids, starts, rows))
        if most_rows is not None and _merged(runs)[2][:-1].sum() >= most_rows:
            break
    else:
        is_complete = True
    if not runs or not any(len(qids) for qids, _, _ in runs):
        raise GradrankError(f"{text.path}: no rows. Fix: write lines such as `2 qid:10 1:0.031 2:0.667`")
    qids, starts, rows = _merged(runs)
    names = None if known is None else _named(qids, known)
    _, first = np.unique(qids, return_index=True)
    if len(first) < len(qids):
        again = np.setdiff1d(np.arange(len(qids)), first)[0]
        name = qids[again] if names is None else names[again]
        message = f"query {name} comes back after other queries. Fix: put the rows of each query together"
        raise line_error(text, int(starts[again]), message)
    starts[0], end = 0, text.file.stat().st_size
    if is_complete:
        _check_end(text, end)
    else:  # the next rows may belong to the last query
        qids, starts, rows, end = qids[:-1], starts[:-1], rows[:-1], starts[-1]
    return TextFile(text, qids, rows, starts, np.r_[starts[1:], end], int(highest), names)


def find_queries_of_files(texts: Sequence[PlainFile], numbers: bool) -> list[TextFile]:
    """Find the queries of each file.

    If an id in any file is text, the ids of all files are read as text, and equal ids have the same number in all
    files.
    """
    try:
        return [find_queries(text, numbers) for text in texts]
    except TextIds:
        known: dict[str, int] = {}
        return [find_queries(text, numbers, known) for text in texts]


def _heads(
    text: PlainFile, offset: int, buffer: np.ndarray, runs: np.ndarray, numbers: bool, known: dict[str, int] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Find the runs in a block. A run is a sequence of rows with the same query id.

    Returns three arrays with one element per run (the query ids, the starts within the file, and the numbers of rows),
    and the highest feature number (0 unless `numbers`). The other arguments are those of `find_queries`. `runs` is
    scratch space.
    """
    start = 0 if offset else mark_length(buffer)
    code, position, count, highest = scan.heads(buffer, start, known is not None, numbers, runs)
    if code != scan.OK:
        is_text = bytes(buffer[position : position + 5]).startswith(b"qid:") and not tokens.ends_token(
            buffer[position + 4]
        )
        if is_text:
            raise TextIds(str(bad_line(text, offset + position, WHOLE_ID)))
        raise bad_line(text, offset + position, "qid:<query> after the grade")
    qids, starts, rows, firsts, ends = runs[:count].T.copy()
    if known is not None:
        names = [_decoded(text, offset, buffer, *span) for span in zip(firsts.tolist(), ends.tolist(), strict=True)]
        for name, start in zip(names, starts.tolist(), strict=True):
            if reason := query_id_error(name):
                raise line_error(text, offset + start, reason)
        qids = np.array([known.setdefault(name, len(known) + 1) for name in names], np.int64)
    else:
        padded = (buffer[firsts] == tokens.ZERO) & (ends - firsts > 1)
        if padded.any():  # stored as a number, the id would lose its leading zeros
            raise TextIds(str(bad_line(text, offset + int(firsts[padded.argmax()]) - 4, WHOLE_ID)))
    return qids, starts + offset, rows, highest


def _decoded(text: PlainFile, offset: int, buffer: np.ndarray, start: int, stop: int) -> str:
    """Return the bytes of a query id as text. Raises GradrankError if they are not UTF-8."""
    try:
        return bytes(buffer[start:stop]).decode()
    except UnicodeDecodeError:
        raise bad_line(text, offset + start, "a query id in UTF-8") from None


def _named(qids: np.ndarray, known: dict[str, int]) -> list[str]:
    """Return the text ids that belong to query numbers. known: a dict from id to number."""
    names = list(known)
    return [names[qid - 1] for qid in qids.tolist()]


def _blocks(text: PlainFile) -> Iterator[tuple[int, np.ndarray]]:
    """Yield blocks of whole lines, as tuples of the offset in the file and the bytes, which end with a newline."""
    block, offset, left = bytearray(BLOCK_BYTES + 1 + tokens.SPARE), 0, 0
    buffer = np.frombuffer(block, np.uint8)
    with text.file.open("rb") as stream:
        while count := stream.readinto(buffer[left : min(left + STEP_BYTES, BLOCK_BYTES)].data):
            left += count
            if used := block.rfind(b"\n", 0, left) + 1:
                yield offset, buffer[:used]
                buffer[: left - used] = buffer[used:left].copy()
                offset, left = offset + used, left - used
            elif left == BLOCK_BYTES:
                raise bad_line(text, offset, f"text with lines shorter than {BLOCK_BYTES >> 20} MiB")
    if left:
        buffer[left] = tokens.NEWLINE
        yield offset, buffer[: left + 1]


def _check_end(text: PlainFile, size: int) -> None:
    """Raise GradrankError if the last row was cut off.

    A last row without a newline counts as cut off if the row before has a comment `#docid = ..` with more words.
    """
    with text.file.open("rb") as stream:
        stream.seek(size - 1)
        if stream.read(1) == b"\n":
            return
        stream.seek(max(0, size - BLOCK_BYTES))
        before, last = ([b"", *stream.read().rsplit(b"\n", 2)])[-2:]
    comments = [line.partition(b"#")[2].split() for line in (before, last)]
    if last and comments[0] and comments[0][0].startswith(b"docid") and len(comments[1]) < len(comments[0]):
        raise line_error(
            text,
            size,
            "the file may be cut off: this line has no newline and a comment with fewer words than "
            "the line before. Fix: get the complete file, or end the line with a newline if it is complete",
        )


def mark_length(start: np.ndarray) -> int:
    """Return the length of the UTF-8 byte order mark in the first bytes of a file, or 0 if there is no such mark."""
    return len(BYTE_ORDER_MARK) if bytes(start[:3]) == BYTE_ORDER_MARK else 0


def _merged(runs: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Concatenate the runs of all blocks, and merge neighbouring runs with the same query number.

    Runs are given and returned as the arrays qids, starts and rows.
    """
    qids, starts, rows = (np.concatenate(columns) for columns in zip(*runs, strict=True))
    if len(qids) == 0:
        return qids, starts, rows
    first = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    return qids[first], starts[first], np.add.reduceat(rows, first)


def bad_line(text: PlainFile, offset: int, expected: str) -> GradrankError:
    """Return the error for the token at a byte offset in a file: the line, what was expected and what was found."""
    with text.file.open("rb") as stream:
        stream.seek(offset)
        token = stream.read(200).split(b"\n")[0].removeprefix(BYTE_ORDER_MARK).split(maxsplit=1)[:1]
    word = repr(token[0][:40].decode("utf-8", "backslashreplace")) if token else "the end of the line"
    return line_error(text, offset, f"expected {expected}, found {word}")


def line_error(text: PlainFile, offset: int, message: str) -> GradrankError:
    """Return the error for the line at a byte offset in a file."""
    line, left = 1, int(offset)
    with text.file.open("rb") as stream:
        while left:
            block = stream.read(min(left, BLOCK_BYTES))
            line, left = line + block.count(b"\n"), left - len(block)
    return GradrankError(f"{text.path}: line {line}: {message}")
