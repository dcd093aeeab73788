"""Stored collections written from data frames, with the files that parsing writes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from gradrank.base.stamps import write_sealed
from gradrank.data.part_files import COLLECTION, write_parts


def store(folder: Path, parts: Mapping[int, pl.DataFrame], **meta: Any) -> Path:
    """Write one frame per part (at least `qid` and `label`), and collection.json with `meta`; return `folder`."""

    def writer(frame: pl.DataFrame):
        def write(path: Path) -> dict[str, Any]:
            frame.write_parquet(path)
            labels = dict(frame["label"].value_counts(sort=True).iter_rows())
            counts = {"rows": len(frame), "queries": frame["qid"].rle().len()}
            return counts | {"labels": {str(grade): count for grade, count in labels.items()}}

        return write

    written = write_parts(folder, COLLECTION, {part: writer(frame) for part, frame in parts.items()})
    counts = {unit: sum(part[unit] for part in written.values()) for unit in ("rows", "queries")}
    features = sum(name[0] == "f" for name in next(iter(parts.values())).columns)
    described = {"dataset": folder.name, **counts, "features": features, "source_sha256": "abc", "folds": []}
    write_sealed(folder / COLLECTION, described | meta | {"parts": written})
    return folder


def store_halves(folder: Path, labels: Mapping[int, list[int]]) -> Path:
    """Store four queries, numbered from 1, with the grades `labels`: two per part, and one fold per test part."""
    rows = [
        {"part": 1 + (qid > 2), "qid": qid, "label": label, "docid": f"d{qid}.{i}"}
        for qid, own in labels.items()
        for i, label in enumerate(own)
    ]
    frame = pl.DataFrame(rows, schema_overrides={"label": pl.Int8})
    folds = [{"train": [2], "vali": [2], "test": [1]}, {"train": [1], "vali": [1], "test": [2]}]
    return store(folder, {part: frame.filter(part=part).drop("part") for part in (1, 2)}, folds=folds)
