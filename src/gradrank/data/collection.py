"""Collection: the one in-memory form of ranking data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.errors import GradrankError

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs

COLUMNS = 32  # read at a time


@dataclass(frozen=True)
class Collection:
    """Documents grouped by query; query q is the contiguous rows offsets[q]:offsets[q+1].

    features: (n, d) float32, C order. labels: (n,) int32 grades. offsets: (q+1,) int64. qids: (q,) int64.
    """

    features: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    stored_pairs: "Pairs | None" = None

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def queries(self) -> int:
        return len(self.qids)

    @cached_property
    def pairs(self) -> "Pairs":
        """The crucial pairs, as read from the pairs file or else enumerated here."""
        if self.stored_pairs is not None:
            return self.stored_pairs
        from gradrank.data.pairs import crucial_pairs

        return crucial_pairs(self.labels, self.offsets)

    @cached_property
    def query_of_row(self) -> np.ndarray:
        """(n,) int64: the position of each row's query."""
        return np.repeat(np.arange(self.queries), np.diff(self.offsets))

    def check(self, where: str) -> None:
        """Raise GradrankError, naming `where`, if a feature is NaN or infinite: no model is trained on that."""
        finite = np.isfinite(self.features)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise GradrankError(
                f"{where}: feature {column + 1} of document {row + 1} is {self.features[row, column]}; "
                "features must be finite numbers"
            )

    @staticmethod
    def read(path: Path | str, parts: Sequence[int], pairs: Path | str | None = None) -> "Collection":
        """The given parts of a Parquet collection, one after the other in the order given.

        Takes the features' memory once, and that of COLUMNS columns of a part. Raises GradrankError where a
        part has no rows.
        """
        import polars as pl

        rows = pl.scan_parquet(path)
        pieces = [rows.filter(pl.col("part") == part) for part in parts]
        heads = [piece.select("part", "qid", "label").collect() for piece in pieces]
        for part, head in zip(parts, heads, strict=True):
            if head.is_empty():
                raise GradrankError(f"{path}: part {part} has no rows")
        table = pl.concat(heads)
        part, qid = table["part"].to_numpy(), table["qid"].to_numpy()
        # Parts may number their queries alike; `parse` refused queries in pieces.
        starts = np.flatnonzero(np.r_[True, (qid[1:] != qid[:-1]) | (part[1:] != part[:-1])])
        stored = None
        if pairs is not None:
            from gradrank.data.pairs import read_pairs

            stored = read_pairs(pairs, path, parts)
        return Collection(
            features=_features(pieces, [len(head) for head in heads]),
            labels=table["label"].to_numpy().astype(np.int32),
            offsets=np.r_[starts, len(table)].astype(np.int64),
            qids=qid[starts],
            stored_pairs=stored,
        )


def _features(pieces: list, sizes: list[int]) -> np.ndarray:
    """(n, d) float32, C order, of lazy frames with that many rows each."""
    names = [name for name in pieces[0].collect_schema().names() if name[:1] == "f" and name[1:].isdigit()]
    features = np.empty((sum(sizes), len(names)), np.float32)
    ends = np.cumsum(sizes)
    for piece, size, end in zip(pieces, sizes, ends, strict=True):
        for first in range(0, len(names), COLUMNS):
            some = names[first : first + COLUMNS]
            features[end - size : end, first : first + COLUMNS] = piece.select(some).collect().to_numpy()
    return features
