"""Collection: the one in-memory form of ranking data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gradrank.errors import GradrankError


@dataclass(frozen=True)
class Pairs:
    """Crucial pairs: within one query, `better` has the higher grade.

    better, worse: (p,) int32 row numbers within the Collection that holds them.
    query: (p,) int32 position of the query in that Collection.
    tau: (p,) float64 NDCG_beta weight, (grade gap) / DCG_beta(ideal) (Jin et al. 2018).
    """

    better: np.ndarray
    worse: np.ndarray
    query: np.ndarray
    tau: np.ndarray

    def __len__(self) -> int:
        return len(self.better)


@dataclass(frozen=True)
class Collection:
    """Documents grouped by query; query q is the contiguous rows offsets[q]:offsets[q+1].

    features: (n, d) float32, C order. labels: (n,) int32 grades. offsets: (q+1,) int64. qids: (q,) int64.
    """

    features: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    stored_pairs: Pairs | None = None

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def queries(self) -> int:
        return len(self.qids)

    @cached_property
    def pairs(self) -> Pairs:
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

        Raises GradrankError where a part has no rows.
        """
        import polars as pl

        pieces, stored, start, queries = [], [], 0, 0
        for part in parts:
            frame = pl.scan_parquet(path).filter(pl.col("part") == part).collect()
            if frame.is_empty():
                raise GradrankError(f"{path}: part {part} has no rows")
            piece = _from_frame(frame)
            if pairs is not None:
                table = pl.scan_parquet(pairs).filter(pl.col("part") == part).collect()
                first_row, first_query = _first(path, part)
                stored.append(
                    (
                        table["better"].to_numpy() + np.int32(start - first_row),
                        table["worse"].to_numpy() + np.int32(start - first_row),
                        table["query"].to_numpy() + np.int32(queries - first_query),
                        table["tau"].to_numpy(),
                    )
                )
            pieces.append(piece)
            start, queries = start + piece.rows, queries + piece.queries
        joined = _concatenate(pieces)
        if pairs is None:
            return joined
        columns = [np.concatenate(column) for column in zip(*stored, strict=True)]
        return Collection(joined.features, joined.labels, joined.offsets, joined.qids, Pairs(*columns))


def _first(path: Path | str, part: int) -> tuple[int, int]:
    """Rows and queries before `part` in the file: parts are stored one after the other."""
    import polars as pl

    before = pl.scan_parquet(path).filter(pl.col("part") < part).select("part", "qid")
    counts = before.select(
        rows=pl.len(),
        queries=pl.struct("part", "qid").n_unique(),
    ).collect()
    return counts["rows"].item(), counts["queries"].item()


def _from_frame(frame) -> Collection:
    """One part as a Collection; its qids are contiguous because `parse` refused anything else."""
    names = [name for name in frame.columns if name.startswith("f") and name[1:].isdigit()]
    qids = frame["qid"].to_numpy()
    starts = np.flatnonzero(np.r_[True, qids[1:] != qids[:-1]])
    return Collection(
        features=np.ascontiguousarray(frame.select(names).to_numpy(), dtype=np.float32),
        labels=frame["label"].to_numpy().astype(np.int32),
        offsets=np.r_[starts, len(qids)].astype(np.int64),
        qids=qids[starts],
    )


def _concatenate(pieces: list[Collection]) -> Collection:
    if len(pieces) == 1:
        return pieces[0]
    sizes = np.concatenate([np.diff(piece.offsets) for piece in pieces])
    return Collection(
        features=np.concatenate([piece.features for piece in pieces]),
        labels=np.concatenate([piece.labels for piece in pieces]),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
        qids=np.concatenate([piece.qids for piece in pieces]),
    )
