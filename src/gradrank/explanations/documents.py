"""The documents of files and stored collections, for explanations of a trained fold."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest
from gradrank.data.collection import Collection
from gradrank.data.file_forms import readable_path
from gradrank.data.layout import is_table
from gradrank.data.reader import batches, feature_matrix, read_new
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns
from gradrank.measures.conventions import Convention
from gradrank.measures.judgements import document_ids, read_judgements
from gradrank.training.trained_fold import TrainedFold

FEW = 10  # largest number of ids that an error message lists
DOCUMENT_IDS, ROW_NUMBERS = "document ids", "row numbers of the data, from 1"


class JudgedDocuments(NamedTuple):
    """Documents with grades and features. docids: (n,) document ids, or None. highest: highest grade of the data."""

    collection: Collection
    docids: np.ndarray | None
    highest: int

    def convention(self, convention: Convention) -> Convention:
        """Return the convention with the highest grade of the data, which ERR uses, if the convention sets none."""
        return convention if convention.max_grade is not None else replace(convention, max_grade=self.highest)


@dataclass(frozen=True)
class QueryDocuments:
    """The documents of one query.

    query: id of the query. features: (n, d) float32 features, before normalisation. docids: (n,) document ids, or None.
    before: number of rows of the data that precede the query.
    """

    query: str
    features: np.ndarray
    docids: pl.Series | None
    before: int

    @property
    def naming(self) -> str:
        """Description of the names: document ids if a document of the query has one, and row numbers otherwise."""
        return ROW_NUMBERS if self.docids is None else DOCUMENT_IDS

    @property
    def names(self) -> list[str]:
        """The n names of the documents."""
        if self.docids is None:
            return [str(self.before + row + 1) for row in range(len(self.features))]
        return document_ids(self.docids, len(self.features), self.before).to_list()

    def row(self, name: str) -> int:
        """Return the row number of a document in the query, from 0. Raises GradrankError unless the name is unique."""
        rows = [row for row, known in enumerate(self.names) if known == name]
        if len(rows) == 1:
            return rows[0]
        problem = "several documents have the id" if rows else "no document"
        hint = "" if rows else _hint(name, self.names)
        raise GradrankError(
            f"query {self.query}: {problem} {name!r}{hint}. Fix: give two of its {len(self.names)} {self.naming}"
        )


def read_judged_documents(data: Path, fold: TrainedFold) -> JudgedDocuments:
    """Read a file with grades, or the test part of the fold in a stored collection.

    Raises GradrankError if the file is malformed, if the model was not trained on a fold of a collection, or if the
    collection has no such fold.
    """
    data = readable_path(data)
    if data.is_dir():
        stored = StoredCollection.open(data)
        parts = _test_parts(stored, fold)
        docids = read_judgements(stored, parts).docids
        highest = max(int(grade) for part in stored.parts for grade in stored.part(part)["labels"])
        return JudgedDocuments(stored.read(parts), None if docids is None else docids.to_numpy(), highest)
    declared = fold.schema.columns
    columns = Columns(grade_edges=declared.grade_edges)
    if is_table(data):
        roles = {"query": declared.query, "label": declared.label, "docid": declared.docid}
        columns = replace(columns, **roles, header=declared.header)
    features = np.concatenate([batch.features for batch in batches(read_new(data, fold.schema))])
    judged = read_judgements(data, columns=columns)
    collection = Collection(features, judged.labels.astype(np.int32), judged.offsets, judged.qids)
    docids = None if judged.docids is None else judged.docids.to_numpy()
    return JudgedDocuments(collection, docids, int(judged.labels.max()))


def read_query(data: Path, fold: TrainedFold, query: str) -> QueryDocuments:
    """Read the documents of one query from a file or from a stored collection.

    In a stored collection, the query is searched in the test part of the fold first, and then in the other parts.
    Raises GradrankError if there is no such query, or if the data are malformed.
    """
    if data.is_dir():
        return _stored_query(StoredCollection.open(data), fold, query)
    reading = read_new(data, fold.schema)
    (source,) = reading.sources
    ids = [str(qid) for qid in source.ids]
    if query not in ids:
        raise _unknown_query(data, query, ids)
    position = np.array([ids.index(query)])
    frame, rows = reading.frame(source, position), source.rows
    features = reading.filled(feature_matrix(frame), rows[position])
    return QueryDocuments(query, features, _docids(frame), int(rows[: position[0]].sum()))


def _stored_query(stored: StoredCollection, fold: TrainedFold, query: str) -> QueryDocuments:
    test, ids = _test_parts(stored, fold) if "fold" in fold.spec else [], []
    for part in [*test, *(part for part in stored.parts if part not in test)]:
        table = pl.scan_parquet(stored.part_file(part))
        name = "query" if "query" in table.collect_schema() else "qid"
        found = table.filter(pl.col(name).cast(pl.String) == query).with_row_index("row").collect()
        if len(found):
            rows = table.select(pl.col(name).cast(pl.String) == query).collect().to_series()
            before = sum(stored.part(other)["rows"] for other in stored.parts if other < part)
            features = feature_matrix(found.drop("row"))
            return QueryDocuments(query, features, _docids(found), before + int(rows.arg_max() or 0))
        ids += table.select(pl.col(name).cast(pl.String).unique(maintain_order=True)).collect().to_series().to_list()
    raise _unknown_query(stored.path, query, ids)


def _test_parts(stored: StoredCollection, fold: TrainedFold) -> list[int]:
    """Return the parts of the test part of the fold."""
    if "fold" not in fold.spec:
        raise GradrankError(
            f"{stored.path}: the model was not trained on a fold of a collection. Fix: give a file with documents"
        )
    return list(stored.fold(fold.spec["fold"])["test"])


def _docids(frame: pl.DataFrame) -> pl.Series | None:
    """Return the document ids of a frame; None if no document has one."""
    return frame["docid"] if frame["docid"].count() else None


def _unknown_query(where: Path, query: str, ids: list[str]) -> GradrankError:
    hint = _hint(query, ids)
    return GradrankError(f"{where}: no query {query!r}{hint}. Fix: give the id of one of its {len(ids):,} queries")


def _hint(name: str, known: list[str]) -> str:
    """Return the part of an error message with the most similar name, or with all names if there are few."""
    similar = get_close_matches(name, known, n=1)
    return nearest(name, similar or known) if similar or len(known) <= FEW else ""
