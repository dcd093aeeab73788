"""Packed files of a study, read without gradrank: the rows of all results that the jobs of the study wrote."""

from pathlib import Path

import polars as pl

FILE_SHA256 = "file_sha256"  # column with the SHA-256 of the file that the job wrote
TUNED = ("dataset", "model", "tuner")  # columns that identify a result of a tuned study


class Packed:
    """The results in a packed file. columns: the columns that identify a result."""

    def __init__(self, path: Path, columns: tuple[str, ...] = TUNED) -> None:
        self.parts: dict[tuple, pl.DataFrame] = {}
        if path.is_file():
            self.parts = pl.read_parquet(path).partition_by(columns, as_dict=True)

    def of(self, *names: str) -> list[pl.DataFrame]:
        """Return the tables of the results whose first columns have the values `names`, in the order of the file."""
        return [table for key, table in self.parts.items() if key[: len(names)] == names]

    def files(self, pattern: str, *names: str) -> list[dict[str, str]]:
        """Return one row per result: the name of the job's file and the first digits of its SHA-256.

        pattern: the name of the file, with one pair of braces per column. names: as for `of`.
        """
        return [
            {"file": pattern.format(*key), "sha256": table[FILE_SHA256][0][:16]}
            for key, table in self.parts.items()
            if key[: len(names)] == names
        ]
