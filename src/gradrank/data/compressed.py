"""Reading of plain and compressed files (.gz, .xz, .zst). Importing this module is fast."""

import gzip
import lzma
import os
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gradrank.base.errors import GradrankError
from gradrank.base.extras import require

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
