"""Judgements (relevance grades without features) from a stored collection, a data file or TREC qrels.

Documents without an id in the data have an id in TREC files, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import numbered
from gradrank.data.file_forms import blocks, check_form, is_packed, is_utf8, readable_path
from gradrank.data.file_forms import lines as packed_lines
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.layout import is_table
from gradrank.data.reader import read_judged
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.files import OF_POLARS
from gradrank.data.tables.roles import Columns
from gradrank.data.tables.table import DataTable
from gradrank.data.text.text_file import BYTE_ORDER_MARK

DIGITS = 10  # number of digits of a row number; enough for any collection


def document_ids(docids: pl.Series | None, rows: int, before: int = 0) -> pl.Series:
    """Return the (n,) ids of n = `rows` documents. A document without an id gets its row number in the input, from 1.

    docids: (n,) ids or nulls; None if no document has an id. before: number of rows of the input that precede these
    documents.

    Row numbers have leading zeros, so that their text sorts in row order. trec_eval breaks ties by document id. If the
    ids are such row numbers, the values of trec_eval equal those of the convention `trec`. The number of digits is
    fixed because new data are read in pieces, before the number of rows is known.
    """
    numbers = pl.int_range(before + 1, before + rows + 1, eager=True).cast(pl.String).str.zfill(DIGITS)
    return numbers if docids is None else docids.fill_null(numbers)


JUDGED = ("qid", "query", "docid", "label")


@dataclass(frozen=True)
class Judgements:
    """Relevance grades grouped by query.

    labels: (n,) integer grades. offsets: (q+1,) first row of each query, and n as the last element. qids: (q,)
    integers. docids: (n,) document ids, or None. names: (q,) query ids if the data have textual ids, else None. If
    there are textual ids, `qids` contains their numbers. complete: whether all documents of the queries are included.
    `complete` is False for qrels, which contain only judged documents. lists_judged_only: True for a table of ids and
    grades without features, which may be complete data or qrels. Rankings may contain further documents.
    """

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: pl.Series | None
    names: np.ndarray | None = None
    complete: bool = True
    lists_judged_only: bool = False

    @property
    def ids(self) -> np.ndarray:
        """(q,) query ids of the data: integers, or strings in an object array."""
        return self.qids if self.names is None else self.names

    @property
    def id_of_row(self) -> pl.Series:
        """(n,) query id of each row, as text."""
        ids = pl.Series("query", self.ids).cast(pl.String)
        return ids.gather(np.repeat(np.arange(len(ids)), np.diff(self.offsets)))


def read_judgements(
    path: Path | str | StoredCollection,
    parts: Sequence[int] | None = None,
    columns: Columns = Columns(),  # noqa: B008 - frozen
) -> Judgements:
    """Return the judgements of a stored collection, of a data file in any form that training reads, or of TREC qrels.

    parts: parts of the stored collection to read, in this order; if None, all parts. columns: names of the columns if
    the file is a table. Raises GradrankError for any other file, for a missing or damaged part, and if the rows of a
    query are not contiguous.
    """
    if isinstance(path, StoredCollection) or Path(path).is_dir():
        stored = path if isinstance(path, StoredCollection) else StoredCollection.open(path)
        tables = [pl.scan_parquet(stored.part_file(part)) for part in parts or stored.parts]
        return _grouped([_judged(table, stored.path) for table in tables], stored.path)
    path = existing_file(path)
    if not is_table(path) and _is_qrels(path):
        return _read_qrels(path)
    reading = read_judged(path, columns)
    (source,) = reading.sources
    frames = [frame.select(name for name in JUDGED if name in frame.columns) for frame in reading.frames(source)]
    judgements = _grouped([pl.concat(frames)], path)
    is_list = isinstance(source, DataTable) and judgements.docids is not None and not source.unread
    return replace(judgements, lists_judged_only=is_list)


def _judged(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    return collect(table.select("qid", "label", "docid", pl.col("^query$")), path)


def _is_qrels(path: Path) -> bool:
    rows = (line.removeprefix(BYTE_ORDER_MARK).split() for line in packed_lines(path))
    fields = next(filter(None, rows), [])
    return len(fields) == 4 and fields[0][:1] != b"#" and not any(b"qid:" in field for field in fields)


def _read_qrels(path: Path) -> Judgements:
    """Read lines `qid iteration docid grade` in any order; negative grades become 0, as in trec_eval."""
    read = collect(lines(path).filter(pl.col("text") != ""), path)
    groups = pl.col("text").str.extract_groups(r"^(?<query>\S+)\s+\S+\s+(?<docid>\S+)\s+(?<label>-?[0-9]{1,9})$")
    table = read.with_columns(groups.alias("fields")).unnest("fields")
    table = table.with_columns(pl.col("label").cast(pl.Int32).clip(0))
    if len(bad := table.filter(pl.col("label").is_null())):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `qid iteration docid grade`, found {bad['text'][0][:60]!r}")
    if len(bad := table.filter(pl.col("label") > HIGHEST_GRADE)):
        raise GradrankError(
            f"{path}, line {bad['number'][0]}: expected an integer grade up to {HIGHEST_GRADE}, found {bad['label'][0]}"
        )
    if len(repeated := table.filter(~pl.struct("query", "docid").is_first_distinct())):
        raise GradrankError(f"{path}, line {repeated['number'][0]}: {first_document(repeated)} is judged twice")
    return incomplete_judgements(group_queries(table), path)


def incomplete_judgements(table: pl.DataFrame, path: Path) -> Judgements:
    """Return judgements with `complete=False` from columns `query` (text), `docid` and `label`.

    The rows of each query must be contiguous. path: file that error messages name.
    """
    runs = table["query"].rle().struct.unnest()
    ((qids, names),) = numbered([runs["value"].to_list()])
    table = table.with_columns(qid=pl.Series(np.repeat(qids, runs["len"].to_numpy())))
    return replace(_grouped([table if names else table.drop("query")], path), complete=False)


def group_queries(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted so that each query is contiguous, in the order of the queries' first rows."""
    return table.sort(pl.col("number").min().over("query"), maintain_order=True)


def _grouped(parts: Sequence[pl.DataFrame], path: Path) -> Judgements:
    """Return judgements from the tables of the parts, with columns `qid`, `label`, `docid` and optionally `query`.

    Different parts may use the same `qid` for different queries. Raises GradrankError if the parts are empty or the
    rows of a query are not contiguous within its part.
    """
    table = pl.concat(parts)
    if table.is_empty():
        raise GradrankError(f"{path}: the file has no judgements")
    qids = table["qid"].to_numpy()
    begins = np.r_[True, qids[1:] != qids[:-1]]
    for part, end in zip(parts, np.cumsum([len(part) for part in parts]), strict=True):
        begins[end - len(part)] = True
        runs = part["qid"].rle().struct.field("value")
        if runs.is_duplicated().any():
            qid = runs.filter(runs.is_duplicated())[0]
            query = part.filter(qid=qid)["query"][0] if "query" in part.columns else qid
            raise GradrankError(
                f"{path}: the rows of query {query} are not contiguous. Fix: sort the file so that each query's rows "
                "are next to each other"
            )
    starts = np.flatnonzero(begins)
    docids = document_ids(table["docid"], len(table)) if table["docid"].count() else None
    offsets = np.r_[starts, len(qids)].astype(np.int64)
    texts = table["query"].to_numpy()[starts] if "query" in table.columns else None
    return Judgements(table["label"].to_numpy(), offsets, qids[starts], docids, texts)


def first_document(table: pl.DataFrame) -> str:
    """Return text for an error message: the document in the first row, and the query of this document."""
    return f"document {table['docid'][0]!r} of query {table['query'][0]}"


def lines(path: Path) -> pl.LazyFrame:
    """Scan a text file into a frame with the columns `number` (line number, from 1) and `text`.

    The text has no byte order mark, no carriage return, and no white space at its ends.
    """
    source = path if is_utf8(path) and not is_packed(path) else BytesIO(b"".join(blocks(path)))
    lines = pl.scan_lines(source, name="text", row_index_name="number", row_index_offset=1, glob=False)
    return lines.with_columns(pl.col("text").str.strip_prefix("\ufeff").str.strip_chars())


def collect(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """Read a table with Polars' streaming engine. Only the selected columns are held in memory as a whole.

    Raises GradrankError if the file at `path` is malformed.
    """
    try:
        return table.collect(engine="streaming")
    except OF_POLARS as error:
        kind = "part of a stored collection" if path.is_dir() else "text file"
        reason = str(error).splitlines()[0]  # the other lines print the query plan
        raise GradrankError(f"{path}: not a {kind}: {reason}") from None


def existing_file(path: Path | str) -> Path:
    """Return the path as a Path that can be opened several times.

    Raises GradrankError if there is no such file, or if its form is not read.
    """
    path = readable_path(path)
    if not path.is_file():
        kind = "a folder or a device, not a file" if path.exists() else "no such file"
        raise GradrankError(f"{path}: {kind}. Fix: give the path of a file")
    check_form(path)
    return path
