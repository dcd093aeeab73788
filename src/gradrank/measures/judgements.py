"""Judgements (relevance grades without features) from a stored collection, a data file, TREC qrels or a table.

Documents without an id in the data have an id in TREC files, too.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import numbered, query_id_error, text_ids
from gradrank.data.file_forms import blocks, check_form, is_packed, is_utf8, readable_path
from gradrank.data.file_forms import lines as packed_lines
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.layout import is_table
from gradrank.data.reader import read_judged
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.files import OF_POLARS
from gradrank.data.tables.roles import Columns, Required, find_roles, is_index, is_of_run, named_columns, normalised
from gradrank.data.tables.table import RawTable, floats, grades_in_scores, is_number, raw_table, read_tables
from gradrank.data.text.text_file import BYTE_ORDER_MARK
from gradrank.measures.held_data import GRADE, file_frame
from gradrank.measures.ranking import JUDGED, POOLED

DIGITS = 10  # number of digits of a row number; enough for any collection


def document_ids(docids: pl.Series | None, rows: int, before: int = 0) -> pl.Series:
    """Return the (n,) ids of n = `rows` documents. A document without an id gets its row number in the input, from 1.

    docids: (n,) ids or nulls; None if no document has an id. before: number of rows of the input that precede these
    documents.

    Row numbers have leading zeros, so that their text sorts in row order. trec_eval breaks ties by document id. If the
    ids are such row numbers, the values of trec_eval equal those of the convention `trec`. The number of digits is
    fixed because new data are read in pieces, before the number of rows is known.
    """
    if docids is not None and not docids.null_count():
        return docids
    numbers = pl.int_range(before + 1, before + rows + 1, eager=True).cast(pl.String).str.zfill(DIGITS)
    return numbers if docids is None else docids.fill_null(numbers)


STRATUM = "stratum"  # column of the strata of sampled judgements
# key: the number of fields in a line of judgements
QRELS_FORMS = {
    3: "qid docid grade",
    4: "qid iteration docid grade",
    5: "qid iteration docid stratum grade",  # of TREC's sample_eval.pl
}
READ = ("qid", "query", "docid", "label")


@dataclass(frozen=True)
class Judgements:
    """Relevance grades grouped by query.

    labels: (n,) integer grades. offsets: (q+1,) first row of each query, and n as the last element. qids: (q,)
    integers. docids: (n,) document ids, or None. names: (q,) query ids if the data have textual ids, else None. If
    there are textual ids, `qids` contains their numbers. complete: whether all documents of the queries are included.
    `complete` is False for qrels, which contain only judged documents. lists_judged_only: True for a table of ids and
    grades without features, which may be complete data or qrels. Rankings may contain further documents. status: (n,)
    int8 numbers: JUDGED, POOLED for documents with a negative grade, which were in the pool and were not judged, and
    UNJUDGED for documents that are only in the ranking; None if all documents are judged. stratum: (n,) int64 numbers
    from 0 of the strata from which the judged documents were drawn, as in the judgements of TREC's sample_eval.pl; -1
    for documents that are only in the ranking; None if all pooled documents form one stratum.
    """

    labels: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    docids: pl.Series | None
    names: np.ndarray | None = None
    complete: bool = True
    lists_judged_only: bool = False
    status: np.ndarray | None = None
    stratum: np.ndarray | None = None

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
    any_grade: bool = False,
) -> Judgements:
    """Return the judgements of a stored collection, of a data file in any form that training reads, or of TREC qrels.

    Tables of ids and grades are also read as JSON, JSON lines and Feather files. parts: parts of the stored collection
    to read, in this order; if None, all parts. columns: names of the columns if the file is a table. any_grade: whether
    the grades of qrels and tables may be fractions and may exceed HIGHEST_GRADE. Raises GradrankError for any other
    file, for a missing or damaged part, and if the rows of a query are not contiguous.
    """
    if isinstance(path, StoredCollection) or Path(path).is_dir():
        stored = path if isinstance(path, StoredCollection) else StoredCollection.open(path)
        tables = [pl.scan_parquet(stored.part_file(part)) for part in parts or stored.parts]
        return _grouped([_judged(table, stored.path) for table in tables], stored.path)
    path = existing_file(path)
    frame = file_frame(path, GRADE)
    if frame is None:
        check_form(path)
        if _is_qrels(path, columns):
            return _read_qrels(path, any_grade)
    if frame is not None or is_table(path):
        raw = raw_table(path if frame is None else frame, path, columns.header)
        return table_judgements(raw, columns, any_grade).judgements
    reading = read_judged(path, columns)
    (source,) = reading.sources
    frames = [frame.select(name for name in READ if name in frame.columns) for frame in reading.frames(source)]
    return _grouped([pl.concat(frames)], path)


class TableJudgements(NamedTuple):
    """The judgements in a table.

    order: (n,) row numbers of the table in the order of the judgements; None if they have the order of the table.
    """

    judgements: Judgements
    order: np.ndarray | None


def table_judgements(raw: RawTable, columns: Columns, any_grade: bool = False) -> TableJudgements:
    """Return the judgements in a table.

    A table that has only ids and grades is read like qrels: negative grades become 0, and the rows of a query may be
    apart. Without a column of grades, every document of the table has grade 1. columns, any_grade: as in
    `read_judgements`. Raises GradrankError if the table is malformed.
    """
    columns = grades_in_scores(raw, columns)
    if (listed := _listed_judgements(raw, columns, any_grade)) is not None:
        return TableJudgements(listed, None)
    (table,) = read_tables([raw], columns, Required(features=()))
    judgements = _grouped([table.frame.select(name for name in READ if name in table.frame.columns)], raw.where)
    is_list = judgements.docids is not None and not table.unread
    return TableJudgements(replace(judgements, lists_judged_only=is_list), table.order)


def _listed_judgements(raw: RawTable, columns: Columns, any_grade: bool) -> Judgements | None:
    """Return the judgements in a table of ids and grades; None if it has no document ids or has other columns."""
    ids = {
        role: getattr(columns, role) or next(iter(named_columns(role, raw.names)), None) for role in ("query", "docid")
    }
    label = columns.label or next(iter(named_columns("label", raw.names)), None)
    strata = [name for name in raw.names if normalised(name) == STRATUM]
    others = {*raw.names} - {*ids.values(), label, *raw.index, *columns.ignore, *strata}
    if None in ids.values() or not all(is_index(name) or is_of_run(name) for name in others) or raw.frame.is_empty():
        return None
    required = Required(("query", "docid", "label") if label else ("query", "docid"), ())
    find_roles(raw.where, raw.names, columns, required)
    values = {role: id_column(raw, name) for role, name in ids.items() if name}
    if label is None:
        print(f"note: {raw.where}: no column of grades, so that every document has grade 1", file=sys.stderr)
        grades = pl.repeat(1, len(raw.frame), dtype=pl.Int32, eager=True)
    else:
        grades = _grades(raw, label, any_grade)
    table = pl.DataFrame([*(column.alias(role) for role, column in values.items()), grades.alias("label")])
    if strata:
        table = table.with_columns(numbered_strata(id_column(raw, strata[0])))
    table = table.with_row_index("number")
    if len(repeated := repeated_documents(table)):
        place = raw.location(repeated["number"][0])
        raise GradrankError(f"{raw.where}, {place}: {first_document(repeated)} is judged twice. Fix: delete the row")
    grouped = group_queries(table)
    in_order = bool((grouped["number"].diff().drop_nulls() == 1).all())
    return replace(incomplete_judgements(grouped, raw.where), complete=in_order, lists_judged_only=in_order)


def _grades(raw: RawTable, name: str, any_grade: bool) -> pl.Series:
    """Return a column of grades, of which negative numbers are kept. Raises GradrankError for an invalid grade."""
    values = raw.column(name)
    if not (is_number(values) or values.dtype.is_decimal() or values.dtype == pl.String):
        raise GradrankError(f"{raw.where}: column {name!r} is {values.dtype}, not grades. Fix: store numbers")
    labels = floats(values)[0] if values.dtype == pl.String else values.cast(pl.Float64)
    raw.refuse(name, labels.is_null() | ~labels.is_finite(), "a grade, which is a number")
    is_bad = (labels != labels.floor()) | (labels > HIGHEST_GRADE)
    if any_grade and is_bad.any():
        return labels
    raw.refuse(name, is_bad, f"a grade, a whole number up to {HIGHEST_GRADE}")
    return labels.cast(pl.Int32)


def id_column(raw: RawTable, name: str) -> pl.Series:
    """Return a column of ids as text. Raises GradrankError if an id is missing or has white space around it."""
    values = raw.column(name)
    ids = text_ids(values.cast(pl.String) if values.dtype == pl.Boolean else values, name, raw.where)
    is_bad = ids.is_null() | (ids.str.strip_chars() == "").fill_null(True)
    if is_bad.any():
        raise raw.bad_row(name, int(is_bad.arg_true()[0]), "the id is missing. Fix: add it, or delete the row")
    if named_columns("query", [name]):
        for query in ids.unique(maintain_order=True):
            if reason := query_id_error(query):
                row = int((ids == query).arg_true()[0])
                raise raw.bad_row(name, row, f"{reason}. Fix: correct the id")
    return ids


def _judged(table: pl.LazyFrame, path: Path) -> pl.DataFrame:
    return collect(table.select("qid", "label", "docid", pl.col("^query$")), path)


def _is_qrels(path: Path, columns: Columns) -> bool:
    """Return True if the first line is `qid iteration docid grade`, also with a stratum, or `qid docid grade`.

    Before the suffixes of tables, the grade decides, because the first line of a table usually has the names of its
    columns. The file is a table if the user has described its columns, or if a line of a CSV file contains a comma.
    """
    fields = first_fields(path)
    if len(fields) not in QRELS_FORMS or any(b"qid:" in field for field in fields):
        return False
    is_csv = ".csv" in path.suffixes and any(b"," in field for field in fields)
    if is_table(path) and (is_csv or columns != Columns()):
        return False
    is_grade = re.fullmatch(rb"-?\d+(\.\d+)?", fields[-1]) is not None
    if len(fields) == 5:
        return is_grade and fields[3].isdigit()
    return is_grade or (len(fields) == 4 and not is_table(path))


def first_fields(path: Path) -> list[bytes]:
    """Return the fields of the first line of a text file that is neither blank nor a comment."""
    rows = (line.removeprefix(BYTE_ORDER_MARK).split() for line in packed_lines(path))
    return next((fields for fields in rows if fields and not fields[0].startswith(b"#")), [])


def _read_qrels(path: Path, any_grade: bool) -> Judgements:
    """Read lines in one of the QRELS_FORMS, in any order.

    As in trec_eval, negative grades become 0, and lines that begin with `#` are comments.
    """
    read = text_lines(path)
    form = QRELS_FORMS[len(first_fields(path))]
    pattern = {"iteration": r"\S+", "stratum": r"(?<stratum>\d{1,9})", "grade": r"(?<label>-?[0-9]{1,9}(?:\.[0-9]+)?)"}
    pattern |= {"qid": r"(?<query>\S+)", "docid": r"(?<docid>\S+)"}
    groups = pl.col("text").str.extract_groups("^" + r"\s+".join(pattern[name] for name in form.split()) + "$")
    table = read.with_columns(groups.alias("fields")).unnest("fields")
    table = table.with_columns(pl.col("label").cast(pl.Float64))
    if len(bad := table.filter(pl.col("label").is_null())):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `{form}`, found {bad['text'][0][:60]!r}")
    is_bad = (pl.col("label") > HIGHEST_GRADE) | (pl.col("label") != pl.col("label").floor())
    bad = table.filter(is_bad)
    if len(bad) and not any_grade:
        raise GradrankError(
            f"{path}, line {bad['number'][0]}: expected an integer grade up to {HIGHEST_GRADE}, found "
            f"{bad['label'][0]:g}"
        )
    if not len(bad):
        table = table.with_columns(pl.col("label").cast(pl.Int32))
    if len(repeated := repeated_documents(table)):
        raise GradrankError(f"{path}, line {repeated['number'][0]}: {first_document(repeated)} is judged twice")
    if STRATUM in table.columns:
        if len(table) > table["query"].n_unique() and table.select("query", STRATUM).is_unique().all():
            raise GradrankError(
                f"{path}: the fourth number differs for all documents of a query, as ranks of a run do and strata of "
                "judgements do not. Fix: give judgements as the data and the run as the scores"
            )
        table = table.with_columns(numbered_strata(table[STRATUM]))
    return incomplete_judgements(group_queries(table), path)


def numbered_strata(names: pl.Series) -> pl.Series:
    """Return the (n,) int64 numbers of strata from their (n,) names, in the order of the names."""
    return (names.rank("dense").cast(pl.Int64) - 1).alias(STRATUM)


def incomplete_judgements(table: pl.DataFrame, path: Path | str) -> Judgements:
    """Return judgements with `complete=False` from columns `query` (text), `docid`, `label`, and perhaps `status` and
    `stratum`.

    The rows of each query must be contiguous. A negative label becomes 0, and the document is POOLED. path: file that
    error messages name.
    """
    status = None
    if "status" in table.columns:
        status = table["status"].to_numpy()
    elif (table["label"] < 0).any():
        status = np.where(table["label"].to_numpy() < 0, POOLED, JUDGED).astype(np.int8)
        table = table.with_columns(pl.col("label").clip(0))
    runs = table["query"].rle().struct.unnest()
    ((qids, names),) = numbered([runs["value"].to_list()])
    table = table.with_columns(qid=pl.Series(np.repeat(qids, runs["len"].to_numpy())))
    found = _grouped([table if names else table.drop("query")], path)
    stratum = table[STRATUM].to_numpy() if STRATUM in table.columns else None
    return replace(found, complete=False, status=status, stratum=stratum)


def group_queries(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted so that each query is contiguous, in the order of the queries' first rows."""
    if not table["query"].rle().struct.field("value").is_duplicated().any():
        return table
    return table.sort(pl.col("number").min().over("query"), maintain_order=True)


def _grouped(parts: Sequence[pl.DataFrame], path: Path | str) -> Judgements:
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


def repeated_documents(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose columns `query` and `docid` an earlier row has, too."""
    if table.select("query", "docid").hash_rows().n_unique() == len(table):  # takes half the time
        return table.clear()
    return table.filter(~pl.struct("query", "docid").is_first_distinct())


def first_document(table: pl.DataFrame) -> str:
    """Return text for an error message: the document in the first row, and the query of this document."""
    return f"document {table['docid'][0]!r} of query {table['query'][0]}"


def text_lines(path: Path) -> pl.DataFrame:
    """Return the lines of a text file as `lines` does, without blank lines and comments."""
    return collect(lines(path).filter((pl.col("text") != "") & ~pl.col("text").str.starts_with("#")), path)


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

    Raises GradrankError if there is no such file.
    """
    path = readable_path(path)
    if not path.is_file():
        kind = "a folder or a device, not a file" if path.exists() else "no such file"
        raise GradrankError(f"{path}: {kind}. Fix: give the path of a file")
    return path
