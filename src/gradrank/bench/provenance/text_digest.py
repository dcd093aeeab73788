"""The checksum of a data set's text. Parsing computes the same checksum and stores it as `source_sha256`."""

import hashlib
from itertools import chain
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import fault_of_name
from gradrank.data.compressed import blocks
from gradrank.data.layout import find_layout


def sha256_of_text(path: Path, files: list[str] | None = None) -> str | None:
    """Return the SHA-256 of the concatenated files of a collection; None if `path` is not a collection.

    files: the key `files` of collection.json, if it has one. None is also returned if a name in it is not a path below
    `path`.
    """
    if files is not None:
        if not isinstance(files, list) or any(map(fault_of_name, files)):
            return None
        sources = [path / file for file in files]
    elif path.is_file():
        sources = [path]
    else:
        try:
            layout = find_layout(path)
        except GradrankError:
            return None
        sources = layout.files if layout.rotation is None else [*layout.rotation.sources.values()]
    if not all(source.is_file() for source in sources):
        return None
    digest = hashlib.sha256()
    for block in chain.from_iterable(map(blocks, sources)):
        digest.update(block)
    return digest.hexdigest()
