"""One text file of ranking data: where its queries are, and which line of it is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradrank.data import scan, tokens
from gradrank.errors import GradrankError

BLOCK_BYTES = 4 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """A file and its queries in file order: qids, rows, and their bytes starts:stops, each (q,) int64.

    Together the queries' bytes are the whole file, comment lines included. highest_number: of any feature,
    where `survey` was asked for it, else 0.
    """

    path: Path
    qids: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    highest_number: int

    def read(self, queries: np.ndarray) -> np.ndarray:
        """The bytes of the queries at these ascending positions, uint8."""
        buffer = np.empty((self.stops[queries] - self.starts[queries]).sum(), np.uint8)
        breaks = np.flatnonzero(np.diff(queries) != 1) + 1
        firsts, lasts = queries[np.r_[0, breaks]], queries[np.r_[breaks - 1, len(queries) - 1]]
        filled, view = 0, memoryview(buffer)
        with self.path.open("rb") as stream:
            for start, stop in zip(self.starts[firsts].tolist(), self.stops[lasts].tolist(), strict=True):
                stream.seek(start)
                filled += stream.readinto(view[filled : filled + stop - start])
        return buffer

    def error(self, queries: np.ndarray, position: int, expected: str) -> GradrankError:
        """`bad_line` for a position in what `read` gave."""
        ends = np.cumsum(self.stops[queries] - self.starts[queries])
        k = np.searchsorted(ends[:-1], position, side="right")
        return bad_line(self.path, self.stops[queries[k]] - ends[k] + position, expected)


def survey(path: Path, digest: Any | None, numbers: bool) -> Source:
    """Find the queries of a file, with `numbers` also the highest feature number; feed its bytes to a `digest`.

    Raises GradrankError for a row without a qid, a query whose rows are not contiguous, a file without rows.
    """
    runs, highest = [], 0
    for offset, buffer, line_starts in _lines(path, digest):
        if offset == 0:
            line_starts[0] = mark_length(buffer)
        qids = np.empty(len(line_starts), np.int64)
        last_numbers = np.zeros(len(line_starts) if numbers else 0, np.int64)
        code, position = scan.heads(buffer, line_starts, qids, last_numbers)
        if code != scan.OK:
            raise bad_line(path, offset + position, "qid:<whole number> after the grade")
        highest = max(highest, last_numbers.max(initial=0))
        rows = qids >= 0
        runs.append(_join(qids[rows], line_starts[rows] + offset, np.ones(rows.sum(), np.int64)))
    if not runs or not any(len(qids) for qids, _, _ in runs):
        raise GradrankError(f"{path}: no rows; expected lines such as `2 qid:10 1:0.031 2:0.667`")
    qids, starts, rows = _join(*(np.concatenate(column) for column in zip(*runs, strict=True)))
    _, first = np.unique(qids, return_index=True)
    if len(first) < len(qids):
        again = np.setdiff1d(np.arange(len(qids)), first)[0]
        raise line_error(path, starts[again], f"query {qids[again]} comes back; its rows must be together")
    size = path.stat().st_size
    _check_end(path, size)
    starts[0] = 0
    return Source(path, qids, rows, starts, np.r_[starts[1:], size], int(highest))


def _lines(path: Path, digest: Any | None) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Blocks of whole lines: (offset in the file, bytes ending with a newline, where lines start in them)."""
    buffer, offset, left = np.empty(BLOCK_BYTES + 1, np.uint8), 0, 0
    with path.open("rb") as stream:
        while count := stream.readinto(buffer[left:BLOCK_BYTES]):
            if digest:
                digest.update(buffer[left : left + count])
            left += count
            ends = np.flatnonzero(buffer[:left] == tokens.NEWLINE)
            if len(ends):
                used = ends[-1] + 1
                yield offset, buffer[:used], np.r_[0, ends[:-1] + 1]
                buffer[: left - used] = buffer[used:left].copy()
                offset, left = offset + used, left - used
            elif left == BLOCK_BYTES:
                raise bad_line(path, offset, f"text with lines shorter than {BLOCK_BYTES >> 20} MiB")
    if left:
        buffer[left] = tokens.NEWLINE
        yield offset, buffer[: left + 1], np.zeros(1, np.int64)


def _check_end(path: Path, size: int) -> None:
    """A last row without newline was cut off if its `#docid = ..` comment is shorter than that before it."""
    with path.open("rb") as stream:
        stream.seek(max(0, size - BLOCK_BYTES))
        before, last = ([b"", *stream.read().split(b"\n")])[-2:]
    comments = [line.partition(b"#")[2].split() for line in (before, last)]
    if last and comments[0] and comments[0][0].startswith(b"docid") and len(comments[1]) < len(comments[0]):
        raise line_error(path, size, "the file is cut off: no newline, and less comment than the line before")


def mark_length(start: np.ndarray) -> int:
    """Bytes to skip at the start of a file: those of a UTF-8 byte order mark, if there is one."""
    return len(BYTE_ORDER_MARK) if bytes(start[:3]) == BYTE_ORDER_MARK else 0


def _join(qids: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Neighbours with the same qid become one query."""
    if len(qids) == 0:
        return qids, starts, rows
    first = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    return qids[first], starts[first], np.add.reduceat(rows, first)


def bad_line(path: Path, offset: int, expected: str) -> GradrankError:
    """The error for the token at a byte offset of a file: its line, what was expected and what is there."""
    with path.open("rb") as stream:
        stream.seek(offset)
        token = stream.read(200).split(b"\n")[0].removeprefix(BYTE_ORDER_MARK).split(maxsplit=1)[:1]
    found = repr(token[0][:40].decode("utf-8", "backslashreplace")) if token else "the end of the line"
    return line_error(path, offset, f"expected {expected}, found {found}")


def line_error(path: Path, offset: int, message: str) -> GradrankError:
    """The error for the line at a byte offset of a file."""
    line, left = 1, int(offset)
    with path.open("rb") as stream:
        while left:
            block = stream.read(min(left, BLOCK_BYTES))
            line, left = line + block.count(b"\n"), left - len(block)
    return GradrankError(f"{path}: line {line}: {message}")
