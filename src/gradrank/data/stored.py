"""StoredCollection: a parsed data set on disk, from which Collections are read."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import check_memory
from gradrank.data.part_files import COLLECTION, PartFolder

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from gradrank.data.collection import Collection
    from gradrank.data.pairs import StoredPairs
    from gradrank.data.preparation import Fill, Preparation

# Columns are read in blocks of BLOCK_COLUMNS columns, or in MOST_BLOCKS larger blocks if there are many columns.
BLOCK_COLUMNS, MOST_BLOCKS = 32, 16


@dataclass(frozen=True)
class StoredCollection(PartFolder):
    """A parsed data set: a folder of Parquet files and the collection.json that describes them.

    Open the data set once per job with `StoredCollection.open(path)`, and pass the object on. Checksums of part files
    are verified when the files are read.

    Parameters
    ----------
    path, description
        See PartFolder.
    columns
        The columns of the features that are read, from 0, or None for all features.
    """

    columns: tuple[int, ...] | None = None

    DESCRIPTION_FILE: ClassVar[str] = COLLECTION
    COMMAND: ClassVar[str] = "parse"
    ENTRIES: ClassVar[Mapping[str, type]] = {
        "dataset": str,
        "rows": int,
        "queries": int,
        "features": int,
        "source_sha256": str,
        "folds": list,
    }
    PART_ENTRIES: ClassVar[Mapping[str, type]] = {"rows": int, "queries": int}

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
        """The column names of the features of a table. None for text, in which features only have numbers."""
        return self.description.get("names")

    @property
    def roles(self) -> list[dict[str, Any]]:
        """The descriptions of the columns of the first source file (see `describe_roles`); empty if unknown."""
        return self.description.get("roles", [])

    @property
    def source_sha256(self) -> str:
        """The SHA-256 of the concatenated content of the files that were parsed."""
        return self.description["source_sha256"]

    @property
    def folds(self) -> list[dict[str, list[int]]]:
        """One dict per fold, from the splits `train`, `vali` and `test` to part numbers."""
        return self.description["folds"]

    @property
    def division(self) -> list[int] | None:
        """The part of each query in file order. None unless a file was divided into parts."""
        text = self.description.get("division")
        return None if text is None else [int(number) for number in (text.split() if " " in text else text)]

    @property
    def has_repeated_queries(self) -> bool:
        """True if a query is in several parts, as in folds whose files overlap."""
        return "labels" in self.description

    def fold(self, number: int) -> Mapping[str, Sequence[int]]:
        """Return a dict from the splits of a fold to part numbers. Folds are counted from 1.

        Raises GradrankError if there is no such fold.
        """
        if not 1 <= number <= len(self.folds):
            raise GradrankError(
                f"{self.path}: fold {number} does not exist. Fix: give one of its folds, 1 to {len(self.folds)}"
            )
        return self.folds[number - 1]

    def without_features(self, columns: Container[int]) -> Self:
        """Return this data set without some of its features. The files stay as they are.

        columns: the columns of these features, from 0. Raises GradrankError if no feature is left.
        """
        kept = [column for column in range(self.features) if column not in columns]
        if not kept:
            raise GradrankError(f"{self.path}: no feature is left. Fix: leave out fewer features")
        numbers = {f"f{column + 1}": f"f{number}" for number, column in enumerate(kept, start=1)}
        missing = self.description.get("missing_values", {})
        changed: dict[str, Any] = {
            "features": len(kept),
            "missing_values": {numbers[name]: rows for name, rows in missing.items() if name in numbers},
        }
        if self.feature_names is not None:
            changed["names"] = [self.feature_names[column] for column in kept]
        present = range(self.features) if self.columns is None else self.columns
        return replace(self, description=self.description | changed, columns=tuple(present[column] for column in kept))

    def pairs(self, path: Path | str) -> "StoredPairs":
        """Open the folder `path` with the pairs of this collection.

        Raises GradrankError if the folder has no description, or if the description is damaged or edited.
        """
        from gradrank.data.pairs import StoredPairs

        return StoredPairs.open(path)

    @property
    def fill(self) -> "Fill | None":
        """The replacement of missing values for methods that do not take them; None if they stay missing."""
        from gradrank.data.preparation import FILLS

        declared = self.description.get("missing")
        return declared if declared in FILLS and "fill" in self.description else None

    @property
    def levels(self) -> dict[str, list[str]]:
        """A dict from the name of a feature with categories to its levels."""
        return self.description.get("levels", {})

    @property
    def all_parts(self) -> list[int]:
        """The numbers of all parts."""
        return sorted({part for split in self.fold(1).values() for part in split})

    def preparation(self, fold: int | None, takes: "Sequence[str]") -> "Preparation":
        """Return the preparation of the features for a method.

        fold: the fold whose training part is read if something is learned from it; None for all parts. takes: what the
        method takes as it is: `missing`, `categorical`, both or none. Raises the errors of `fold` and `read`.
        """
        from gradrank.data.normalisation import Normaliser
        from gradrank.data.preparation import Preparation

        normalise = self.description.get("normalise")
        names = self.feature_names or []
        levels = {names.index(name): len(values) for name, values in self.levels.items() if name in names}
        fill = None if "missing" in takes else self.fill
        if normalise == "global" or levels or fill:
            train = self.read(self.all_parts if fold is None else self.fold(fold)["train"])
            return Preparation.learn(train.features, train.labels, levels, fill, takes, normalise)
        return Preparation(normaliser=Normaliser(normalise) if normalise else None)

    def read(
        self,
        parts: Sequence[int],
        pairs: "StoredPairs | None" = None,
        preparation: "Preparation | None" = None,
        is_training: bool = False,
    ) -> "Collection":
        """Read parts and concatenate them in the order of `parts`. The files of other parts are not opened.

        preparation: the preparation of the features. If None, the features are those of the files. is_training: True
        for the training part, from which the preparation was learned.

        Peak memory is the size of all features plus one block of columns of one part. The pairs are read later, when
        the `pairs` of the Collection are first used.

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
        is_weighted = "weight" in tables[0].collect_schema()
        heads = [table.select("qid", "label", *(["weight"] if is_weighted else [])).collect() for table in tables]
        qids = np.concatenate([head["qid"].to_numpy() for head in heads])
        sizes = [len(head) for head in heads]
        # Two parts may use the same query ids. Within a part, `parse` has checked that the rows of a query are
        # contiguous.
        is_first = np.r_[True, qids[1:] != qids[:-1]]
        is_first[np.cumsum([0, *sizes[:-1]])] = True
        starts = np.flatnonzero(is_first)
        offsets = np.r_[starts, len(qids)].astype(np.int64)
        pair_source = None if pairs is None else pairs.source(self, parts)
        features = _features(tables, sizes, self.columns)
        collection = Collection(
            features=features,
            labels=np.concatenate([head["label"].to_numpy() for head in heads]).astype(np.int32),
            offsets=offsets,
            qids=qids[starts],
            pair_source=pair_source,
            weights=np.concatenate([head["weight"].to_numpy() for head in heads]) if is_weighted else None,
            names=None if self.feature_names is None else tuple(self.feature_names),
        )
        if preparation is None or not preparation.changes:
            return collection
        if preparation.steps is None and preparation.normaliser is not None:  # in place, which saves memory
            return replace(collection, features=preparation.normaliser(features, offsets, out=features))
        return collection.prepared(preparation, self.levels, is_training)


def _features(tables: Sequence["pl.LazyFrame"], sizes: Sequence[int], columns: Sequence[int] | None) -> "np.ndarray":
    """Read the feature columns of all tables into one (n, d) float32 array in C order.

    sizes: the number of rows of each table. columns: the columns to read, or None for all.
    """
    import numpy as np

    names = [name for name in tables[0].collect_schema().names() if name[:1] == "f" and name[1:].isdigit()]
    names = names if columns is None else [names[column] for column in columns]
    features = np.empty((sum(sizes), len(names)), np.float32)
    width = max(BLOCK_COLUMNS, len(names) // MOST_BLOCKS)
    ends = np.cumsum(sizes)
    for table, size, end in zip(tables, sizes, ends, strict=True):
        for first in range(0, len(names), width):
            block = names[first : first + width]
            features[end - size : end, first : first + width] = table.select(block).collect().to_numpy()
    return features
