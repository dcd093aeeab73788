"""Collection: the one in-memory form of ranking data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError
from gradrank.data.memory import check_memory
from gradrank.data.stored import describe, part_file

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs, PairSource

COLUMNS, BLOCKS = 32, 16  # columns read at a time; of very many, no more than so many blocks


@dataclass(frozen=True)
class Collection:
    """Documents grouped by query; query q is the contiguous rows offsets[q]:offsets[q+1].

    features: (n, d) float32, C order. labels: (n,) int32 grades. offsets: (q+1,) int64. qids: (q,) int64.
    pair_source: the pairs stored for it; None: the crucial pairs of its grades.
    """

    features: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    pair_source: "PairSource | None" = None

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def queries(self) -> int:
        return len(self.qids)

    @cached_property
    def pairs(self) -> "Pairs":
        """The list of pairs, as stored or else enumerated here; memory for each."""
        if self.pair_source is not None:
            return self.pair_source.read()
        from gradrank.data.pairs import crucial_pairs

        return crucial_pairs(self.labels, self.offsets)

    @property
    def ties(self) -> bool:
        """Whether documents of equal grade are pairs too, with target 1/2."""
        return self.pair_source is not None and self.pair_source.ties

    @property
    def targets(self) -> "np.ndarray | Pairs":
        """What a cost of pairs is about: the (n,) grades, or the pairs themselves where a user's file gives them."""
        return self.pairs if self.pair_source is not None and self.pair_source.given else self.labels

    @cached_property
    def query_of_row(self) -> np.ndarray:
        """(n,) int64: the position of each row's query."""
        return np.repeat(np.arange(self.queries), np.diff(self.offsets))

    def check(self, where: str, missing: bool = False) -> None:
        """Raise GradrankError, naming `where`, if a feature is infinite or, unless values may be `missing`, NaN."""
        finite = ~np.isinf(self.features) if missing else np.isfinite(self.features)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise GradrankError(
                f"{where}: feature {column + 1} of document {row + 1} is {self.features[row, column]}; "
                "features must be finite numbers"
            )

    @staticmethod
    def read(folder: Path | str, parts: Sequence[int], pairs: Path | str | None = None) -> "Collection":
        """The given parts of a stored collection, one after the other in the order given; no other file is opened.

        pairs: the folder of its pairs, of which the description alone is read here. Takes the features' memory once,
        and that of some columns of a part. Raises GradrankError for a part that is missing or is not the file that was
        written, and where memory is too small.
        """
        import polars as pl

        paths = [part_file(folder, part) for part in parts]
        meta = describe(folder)
        if "features" in meta:
            check_memory(folder, sum(meta["parts"][str(part)]["rows"] for part in parts), meta["features"])
        pieces = [pl.scan_parquet(path) for path in paths]
        heads = [piece.select("qid", "label").collect() for piece in pieces]
        qids = np.concatenate([head["qid"].to_numpy() for head in heads])
        sizes = [len(head) for head in heads]
        # Parts may number their queries alike; `parse` refused queries in pieces.
        new = np.r_[True, qids[1:] != qids[:-1]]
        new[np.cumsum([0, *sizes[:-1]])] = True
        starts = np.flatnonzero(new)
        source = None
        if pairs is not None:
            from gradrank.data.pairs import stored_pairs

            source = stored_pairs(pairs, folder, parts)
        return Collection(
            features=_features(pieces, sizes),
            labels=np.concatenate([head["label"].to_numpy() for head in heads]).astype(np.int32),
            offsets=np.r_[starts, len(qids)].astype(np.int64),
            qids=qids[starts],
            pair_source=source,
        )


def _features(pieces: list, sizes: list[int]) -> np.ndarray:
    """(n, d) float32, C order, of lazy frames with that many rows each."""
    names = [name for name in pieces[0].collect_schema().names() if name[:1] == "f" and name[1:].isdigit()]
    features = np.empty((sum(sizes), len(names)), np.float32)
    block = max(COLUMNS, len(names) // BLOCKS)
    ends = np.cumsum(sizes)
    for piece, size, end in zip(pieces, sizes, ends, strict=True):
        for first in range(0, len(names), block):
            some = names[first : first + block]
            features[end - size : end, first : first + block] = piece.select(some).collect().to_numpy()
    return features
