"""A stored collection made of frames, as parsing text would leave it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from gradrank.data.stored import COLLECTION, write_parts
from gradrank.files import write_json


def store(folder: Path, parts: Mapping[int, pl.DataFrame], **meta: Any) -> Path:
    """Write each part's frame (at least `qid` and `label`) and collection.json, with `meta` in it; returns `folder`."""

    def writer(frame: pl.DataFrame):
        def write(path: Path) -> dict[str, Any]:
            frame.write_parquet(path)
            labels = dict(frame["label"].value_counts(sort=True).iter_rows())
            counts = {"rows": len(frame), "queries": frame["qid"].rle().len()}
            return counts | {"labels": {str(grade): count for grade, count in labels.items()}}

        return write

    written = write_parts(folder, COLLECTION, {part: writer(frame) for part, frame in parts.items()})
    write_json(folder / COLLECTION, {"dataset": folder.name, **meta, "parts": written})
    return folder
