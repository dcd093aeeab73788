"""One text file of ranking data: where its queries are, and which line of it is wrong."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import PlainFile
from gradrank.data.ids import fault
from gradrank.data.text import scan, tokens

BLOCK_BYTES = 4 << 20  # the longest line
STEP_BYTES = 1 << 20  # read at once: what a processor's cache holds
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WHOLE_ID = "a whole number without leading zeros as query id (`text_ids=True`: ids are text)"


_rooms = threading.local()


class TextIds(GradrankError):
    """A query's id is text where whole numbers were expected."""


@dataclass(frozen=True)
class TextFile:
    """A file and its queries in file order: qids, rows, and their bytes starts:stops, each (q,) int64.

    Together the queries' bytes are the whole file, comment lines included. names: q ids where they are text and
    `qids` numbers them. highest_number: of any feature, where `find_queries` was asked for it, else 0.
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
        """(q,) ids of the queries as the file has them: int64, or objects that are text."""
        return self.qids if self.names is None else np.array(self.names, object)

    @property
    def path(self) -> Path:
        return self.text.path

    def cost(self, width: int) -> np.ndarray:
        """(q,) bytes of text and parsed rows of each query."""
        return self.stops - self.starts + self.rows * width * 4

    def read(self, queries: np.ndarray) -> np.ndarray:
        """The bytes of the queries at these ascending positions, uint8, ending with a newline; a buffer of `tokens`.

        It is the thread's own and holds them until its next call: a new one would cost more than to read into it.
        """
        size = int((self.stops[queries] - self.starts[queries]).sum())
        buffer = room("text", size + 1 + tokens.SPARE)
        breaks = np.flatnonzero(np.diff(queries) != 1) + 1
        firsts, lasts = queries[np.r_[0, breaks]], queries[np.r_[breaks - 1, len(queries) - 1]]
        filled, view = 0, memoryview(buffer)
        with self.text.file.open("rb", buffering=0) as stream:  # which costs a third where queries lie apart
            for start, stop in zip(self.starts[firsts].tolist(), self.stops[lasts].tolist(), strict=True):
                stream.seek(start)
                end = filled + stop - start
                while filled < end:
                    if not (count := stream.readinto(view[filled:end])):
                        raise GradrankError(f"{self.path}: became shorter while it was read")
                    filled += count
        buffer[size] = tokens.NEWLINE
        return buffer[: size + (buffer[size - 1] != tokens.NEWLINE)]

    def error_at(self, query: int, message: str) -> GradrankError:
        """The error for the first row of the query at this position."""
        return line_error(self.text, self.starts[query], message)

    def error(self, queries: np.ndarray, position: int, expected: str) -> GradrankError:
        """`bad_line` for a position in what `read` gave."""
        ends = np.cumsum(self.stops[queries] - self.starts[queries])
        k = np.searchsorted(ends[:-1], position, side="right")
        return bad_line(self.text, self.stops[queries[k]] - ends[k] + position, expected)


def room(name: str, size: int) -> np.ndarray:
    """The thread's own array of that name, of at least `size` bytes."""
    held = getattr(_rooms, name, None)
    if held is None or len(held) < size:
        held = np.empty(size, np.uint8)
        setattr(_rooms, name, held)
    return held


def find_queries(
    text: PlainFile, numbers: bool, known: dict[str, int] | None = None, most_rows: int | None = None
) -> TextFile:
    """Find the queries of a file, with `numbers` also the highest feature number.

    known: numbers of text ids that earlier files have, to which this one's are added; None: ids are whole numbers.
    most_rows: whole queries up to these rows will do.
    Raises GradrankError for a row without a qid, a query whose rows are not contiguous, a file without rows;
    TextIds for a query id that is no whole number.
    """
    runs, highest, whole = [], 0, False
    found = np.empty((BLOCK_BYTES // 8 + 1, 5), np.int64)  # once: the shortest row has eight bytes
    for offset, buffer in _blocks(text):
        qids, starts, rows, number = _heads(text, offset, buffer, found, numbers, known)
        highest = max(highest, number)
        runs.append((qids, starts, rows))
        if most_rows is not None and _joined(runs)[2][:-1].sum() >= most_rows:
            break
    else:
        whole = True
    if not runs or not any(len(qids) for qids, _, _ in runs):
        raise GradrankError(f"{text.path}: no rows; expected lines such as `2 qid:10 1:0.031 2:0.667`")
    qids, starts, rows = _joined(runs)
    names = None if known is None else _named(qids, known)
    _, first = np.unique(qids, return_index=True)
    if len(first) < len(qids):
        again = np.setdiff1d(np.arange(len(qids)), first)[0]
        name = qids[again] if names is None else names[again]
        raise line_error(text, starts[again], f"query {name} comes back; its rows must be together")
    starts[0], end = 0, text.file.stat().st_size
    if whole:
        _check_end(text, end)
    else:  # what follows may belong to the last query
        qids, starts, rows, end = qids[:-1], starts[:-1], rows[:-1], starts[-1]
    return TextFile(text, qids, rows, starts, np.r_[starts[1:], end], int(highest), names)


def find_queries_of_files(texts: Sequence[PlainFile], numbers: bool) -> list[TextFile]:
    """`find_queries` of each file; where an id of any is text, all are, and the queries are numbered over all files."""
    try:
        return [find_queries(text, numbers) for text in texts]
    except TextIds:
        known: dict[str, int] = {}
        return [find_queries(text, numbers, known) for text in texts]


def _heads(
    text: PlainFile, offset: int, buffer: np.ndarray, runs: np.ndarray, numbers: bool, known: dict[str, int] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The runs of rows of one query in a block: ids, starts in the file, rows; with `numbers` the highest feature's."""
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
            if reason := fault(name):
                raise line_error(text, offset + start, reason)
        qids = np.array([known.setdefault(name, len(known) + 1) for name in names], np.int64)
    else:
        padded = (buffer[firsts] == tokens.ZERO) & (ends - firsts > 1)
        if padded.any():  # a number would lose its zeros
            raise TextIds(str(bad_line(text, offset + int(firsts[padded.argmax()]) - 4, WHOLE_ID)))
    return qids, starts + offset, rows, highest


def _decoded(text: PlainFile, offset: int, buffer: np.ndarray, start: int, stop: int) -> str:
    try:
        return bytes(buffer[start:stop]).decode()
    except UnicodeDecodeError:
        raise bad_line(text, offset + start, "a query id in UTF-8") from None


def _named(qids: np.ndarray, known: dict[str, int]) -> list[str]:
    names = list(known)
    return [names[qid - 1] for qid in qids.tolist()]


def _blocks(text: PlainFile) -> Iterator[tuple[int, np.ndarray]]:
    """Blocks of whole lines: (offset in the file, bytes ending with a newline)."""
    block, offset, left = bytearray(BLOCK_BYTES + 1 + tokens.SPARE), 0, 0
    buffer = np.frombuffer(block, np.uint8)
    with text.file.open("rb") as stream:
        while count := stream.readinto(buffer[left : min(left + STEP_BYTES, BLOCK_BYTES)]):
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
    """A last row without newline was cut off if its `#docid = ..` comment is shorter than that before it."""
    with text.file.open("rb") as stream:
        stream.seek(size - 1)
        if stream.read(1) == b"\n":
            return
        stream.seek(max(0, size - BLOCK_BYTES))
        before, last = ([b"", *stream.read().rsplit(b"\n", 2)])[-2:]
    comments = [line.partition(b"#")[2].split() for line in (before, last)]
    if last and comments[0] and comments[0][0].startswith(b"docid") and len(comments[1]) < len(comments[0]):
        raise line_error(text, size, "the file is cut off: no newline, and less comment than the line before")


def mark_length(start: np.ndarray) -> int:
    """Bytes to skip at the start of a file: those of a UTF-8 byte order mark, if there is one."""
    return len(BYTE_ORDER_MARK) if bytes(start[:3]) == BYTE_ORDER_MARK else 0


def _join(qids: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Neighbours with the same qid become one query."""
    if len(qids) == 0:
        return qids, starts, rows
    first = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    return qids[first], starts[first], np.add.reduceat(rows, first)


def _joined(runs: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """The runs of one block after the other, as one."""
    return _join(*(np.concatenate(column) for column in zip(*runs, strict=True)))


def bad_line(text: PlainFile, offset: int, expected: str) -> GradrankError:
    """The error for the token at a byte offset of a file: its line, what was expected and what is there."""
    with text.file.open("rb") as stream:
        stream.seek(offset)
        token = stream.read(200).split(b"\n")[0].removeprefix(BYTE_ORDER_MARK).split(maxsplit=1)[:1]
    found = repr(token[0][:40].decode("utf-8", "backslashreplace")) if token else "the end of the line"
    return line_error(text, offset, f"expected {expected}, found {found}")


def line_error(text: PlainFile, offset: int, message: str) -> GradrankError:
    """The error for the line at a byte offset of a file."""
    line, left = 1, int(offset)
    with text.file.open("rb") as stream:
        while left:
            block = stream.read(min(left, BLOCK_BYTES))
            line, left = line + block.count(b"\n"), left - len(block)
    return GradrankError(f"{text.path}: line {line}: {message}")
