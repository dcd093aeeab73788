"""Input files before they are read: named pipes, compressed files, forms that are not read, and their size in memory.

Compressed files are .gz, .xz and .zst. Other forms are recognised from the first bytes. A named pipe, or the shell's
`<(command)`, can be read only once. Importing this module is fast.
"""

import gzip
import json
import lzma
import os
import re
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gradrank.base.errors import GradrankError, require


class PipeCopy(type(Path())):
    """The copy of what a pipe delivered. Messages show the path of the pipe, and the copy is opened.

    The copy is removed together with this object.
    """

    pipe: Path | None = None
    folder: tempfile.TemporaryDirectory | None = None

    def __str__(self) -> str:
        return super().__str__() if self.pipe is None else str(self.pipe)

    def __fspath__(self) -> str:
        return super().__str__()


def readable_path(path: Path | str) -> Path:
    """Return a path that can be opened several times: a copy if `path` is a pipe, otherwise `path` as a Path."""
    if isinstance(path, PipeCopy):
        return path
    path = Path(path)
    try:
        is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return path
    if not is_pipe:
        return path
    folder = tempfile.TemporaryDirectory(prefix="gradrank-")
    copy = PipeCopy(folder.name, path.name)
    with path.open("rb") as pipe, copy.open("wb") as file:
        shutil.copyfileobj(pipe, file)
    copy.pipe, copy.folder = path, folder
    return copy


BLOCK_BYTES = 1 << 20


def _zstandard(path: Path) -> IO[bytes]:
    require("pyarrow", extra="arrow", needed_by=path)
    import pyarrow

    return pyarrow.input_stream(str(path), compression="zstd")


_OPENED_BY = {".gz": gzip.open, ".xz": lzma.open, ".zst": _zstandard}
PACKED = tuple(_OPENED_BY)


def is_packed(path: Path) -> bool:
    """Return True if the suffix of a file is that of a compressed file."""
    return path.suffix.lower() in _OPENED_BY


def is_utf8(path: Path) -> bool:
    """Return True if the name of a file can be written as UTF-8, which Polars and pyarrow require."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_name(path: Path) -> Path:
    """Return the path without the suffix for compression: train.txt.gz -> train.txt."""
    return path.with_suffix("") if is_packed(path) else path


def open_decompressed(path: Path) -> IO[bytes]:
    """Open a file for reading its decompressed bytes."""
    return _OPENED_BY.get(path.suffix.lower(), Path.open)(path) if is_packed(path) else path.open("rb")


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the decompressed content of a file in blocks of at most `size` bytes.

    Raises GradrankError if a compressed file is damaged.
    """
    try:
        with open_decompressed(path) as stream:
            while block := stream.read(size):
                yield block
    except OSError as error:
        if not is_packed(path) or error.errno is not None:
            raise
        raise _damaged(path, error) from None
    except (EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
        raise _damaged(path, error) from None


def content_of(path: Path) -> bytes:
    """Return the decompressed content of a file. Raises GradrankError if a compressed file is damaged."""
    return b"".join(blocks(path)) if is_packed(path) else path.read_bytes()


def lines(path: Path) -> Iterator[bytes]:
    """Yield the decompressed lines of a file, without their newlines."""
    left = b""
    for block in blocks(path):
        *whole, left = (left + block).split(b"\n")
        yield from whole
    if left:
        yield left


def _damaged(path: Path, error: Exception) -> GradrankError:
    """Return the error for a damaged file."""
    return GradrankError(
        f"{path}: truncated, damaged or not a {path.suffix} file ({error}). Fix: download or copy it again"
    )


class PlainFile:
    """A file that can be read at any position: a plain file, or the decompressed copy of a compressed file.

    The copy exists as long as this object. `path` is the user's file, for messages. `file` is the file to open.
    """

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        """Open the file `path`. If it is compressed, it is decompressed into `folder`.

        folder: None for the temporary folder of the system.
        """
        self.path = self.file = path
        if is_packed(path):
            number, name = tempfile.mkstemp(prefix=".gradrank-", suffix=".partial", dir=folder)
            self.file = Path(name)
            weakref.finalize(self, self.file.unlink, missing_ok=True)  # the folder may have been removed before
            with os.fdopen(number, "wb") as copy:
                copy.writelines(blocks(path))


HEAD_BYTES = 1 << 16
SEPARATED = {".csv": ",", ".tsv": "\t"}
AS_PARQUET = "Fix: convert it to Parquet, for example `polars.{call}.write_parquet('data.parquet')`"
# key: first bytes. value: the form, and what to do.
MAGIC = {
    b"ARROW1": ("a Feather or Arrow file", "Fix: give it the suffix .feather"),
    b"FEA1": ("a Feather file", "Fix: give it the suffix .feather"),
    b"Obj\x01": ("an Avro file", AS_PARQUET.format(call="read_avro(path)")),
    b"ORC": ("an ORC file", "Fix: convert it to Parquet, for example with pandas.read_orc"),
    b"\x93NUMPY": ("a NumPy file", "Fix: give the array in Python, or write one number per line with numpy.savetxt"),
    b"\x89HDF": ("an HDF5 file", "Fix: convert it to Parquet, for example with pandas.read_hdf"),
    b"SQLite format 3": ("an SQLite database", "Fix: export the table as CSV or Parquet"),
    b"%PDF": ("a PDF file", "Fix: give text, CSV or Parquet"),
    b"PK\x03\x04": ("a zip archive or an Excel file", "Fix: extract it, or store the table as CSV or Parquet"),
    b"\x1f\x8b": ("compressed with gzip", "Fix: add the suffix .gz to its name, or decompress it"),
    b"\xfd7zXZ": ("compressed with xz", "Fix: add the suffix .xz to its name, or decompress it"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "Fix: add the suffix .zst to its name, or decompress it"),
    b"\x04\x22\x4d\x18": ("compressed with LZ4", "Fix: decompress it; save a Run of ranx as JSON or Parquet"),
    b"BZh": ("compressed with bzip2", f"Fix: decompress it, or compress it as {', '.join(PACKED)}"),
    b"\xff\xfe": ("text in UTF-16", "Fix: store it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    b"\xfe\xff": ("text in UTF-16", "Fix: store it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`"),
    b"<!DOCTYPE": ("an HTML page", "Fix: download the file itself"),
    b"<html": ("an HTML page", "Fix: download the file itself"),
}
FEATHER_MAGIC = (b"ARROW1", b"FEA1")
PICKLE = re.compile(rb"\x80[\x02-\x05]")
SHORTEST_RUN, LONGEST_RUN = 3, 5  # fields of a line of qrels or of a run without its tag
FEATHER, JSON_LINES = (".feather", ".arrow"), (".jsonl", ".ndjson")  # suffixes of tables, which are read by suffix
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def check_form(path: Path) -> None:
    """Raise GradrankError if the first bytes of a file show a form that is not read, and say what to do.

    A file in an unknown form passes. The functions that read it report its first malformed line.
    """
    head = next(blocks(path, HEAD_BYTES), b"")
    form = next((form for magic, form in MAGIC.items() if head.startswith(magic)), None)
    if PICKLE.match(head):
        form = "a Python pickle, which is never loaded", "Fix: store the data as Parquet or text"
    suffix = plain_name(path).suffix.lower()
    if suffix in FEATHER and head.startswith(FEATHER_MAGIC):
        return
    if form is None and suffix not in (".parquet", *JSON_LINES) and b"\0" not in head:
        form = _json_form(head) or _separated_form(path, suffix, head)
        if form is None and b"\r" in head and b"\n" not in head and suffix not in SEPARATED:
            form = "text whose lines end with a carriage return", r"Fix: convert the line ends with `tr '\r' '\n'`"
    if form is not None:
        raise GradrankError(f"{path}: this is {form[0]}. It cannot be read. {form[1]}")


def _json_form(head: bytes) -> tuple[str, str] | None:
    """Return the form of JSON or JSON lines, or None for another form."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] not in (b"{", b"["):
        return None
    first, _, rest = text.partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        is_lines = False
        if not re.match(rb'[{\[]\s*(["{\[\]}]|$)', text):
            return None
    else:
        is_lines = bool(rest.strip())
    if is_lines:
        return "JSON lines", "Fix: give it the suffix .jsonl"
    return "JSON", "Fix: write a table with one row per document, as Parquet or CSV"


def _separated_form(path: Path, suffix: str, head: bytes) -> tuple[str, str] | None:
    """Return the form of separated values whose separator does not belong to the suffix; None for another form."""
    rows = (row.strip() for row in head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines())
    line = next((row for row in rows if row and not row.startswith("#")), "")
    expected = SEPARATED.get(suffix)
    counts = {separator: line.count(separator) for separator in NAMES if separator != expected}
    separator = max(counts, key=lambda each: counts[each])
    if not counts[separator] or (expected and expected in line) or "qid:" in line:
        return None
    fields = line.split()
    if len(fields) >= SHORTEST_RUN and (separator != "\t" or _is_number(fields[min(len(fields), LONGEST_RUN) - 1])):
        return None  # qrels or a run, whose number stands before the tag
    if re.fullmatch(r"[+-]?\d+,\d+(e[+-]?\d+)?", line):
        return f"text with decimal commas ({line!r})", "Fix: write decimal points"
    if separator == "\t" and not expected and len(line.split("\t")) < 3:
        return None
    name = f"values separated by {NAMES[separator]}"
    if separator in SEPARATED.values():
        right = next(key for key, value in SEPARATED.items() if value == separator)
        end = f"{right}{path.suffix if is_packed(path) else ''}"
        return f"{name} in a file without the suffix {right}", f"Fix: give the file a name that ends with {end}"
    return name, (
        f"Fix: separate the values by commas, for example `polars.read_csv(path, separator={separator!r})"
        ".write_csv('data.csv')`"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


COLUMN_BYTES = 10_000  # overhead per column in data frames and files, in addition to the values


def available() -> int:
    """Return the number of bytes that this process may still allocate.

    This is the free memory, or a smaller number if `ulimit -v` limits the process.
    """
    import resource  # Windows does not have it

    page = os.sysconf("SC_PAGE_SIZE")
    free, limit = _free(page), resource.getrlimit(resource.RLIMIT_AS)[0]
    status = Path("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not status.is_file():
        return free
    return min(free, max(0, limit - page * int(status.read_text().split()[0])))


def _free(page: int) -> int:
    """Return the number of bytes that can be allocated without swapping. On systems other than Linux, return all
    memory.

    page: the size of a memory page in bytes.
    """
    meminfo = Path("/proc/meminfo")
    for line in meminfo.read_text().splitlines() if meminfo.is_file() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return page * os.sysconf("SC_PHYS_PAGES")


def check_memory(path: Path | str, rows: int, width: int) -> None:
    """Raise GradrankError if `rows` dense float32 rows of `width` features do not fit into memory."""
    needed, free = width * (4 * rows + COLUMN_BYTES), available()
    if needed > free:
        raise GradrankError(
            f"{path}: {rows:,} rows of {width:,} features take {needed / 1e9:,.1f} GB, because models are trained on "
            f"dense rows. This process may allocate only {free / 1e9:,.1f} GB more. Fix: use a machine with more "
            "memory or a higher limit (`ulimit -v`), keep only the features that most rows have, or hash the features "
            "(for example, add up the features whose numbers are equal modulo 4,096)"
        )
