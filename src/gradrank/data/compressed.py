"""Files as they are handed around, packed or plain: .gz, .xz, .zst. Imports nothing heavy."""

import gzip
import lzma
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gradrank.base.errors import GradrankError

BLOCK_BYTES = 1 << 20


def _zstandard(path: Path) -> IO[bytes]:
    import pyarrow

    return pyarrow.input_stream(str(path), compression="zstd")


_OPENED_BY = {".gz": gzip.open, ".xz": lzma.open, ".zst": _zstandard}
PACKED = tuple(_OPENED_BY)


def is_packed(path: Path) -> bool:
    return path.suffix.lower() in _OPENED_BY


def plain_name(path: Path) -> Path:
    """The path without the suffix of a packed file: train.txt.gz -> train.txt."""
    return path.with_suffix("") if is_packed(path) else path


def opened(path: Path) -> IO[bytes]:
    """A file's content as bytes, unpacked."""
    return _OPENED_BY.get(path.suffix.lower(), Path.open)(path) if is_packed(path) else path.open("rb")


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """A file's content, unpacked, in pieces of at most `size` bytes. Raises GradrankError for a damaged one."""
    try:
        with opened(path) as stream:
            while block := stream.read(size):
                yield block
    except OSError as error:
        if not is_packed(path) or error.errno is not None:
            raise
        raise _damaged(path, error) from None
    except (EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
        raise _damaged(path, error) from None


def lines(path: Path) -> Iterator[bytes]:
    """A file's lines, unpacked, without their ends."""
    left = b""
    for block in blocks(path):
        *whole, left = (left + block).split(b"\n")
        yield from whole
    if left:
        yield left


def _damaged(path: Path, error: Exception) -> GradrankError:
    return GradrankError(f"{path}: truncated, damaged or not a {path.suffix} file ({error}); get it anew")


class Plain:
    """A file that can be read at any place: itself, or while this object lives the unpacked copy of a packed one.

    path: what the user calls it. file: what to open.
    """

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        """folder: where the copy goes; the system's for temporary files if None."""
        self.path = self.file = path
        if is_packed(path):
            self._copy = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed with this object
                prefix=".gradrank-", suffix=".partial", dir=folder
            )
            for block in blocks(path):
                self._copy.write(block)
            self._copy.flush()
            self.file = Path(self._copy.name)
