"""Collection: the one in-memory form of ranking data."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradrank.base.errors import GradrankError

if TYPE_CHECKING:
    from gradrank.data.pairs import Pairs, PairSource


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
