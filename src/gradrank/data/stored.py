"""StoredCollection: a parsed data set on disk, from which Collections are read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gradrank.base.errors import GradrankError
from gradrank.data.memory import check_memory
from gradrank.data.part_files import COLLECTION, PartFolder

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from gradrank.data.collection import Collection
    from gradrank.data.pairs import StoredPairs

# Columns are read in blocks of this many, or in MOST_BLOCKS blocks if that gives larger ones.
BLOCK_COLUMNS, MOST_BLOCKS = 32, 16


class StoredCollection(PartFolder):
    """A parsed data set: a folder of Parquet files and the collection.json that describes them.

    Open it once per job, with `StoredCollection.open(path)`, and pass it on. Part files are checked when they are read.
    """

    DESCRIPTION_FILE: ClassVar[str] = COLLECTION
    COMMAND: ClassVar[str] = "parse"

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.description["dataset"]

    @property
    def rows(self) -> int:
        """The number of documents in all parts."""
        return self.description["rows"]

    @property
    def queries(self) -> int:
        """The number of queries in all parts."""
        return self.description["queries"]

    @property
    def features(self) -> int:
        """The number of features."""
        return self.description["features"]

    @property
    def feature_names(self) -> list[str] | None:
        """The column names of the features in a table; None for text, whose features have numbers."""
        return self.description.get("names")

    @property
    def roles(self) -> list[dict[str, Any]]:
        """The role of each column of the first source file, as `column_roles` describes them; empty if unknown."""
        return self.description.get("roles", [])

    @property
    def source_sha256(self) -> str:
        """The SHA-256 of the files that were parsed, concatenated."""
        return self.description["source_sha256"]

    @property
    def folds(self) -> list[dict[str, list[int]]]:
        """The part numbers of each fold's splits `train`, `vali` and `test`."""
        return self.description["folds"]

    @property
    def division(self) -> str | None:
        """The part of each query, one digit per query in file order; None unless a file was divided into parts."""
        return self.description.get("division")

    def fold(self, number: int) -> Mapping[str, Sequence[int]]:
        """Return the part numbers of each split of fold `number`, counted from 1.

        Raises GradrankError if there is no such fold.
        """
        if not 1 <= number <= len(self.folds):
            raise GradrankError(f"{self.path}: fold {number} does not exist; it has folds 1 to {len(self.folds)}")
        return self.folds[number - 1]

    def pairs(self, path: Path | str) -> "StoredPairs":
        """Open the folder of this collection's pairs.

        Raises GradrankError if it has no description, or if the description is damaged.
        """
        from gradrank.data.pairs import StoredPairs

        return StoredPairs.open(path)

    def read(self, parts: Sequence[int], pairs: "StoredPairs | None" = None) -> "Collection":
        """Read parts and concatenate them in the order given. The files of other parts are not opened.

        Peak memory is that of the features plus one block of columns of one part. Only the description of `pairs` is
        read; the pairs themselves are read when the Collection is asked for them.

        Raises GradrankError if a part does not exist, if its file is missing or damaged, if the features do not fit
        into memory, or if `pairs` were computed from other rows.
        """
        import numpy as np
        import polars as pl

        from gradrank.data.collection import Collection

        paths = [self.part_file(part) for part in parts]
        if "features" in self.description:
            check_memory(self.path, sum(self.part(part)["rows"] for part in parts), self.features)
        tables = [pl.scan_parquet(path) for path in paths]
        heads = [table.select("qid", "label").collect() for table in tables]
        qids = np.concatenate([head["qid"].to_numpy() for head in heads])
        sizes = [len(head) for head in heads]
        # Two parts may use the same query ids. Within a part, `parse` has checked that the rows of a query adjoin.
        is_first = np.r_[True, qids[1:] != qids[:-1]]
        is_first[np.cumsum([0, *sizes[:-1]])] = True
        starts = np.flatnonzero(is_first)
        pair_source = None if pairs is None else pairs.source(self, parts)
        return Collection(
            features=_features(tables, sizes),
            labels=np.concatenate([head["label"].to_numpy() for head in heads]).astype(np.int32),
            offsets=np.r_[starts, len(qids)].astype(np.int64),
            qids=qids[starts],
            pair_source=pair_source,
        )


def _features(tables: Sequence["pl.LazyFrame"], sizes: Sequence[int]) -> "np.ndarray":
    """Read the feature columns of tables with `sizes` rows each into one (n, d) float32 array in C order."""
    import numpy as np

    names = [name for name in tables[0].collect_schema().names() if name[:1] == "f" and name[1:].isdigit()]
    features = np.empty((sum(sizes), len(names)), np.float32)
    width = max(BLOCK_COLUMNS, len(names) // MOST_BLOCKS)
    ends = np.cumsum(sizes)
    for table, size, end in zip(tables, sizes, ends, strict=True):
        for first in range(0, len(names), width):
            block = names[first : first + width]
            features[end - size : end, first : first + width] = table.select(block).collect().to_numpy()
    return features
