"""Judgements and scores from arrays or files, with the rows of each query next to each other.

Data of other libraries are converted to NumPy arrays and Polars Series. The data can be NumPy arrays, lists, Polars
Series, pandas Series, Arrow arrays, or any object that NumPy converts to an array. pandas and pyarrow are only used if
the caller passes their objects.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError, nearest
from gradrank.data.exact_values import (
    EXACT_IN_FLOAT64,
    first_gap,
    merged_array_row,
    merged_object_row,
    merged_row,
    query_id_error,
    text_ids,
)
from gradrank.data.grades import HIGHEST_GRADE
from gradrank.data.layout import is_table
from gradrank.data.stored import StoredCollection
from gradrank.data.tables.roles import Columns, named_columns
from gradrank.data.tables.table import RawTable, raw_table
from gradrank.measures.held_data import GRADE, IDS, SCORE, file_frame, held_frame
from gradrank.measures.judgements import (
    Judgements,
    document_ids,
    existing_file,
    id_column,
    read_judgements,
    table_judgements,
)
from gradrank.measures.score_files import read_ranking, read_run, score_column

HIT_IDS = ("docid", "doc_id", "corpus_id")  # names of the id in hits of Pyserini, ir_datasets and sentence-transformers


def numbers(values: Any, name: str) -> np.ndarray:
    """Return (n,) numbers as a NumPy array of integers or floats; booleans become 0 and 1.

    name: name of the argument in error messages. Raises GradrankError if the data are not one-dimensional, not numeric,
    have missing values, or have different numbers that would be equal as float64. A nan is not a missing value.
    """
    array = values if isinstance(values, np.ndarray) else _column(values, name)
    if isinstance(array, np.ndarray) and (array.dtype.kind == "O" or _may_be_rounded(values, array)):
        _refuse_merged(merged_object_row(np.asarray(values, dtype=object).ravel()), name)
    if isinstance(array, pl.Series) or array.dtype.kind not in "iufb" or isinstance(array, np.ma.MaskedArray):
        array = _numeric(array if isinstance(array, pl.Series) else _series(array, name), name)
    if array.ndim != 1:
        raise GradrankError(_shape_error(array.shape, name))
    _refuse_merged(merged_array_row(array), name)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def ids(values: Any, name: str) -> pl.Series:
    """Return (n,) ids as a Polars Series of Int64 or text. Whole numbers become Int64 if they are small enough.

    name: name of the argument in error messages. Raises GradrankError if the data are not one-dimensional, or if an id
    is missing or a fraction.
    """
    column = _column(values, name)
    series = column if isinstance(column, pl.Series) else _series(column, name)
    _check_missing(series, name)
    if series.dtype.is_float():
        return pl.Series(_whole(series.to_numpy(), name))
    if series.dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)  # null if the id is too large
        return whole if not whole.null_count() else series.cast(pl.String)
    return text_ids(series, name, name)


def _whole(values: np.ndarray, name: str) -> np.ndarray:
    """Return float ids as int64. NumPy checks them, because Polars' expressions do not return in a forked process."""
    if np.isnan(values).any():
        raise GradrankError(_missing_error(int(np.isnan(values).argmax()), name))
    is_odd = (values != np.floor(values)) | (np.abs(values) >= first_gap(values.dtype))
    if is_odd.any():
        row = int(is_odd.argmax())
        raise GradrankError(
            f"{name}: the id {values[row]} in row {row} (counted from 0) is a fraction or too large for a "
            f"{values.dtype}. Fix: give ids as text or whole numbers"
        )
    return values.astype(np.int64)


def query_ids(values: Any, name: str) -> pl.Series:
    """Return (n,) query ids as `ids` does. Also raises GradrankError for text that files refuse as a query id."""
    series = ids(values, name)
    if series.dtype == pl.String:
        for text in dict.fromkeys(series.to_list()):
            if reason := query_id_error(text):
                row = series.to_list().index(text)
                raise GradrankError(f"{name}: row {row} (counted from 0) {reason}. Fix: correct the id of this row")
    return series


def same_length(values: Any, rows: int, name: str, others: str) -> Any:
    """Return `values`. Raises GradrankError if their number is not `rows`, the number of `others`."""
    if len(values) != rows:
        raise GradrankError(f"{name}: {len(values)} values for {rows} {others}. Fix: give as many values as {others}")
    return values


def _numeric(series: pl.Series, name: str) -> np.ndarray:
    if series.dtype.is_decimal() or series.dtype in (pl.Int128, pl.UInt128):
        _refuse_merged(merged_row(series), name)
        series = series.cast(pl.Float64)
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean or series.dtype == pl.Null):
        raise GradrankError(
            f"{name}: expected one number per document, found {series.dtype}. Fix: convert {name} to numbers"
        )
    _check_missing(series, name)
    return series.to_numpy()


def _may_be_rounded(values: Any, array: np.ndarray) -> bool:
    """Return True for a list with large values that NumPy converted to floats; they may have been whole numbers."""
    is_float_list = isinstance(values, list | tuple) and array.dtype.kind == "f"
    return is_float_list and bool((np.abs(array) >= EXACT_IN_FLOAT64).any())


def _refuse_merged(row: int | None, name: str) -> None:
    if row is not None:
        raise GradrankError(
            f"{name}: the number of row {row} (counted from 0) is too large or has too many digits for a 64-bit float, "
            "in which it equals another number. Fix: give smaller numbers, such as the ranks of the values"
        )


def _check_missing(series: pl.Series, name: str) -> None:
    if series.null_count():
        raise GradrankError(_missing_error(series.is_null().arg_max(), name))


def _column(values: Any, name: str) -> pl.Series | np.ndarray:
    """Return the data as a Series if a library describes its missing values, and as an array otherwise."""
    if hasattr(values, "read"):
        raise GradrankError(f"{name}: an open file. Fix: give its path")
    if values is None:
        raise GradrankError(f"{name}: missing; {name} should be a 1d array. Fix: give one value per document")
    if isinstance(values, pl.Series | np.ndarray):
        return values
    if isinstance(values, str | bytes | dict) or hasattr(values, "collect_schema"):
        kind = type(values).__name__
        raise GradrankError(f"{name}: expected one value per document, found {kind}. Fix: give an array or a column")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.Series | pandas.Index):
        missing = np.asarray(values.isna())
        if missing.any() and not (isinstance(values.dtype, np.dtype) and values.dtype.kind == "f"):
            raise GradrankError(_missing_error(int(np.argmax(missing)), name))
        return values.to_numpy()
    try:
        if "decimal256" in str(getattr(values, "type", "")):  # Polars would print the backtrace of a panic
            raise GradrankError(f"{name}: its type is {values.type}. Fix: convert {name} to float64, int64 or text")
        if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
            return pl.Series(values)
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError, pl.exceptions.PolarsError) as error:
        raise GradrankError(f"{name}: not an array: {_first_line(error)}. Fix: give a one-dimensional array") from None


def _series(array: np.ndarray, name: str) -> pl.Series:
    if array.ndim != 1:
        raise GradrankError(_shape_error(array.shape, name))
    if isinstance(array, np.ma.MaskedArray):
        return pl.Series(array.tolist())
    try:
        return pl.Series(array.tolist() if array.dtype.kind == "O" else array)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise GradrankError(
            f"{name}: the values do not have one type: {_first_line(error)}. Fix: convert {name} to numbers or text"
        ) from None


def _missing_error(row: int | None, name: str) -> str:
    return f"{name}: the value of row {row} (counted from 0) is missing. Fix: leave this row out of all arguments"


def _shape_error(shape: tuple[int, ...], name: str) -> str:
    fix = f"give {name}.ravel()" if sum(size != 1 for size in shape) == 1 else "give one value per document"
    return f"{name}: expected one dimension, found an array of shape {shape}. Fix: {fix}"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


def held(data: Any, name: str, value: str) -> pl.DataFrame | None:
    """Return the frame of `held_frame`, also for a pandas Series with two levels of ids, and for rows that are lists.

    The documents of a query in a dict can also be a pandas Series, an array of ids, lists of an id and a value, or a
    list of hits with the keys or attributes `docid` (`doc_id`, `corpus_id`) and `score`. Document ids in tuples can be
    integers if the query ids are text. The arguments and errors are those of `held_frame`. Also raises GradrankError
    if a grade or score is missing.
    """
    if getattr(getattr(data, "index", None), "nlevels", 1) == 2 and not hasattr(data, "columns"):
        data = data.to_frame(value).reset_index(names=list(IDS))
    elif isinstance(data, list) and data and isinstance(data[0], list) and len(data[0]) == 3:
        data = [tuple(row) for row in data]
    elif isinstance(data, Mapping):
        data = {query: _documents(documents) for query, documents in data.items()}
    if isinstance(data, list) and data and isinstance(data[0], tuple) and [*map(type, data[0][:2])] == [str, int]:
        data = [(row[0], str(row[1]), *row[2:]) for row in data]
    frame = held_frame(data, name, value)
    if frame is not None and frame.schema.get(value) == pl.Object and {*IDS} <= {*frame.columns}:
        for query, document, found in zip(*(frame[key].to_list() for key in (*IDS, value)), strict=True):
            if found is None:
                raise GradrankError(
                    f"{name}: document {document!r} of query {query} has None as its {value}. Fix: leave the document "
                    f"out, or give a {value}"
                )
    return frame


def _documents(documents: Any) -> Any:
    """Return the documents of a query as a dict or as pairs of an id and a score, if they have another known form."""
    if isinstance(documents, Mapping):
        return documents
    is_series = hasattr(documents, "index") and hasattr(documents, "to_dict") and not hasattr(documents, "columns")
    if is_series and all(isinstance(document, str) for document in documents.index[:1]):
        return documents.to_dict()
    if isinstance(documents, np.ndarray) and documents.dtype.kind in "OUT":
        documents = documents.tolist()
    first = documents[0] if isinstance(documents, list) and documents else None
    if isinstance(first, list) and len(first) == 2 and isinstance(first[0], str):
        return [tuple(pair) for pair in documents]
    for key in HIT_IDS:
        if isinstance(first, Mapping) and {key, SCORE} <= {*first}:
            return [(hit[key], hit[SCORE]) for hit in documents]
        if hasattr(first, key) and hasattr(first, SCORE):
            return [(getattr(hit, key), getattr(hit, SCORE)) for hit in documents]
    return documents


@dataclass(frozen=True)
class Judged:
    """Judgements, and the order in which they hold the caller's rows.

    rows: (n,) row numbers of the caller's arrays; None if the judgements have the rows in the caller's order.
    """

    judgements: Judgements
    rows: np.ndarray | None = None


@contextmanager
def with_fix(fix: str) -> Iterator[None]:
    """Add the text after `Fix:` to the message of a GradrankError that does not say how to repair the data.

    An OSError becomes a GradrankError, for example if the content of a file is given in place of its path.
    """
    try:
        yield
    except OSError as error:
        path = str(error.filename)
        shown = repr(path if len(path) <= 200 else f"{path[:60]}...")
        raise GradrankError(f"{shown}: {error.strerror}. Fix: give the path of a file that can be read") from None
    except GradrankError as error:
        text = str(error)
        raise (error if "Fix:" in text else GradrankError(f"{text.rstrip('.')}. Fix: {fix}")) from None


@with_fix("correct the judgements, or give others")
def read_judged_file(
    path: Path | str | StoredCollection,
    columns: Columns = Columns(),  # noqa: B008 - frozen
    any_grade: bool = False,
) -> Judgements:
    """Return the judgements of `read_judgements`. Every error says how to repair the file."""
    return read_judgements(path, columns=columns, any_grade=any_grade)


@with_fix("correct the ranking, or give another one")
def read_ids_and_scores(source: Path | str | RawTable) -> pl.DataFrame:
    """Return the rows of `read_run`. Every error says how to repair the run."""
    return read_run(source)


@with_fix("correct the judgements, or give others")
def judged(y: Any, qid: Any, docid: Any, any_grade: bool = False) -> Judged:
    """Return the judgements in `y`: (n,) grades, the path of a file or stored collection, or data of held_data.py.

    qid, docid: (n,) query and document ids if `y` is an array, and otherwise None. any_grade: whether grades may be
    fractions and may exceed HIGHEST_GRADE. The rows may be in any order. Queries are sorted by their first row, and the
    rows of a query keep their order. Raises GradrankError for invalid grades and ids.
    """
    is_read = isinstance(y, str | Path | StoredCollection | Judgements)
    frame = None if is_read else held(y, "y", GRADE)
    if frame is not None and not named_columns("query", frame.columns):
        columns = ", ".join(map(repr, frame.columns))
        raise GradrankError(
            f"y: expected one grade per document, found a table without a column of query ids: {columns}. Fix: call "
            "the column `qid`, or give the column of grades and qid"
        )
    if is_read or frame is not None:
        for name, given in (("qid", qid), ("docid", docid)):
            if given is not None:
                raise GradrankError(f"{name}: the data in y have their own ids. Fix: leave out {name}")
    if frame is not None:
        judgements, order = table_judgements(raw_table(frame, "y"), Columns(group_rows=True), any_grade)
        return Judged(judgements if _has_rows(y) else replace(judgements, complete=False), order)
    if is_read:
        return Judged(y if isinstance(y, Judgements) else read_judged_file(y, any_grade=any_grade))
    labels = grades(y, any_grade=any_grade)
    queries, offsets, rows = group_rows(same_length(query_ids(qid, "qid"), len(labels), "qid", "grades in y"))
    docids = None
    if docid is not None:
        given_ids = same_length(ids(docid, "docid"), len(labels), "docid", "grades in y")
        docids = document_ids(given_ids.cast(pl.String), len(labels))
    if rows is not None:
        labels, docids = labels[rows], docids if docids is None else docids.gather(rows)
    if queries.dtype.is_integer():
        return Judged(Judgements(labels, offsets, queries.to_numpy(), docids), rows)
    names = np.array(queries.to_list(), dtype=object)
    return Judged(Judgements(labels, offsets, np.arange(1, len(names) + 1), docids, names), rows)


class Segmented(NamedTuple):
    """Judgements without their column of segments, and the segment of each query by the text of its id."""

    y: Any
    segments: dict[str, str]


@with_fix("correct the judgements, or give others")
def segmented(y: Any, column: str, columns: Columns = Columns(), any_grade: bool = False) -> Segmented:  # noqa: B008
    """Return the judgements in the table `y` and the segments in one of its columns.

    y: the path of a table file, or data of held_data.py. columns: the names of the other columns. any_grade: as in
    `judged`. Raises GradrankError if the data have no such column, and if a query has no segment or several.
    """
    frame = held(y, "y", GRADE) if not isinstance(y, str | Path | StoredCollection | Judgements) else None
    path = existing_file(y) if isinstance(y, str | Path) and not Path(y).is_dir() else None
    if path is not None and (frame := file_frame(path, GRADE)) is None and is_table(path):
        raw = raw_table(path, path, columns.header)
    elif frame is not None:
        raw = raw_table(frame, "y" if path is None else path)
    else:
        raise GradrankError(
            f"segment: the judgements have no column {column!r}, because they are not a table. Fix: give a data frame, "
            "Parquet, CSV, TSV or JSON, or call result.segments with a dict"
        )
    if column not in raw.names:
        raise GradrankError(
            f"{raw.where}: no column {column!r}{nearest(column, raw.names)}. Fix: give the name of a column"
        )
    query = columns.query or next((name for name in named_columns("query", raw.names) if name != column), None)
    if query is None:
        raise GradrankError(f"{raw.where}: no column of query ids. Fix: call it `qid`")
    values = raw.column(column).cast(pl.String)
    rows = pl.DataFrame({"query": id_column(raw, query), "segment": values.replace("", None)}).drop_nulls().unique()
    if len(several := rows.filter(pl.col("query").is_duplicated())):
        first = several.sort("query", "segment")
        raise GradrankError(
            f"{raw.where}: query {first['query'][0]} has the segments {first['segment'][0]!r} and "
            f"{first['segment'][1]!r} in column {column!r}. Fix: give all rows of a query one segment"
        )
    rest = frame.drop(column) if path is None and frame is not None else y
    if path is not None:
        rest = read_judged_file(path, replace(columns, ignore=(*columns.ignore, column)), any_grade)
    return Segmented(rest, dict(rows.sort("query").iter_rows()))


def _has_rows(y: Any) -> bool:
    """Return True if the data are a table, whose rows have an order that scores can have, too."""
    return isinstance(y, pl.LazyFrame) or any(hasattr(y, key) for key in ("columns", "schema", "column_names", "dtype"))


@with_fix("correct the ranking, or give another one")
def ranking(judged: Judged, scores: Any, name: str) -> tuple[Judgements, np.ndarray, np.ndarray | None]:
    """Return judgements, (n,) float64 scores, and (n,) booleans that are True for documents in the ranking.

    If all documents are in the ranking, None is returned instead of the booleans. scores: (n,) numbers in the order of
    the caller's rows, the path of a score file, or data of held_data.py. name: name of the scores in error messages.
    Raises GradrankError for invalid scores.
    """
    judgements = judged.judgements
    is_path = isinstance(scores, str | Path)
    frame = None if is_path else held(scores, name, SCORE)
    raw = None if frame is None else raw_table(frame, name)
    if raw is not None and judgements.complete and not named_columns("docid", raw.names):
        scores, raw = _scores_in_order(judged, raw), None
    if is_path or raw is not None:
        if is_path and judged.rows is not None:
            raise GradrankError(
                f"{name}: a score file requires that the rows of each query in y are next to each other. Fix: sort y "
                "by qid, or give the scores as an array"
            )
        judgements, values, is_ranked = read_ranking(scores if raw is None else raw, judgements)
        return judgements, values, None if is_ranked.all() else is_ranked
    if not judgements.complete:
        raise GradrankError(
            f"{name}: an array has no document ids, which judgements with document ids require. Fix: give a run with "
            "document ids"
        )
    values = same_length(numbers(scores, name), len(judgements.labels), name, "grades in y")
    if not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise GradrankError(
            f"{name}: the score of row {row} (counted from 0) is {values[row]}. Fix: give every document a finite score"
        )
    values = values.astype(np.float64, copy=False)
    return judgements, values if judged.rows is None else values[judged.rows], None


def _scores_in_order(judged: Judged, raw: RawTable) -> pl.Series:
    """Return the column of scores of a table without document ids, whose rows are in the order of the caller's data.

    Raises GradrankError if the table has query ids that differ from those of the data.
    """
    for name in named_columns("query", raw.names):
        ids = id_column(raw, name)
        given = judged.judgements.id_of_row
        if judged.rows is not None:
            given = given.gather(np.argsort(judged.rows))
        if not ids.equals(given):
            raise GradrankError(
                f"{raw.where}: no column has document ids, and the query ids in {name!r} are not those of y in the "
                "same order. Fix: add a column `docid` to both, or sort the rows as in y"
            )
    return raw.column(score_column(raw))


def grades(y: Any, name: str = "y", any_grade: bool = False) -> np.ndarray:
    """Return the (n,) grades as integers, or as floats if `any_grade` is True and the grades are floats.

    name: name of the argument in error messages. any_grade: as in `judged`.
    """
    values = numbers(y, name)
    if not len(values):
        raise GradrankError(f"{name}: no documents. Fix: give at least one document")
    is_invalid = (values < 0) | (values > HIGHEST_GRADE)
    if values.dtype.kind == "f":
        is_invalid |= values != np.floor(values)  # true for nan, too
    if is_invalid.any():
        if any_grade and bool(np.all((values >= 0) & np.isfinite(values))):
            return values
        row = int(np.argmax(is_invalid))
        raise GradrankError(
            f"{name}: the grade of row {row} (counted from 0) is {values[row]:g}. Fix: give integer grades from 0 to "
            f"{HIGHEST_GRADE}"
        )
    return values.astype(np.int64, copy=False)


def group_rows(qid: pl.Series) -> tuple[pl.Series, np.ndarray, np.ndarray | None]:
    """Return the (q,) query ids in the order of their first rows, (q+1,) offsets, and the (n,) grouped row numbers.

    If the rows of each query are next to each other, None is returned instead of the row numbers.
    """
    first, offsets, rows = row_groups(_integers(qid))
    return qid.gather(first), offsets, rows


def integer_query_ids(values: Any, name: str) -> np.ndarray:
    """Return (n,) integers that are equal for equal query ids. The arguments and errors are those of `query_ids`."""
    if type(values) is np.ndarray and values.dtype.kind == "i" and values.ndim == 1:
        return values  # without a Series, whose creation would take a third of the time of a prediction
    return _integers(query_ids(values, name))


def _integers(qid: pl.Series) -> np.ndarray:
    """Return (n,) integers that are equal for equal query ids.

    Polars only holds the ids, because its parallel operations do not return in a forked process.
    """
    return qid.to_numpy() if qid.dtype.is_integer() else np.array(_positions(qid.to_list()), np.int64)


def row_groups(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the (q,) first rows of the queries, (q+1,) offsets, and the (n,) grouped row numbers.

    values: (n,) integers that are equal for rows of one query. The queries are in the order of their first rows. If the
    rows of each query are next to each other, None is returned instead of the row numbers.
    """
    starts = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)[: len(values)]
    ends = np.append(starts, len(values))
    if len(starts) == 1:
        return starts, ends, None
    _, first, query = np.unique(values[starts], return_index=True, return_inverse=True)
    if len(first) == len(starts):
        return starts, ends, None
    rank = np.argsort(np.argsort(first))  # queries in the order of their first rows
    query_of_row = np.repeat(rank[query], np.diff(ends))
    offsets = np.append(0, np.cumsum(np.bincount(query_of_row)))
    return starts[np.sort(first)], offsets, np.argsort(query_of_row, kind="stable")


def _positions(texts: Sequence[str]) -> list[int]:
    """Return the position of each text among the distinct texts, in the order of their first appearance."""
    found: dict[str, int] = {}
    return [found.setdefault(text, len(found)) for text in texts]
