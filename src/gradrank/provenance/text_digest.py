"""The checksum of a data set's text. Parsing computes the same checksum and stores it as `source_sha256`."""

import hashlib
from itertools import chain
from pathlib import Path

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import blocks
from gradrank.data.layout import find_layout


def sha256_of_text(path: Path) -> str | None:
    """Return the SHA-256 of the concatenated files of a collection; None if `path` is not a collection."""
    try:
        layout, digest = find_layout(path), hashlib.sha256()
    except GradrankError:
        return None
    for block in chain.from_iterable(map(blocks, dict.fromkeys(layout.sources.values()))):
        digest.update(block)
    return digest.hexdigest()
