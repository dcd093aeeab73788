"""What a record of provenance says of data: of which bytes they were made, and their own."""

import hashlib
from itertools import chain
from pathlib import Path
from typing import Any

from gradrank.data.compressed import blocks
from gradrank.data.layout import find_layout
from gradrank.data.stored import PAIRS, describe, files
from gradrank.errors import GradrankError
from gradrank.files import sha256


def data_record(dataset: str, data: Path) -> dict[str, Any]:
    """`source_sha256` of a data set's text, and `files`, the SHA-256 of its Parquet files and its pairs' by path.

    Where a user gave the pairs, `given_sha256` of that file besides. data: the folder of the Parquet collections.
    """
    own, pairs = data / dataset, data.parent / "pairs" / dataset
    found, more = files(own), {}
    if (pairs / PAIRS).is_file():
        found += files(pairs, PAIRS)
        more = {key: value for key, value in describe(pairs, PAIRS).items() if key == "given_sha256"}
    source = {"source_sha256": describe(own)["source_sha256"]}
    return source | more | {"files": {str(path): sha256(path) for path in found}}


def sha256_of_text(path: Path) -> str | None:
    """As parsing computes it, of the parts' files one after the other; None where they are no collection."""
    try:
        layout, digest = find_layout(path), hashlib.sha256()
    except GradrankError:
        return None
    for block in chain.from_iterable(map(blocks, dict.fromkeys(layout.sources.values()))):
        digest.update(block)
    return digest.hexdigest()
