"""Functions of the tests of text files: parse a file and read back what is stored."""

import json

import numpy as np
import polars as pl

from gradrank.data.parse import parse


def parsed(folder, text, features=None) -> pl.DataFrame:
    """Parse a single file with this text; return its rows in file order. Its query ids must increase."""
    path = folder / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    parse(path, folder / "out", 0, "test", features)
    return rows_of(folder / "out").sort("qid", maintain_order=True)


def rows_of(stored) -> pl.DataFrame:
    """Return the rows of all parts, in their order, with the number of the part in the last column."""
    parts = json.loads((stored / "collection.json").read_text())["parts"]
    return pl.concat(
        pl.read_parquet(stored / f"part{part}.parquet").with_columns(part=pl.lit(int(part))) for part in parts
    )


def contents(folder) -> dict[str, bytes]:
    """Return the content of each file by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def matrix(frame: pl.DataFrame) -> np.ndarray:
    """Return the features with shape (rows, features)."""
    return frame.select(pl.col(r"^f\d+$")).to_numpy()


def bits(values) -> np.ndarray:
    """Return the bit patterns of values as float32."""
    return np.asarray(values, np.float32).view(np.uint32)
