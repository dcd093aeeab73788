"""RankingDataset: one fold of a stored data set as NumPy arrays and Polars frames, read when they are first used."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gradrank.base.text_tables import Grid, html_table, plain_table
from gradrank.data.stored import StoredCollection

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from gradrank.data.collection import Collection

SPLITS = ("train", "vali", "test")


class DatasetPart:
    """The training, validation or test part of a fold: n documents with d features.

    The documents of each query are contiguous. The arrays and the frame are read from disk when they are first used,
    and then stay in memory.
    """

    def __init__(self, stored: StoredCollection, name: str, numbers: Sequence[int]) -> None:
        self.name, self._stored, self._numbers = name, stored, numbers

    @property
    def rows(self) -> int:
        """The number of documents, n."""
        return sum(self._stored.part(number)["rows"] for number in self._numbers)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(self._stored.part(number)["queries"] for number in self._numbers)

    @property
    def grades(self) -> dict[int, int]:
        """A dict from each relevance grade to its number of documents, in ascending order."""
        counts: dict[int, int] = {}
        for number in self._numbers:
            for grade, rows in self._stored.part(number)["labels"].items():
                counts[int(grade)] = counts.get(int(grade), 0) + rows
        return dict(sorted(counts.items()))

    @property
    def X(self) -> "np.ndarray":
        """The features, (n, d) float32."""
        return self._collection.features

    @property
    def y(self) -> "np.ndarray":
        """The relevance grades, (n,) int32."""
        return self._collection.labels

    @cached_property
    def qid(self) -> "np.ndarray":
        """The query id of each row, (n,) int64."""
        return self._collection.qids[self._collection.query_of_row]

    @cached_property
    def docid(self) -> "np.ndarray | None":
        """The document id of each row, (n,) strings, or None if the data have no document ids.

        A row without an id has None.
        """
        ids = self._columns("docid")["docid"]
        return None if ids.null_count() == len(ids) else ids.to_numpy()

    @cached_property
    def documents_per_query(self) -> "np.ndarray":
        """The number of documents of each query, (q,) int64, in the order of the rows."""
        import numpy as np
        import polars as pl

        paths = map(self._stored.part_file, self._numbers)
        lengths = pl.col("qid").rle().struct.field("len")
        return np.concatenate([pl.scan_parquet(path).select(lengths).collect().to_numpy()[:, 0] for path in paths])

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """A frame with one row per document.

        Its columns are `qid`, `query` (the query id as text, if query ids are text), `label`, `docid` (if the data have
        document ids), and one column per feature with the names in `RankingDataset.feature_names`.
        """
        import polars as pl

        names = dict(zip(_numbered(self._stored), feature_names(self._stored), strict=True))
        roles = {role["role"] for role in self._stored.roles}
        has_text_ids = "query" in pl.read_parquet_schema(self._stored.part_file(self._numbers[0]))
        heads = ["qid", *(["query"] if has_text_ids else []), "label", *(["docid"] if "docid" in roles else [])]
        frame = self._columns(*heads, *names)
        return frame.with_columns(pl.col("label").cast(pl.Int32)).rename(names)

    def __repr__(self) -> str:
        return f"DatasetPart({self.name}: {self.rows:,} rows, {self.queries:,} queries)"

    @cached_property
    def _collection(self) -> "Collection":
        return self._stored.read(self._numbers)

    def _columns(self, *names: str) -> "pl.DataFrame":
        """Return columns of the stored files."""
        import polars as pl

        return (
            pl.concat(pl.scan_parquet(self._stored.part_file(number)) for number in self._numbers)
            .select(names)
            .collect()
        )


class RankingDataset:
    """One fold of a data set: its training, validation and test part.

    `load_dataset` returns this object. At first, only the description is read. Data are read when they are used.

    Parameters
    ----------
    stored
        The stored data set.
    fold
        The number of the fold, from 1.
    title
        The full name of the data set.
    """

    def __init__(self, stored: StoredCollection, fold: int, title: str) -> None:
        self.stored, self.fold, self.title = stored, fold, title
        self.train, self.vali, self.test = (DatasetPart(stored, split, stored.fold(fold)[split]) for split in SPLITS)

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.stored.name

    @property
    def feature_names(self) -> list[str]:
        """The names of the d features: the column names of the data, or f1 to fd for text, which has no names."""
        return feature_names(self.stored)

    def describe(self) -> "pl.DataFrame":
        """Return a frame with one row per part.

        The columns are `part`, `rows`, `queries`, the smallest, median and largest number of documents per query
        (`documents_min`, `documents_median`, `documents_max`), and the number of rows per grade (`grade_0` and so on).
        """
        import numpy as np
        import polars as pl

        parts = (self.train, self.vali, self.test)
        grades = sorted({grade for part in parts for grade in part.grades})
        described = []
        for part in parts:
            sizes = part.documents_per_query
            spread = {"min": int(sizes.min()), "median": float(np.median(sizes)), "max": int(sizes.max())}
            described.append(
                {"part": part.name, "rows": part.rows, "queries": part.queries}
                | {f"documents_{name}": value for name, value in spread.items()}
                | {f"grade_{grade}": part.grades.get(grade, 0) for grade in grades}
            )
        return pl.DataFrame(described)

    def __repr__(self) -> str:
        return f"{self._caption()}\n{plain_table(self._grid())}"

    def _repr_html_(self) -> str:
        return html_table(self._grid(), self._caption())

    def _caption(self) -> str:
        folds = f"fold {self.fold} of {len(self.stored.folds)}"
        return f"{self.name}: {self.title}, {folds}, {self.stored.features} features"

    def _grid(self) -> Grid:
        frame = self.describe()
        head = [name.replace("_", " ") for name in frame.columns]
        lines = [
            [str(row[0]), *(f"{value:,g}" if value % 1 else f"{value:,.0f}" for value in row[1:])]
            for row in frame.rows()
        ]
        return Grid(head, "l" + "r" * (len(head) - 1), lines)


def feature_names(stored: StoredCollection) -> list[str]:
    """Return the feature names of a stored data set: the names in the data, or f1 to fd if the data have no names."""
    return stored.feature_names or _numbered(stored)


def _numbered(stored: StoredCollection) -> list[str]:
    """Return the names of the feature columns in the stored files, f1 to fd."""
    return [f"f{number}" for number in range(1, stored.features + 1)]
