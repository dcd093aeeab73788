"""Files that are either whole or absent, and where a user's own code lies."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradrank.base.errors import GradrankError

OWN_MODELS = Path("models")  # of the working folder: its files join those of gradrank/models


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it there only if the block ends without an error.

    A process killed at any moment leaves `path` as it was: absent, or the older complete file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path | str, value: Any) -> None:
    """Write `value` as indented JSON, atomically; keys keep their order."""
    with atomic(path) as partial:
        partial.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path | str) -> Any:
    """Raises GradrankError where the file holds something else, as after a crash of the machine."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise GradrankError(f"{path}: not JSON ({error}); delete it and run again") from None


def sha256(path: Path | str) -> str:
    """SHA-256 of a file, read in pieces."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
