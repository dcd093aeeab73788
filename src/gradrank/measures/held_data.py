"""Judgements and rankings that other programs hold in memory or write as JSON and Arrow files, as data frames.

The forms are nested dicts (pytrec_eval), data frames (pandas, Polars, Arrow, PyTerrier, Hugging Face), Qrels and Run of
ranx, iterables of Qrel and ScoredDoc (ir_measures, ir_datasets), and lists of rows. The objects are recognised by
documented attributes, so that none of these packages is imported.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.file_forms import HEAD_BYTES, blocks, content_of
from gradrank.data.tables.files import OF_POLARS
from gradrank.data.tables.roles import named_columns

IDS = ("query_id", "doc_id")  # attributes of the rows of ir_measures and ir_datasets
GRADE, SCORE = "relevance", "score"  # names of the values in rows of ir_measures and in frames from nested dicts
ARROW = (b"ARROW1", b"FEA1")  # first bytes of Arrow files and of the first version of Feather


def held_frame(data: Any, name: str, value: str) -> pl.DataFrame | None:
    """Return data in one of the forms of this module as a frame, or None for an array, a column and any other object.

    name: name of the argument in error messages. value: GRADE or SCORE, which is the name of the column of values if
    the form has no names. A list of document ids per query has the grade 1 for each document, or the ranks as scores.
    Raises GradrankError if the data begin as one of the forms and are malformed.
    """
    try:
        return _frame(data, name, value)
    except (TypeError, ValueError, OverflowError, AttributeError, *OF_POLARS) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise GradrankError(f"{name}: not a table of {value}s: {reason}. Fix: give one row per document") from None


def _frame(data: Any, name: str, value: str) -> pl.DataFrame | None:
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data.lazy().collect()
    if isinstance(data, Mapping):
        return _of_mapping(data, name, value)
    if isinstance(data, np.ndarray):
        return pl.DataFrame({field: data[field] for field in data.dtype.names}) if data.dtype.names else None
    if isinstance(data, str | bytes | pl.Series) or data is None:
        return None
    if callable(getattr(data, "to_polars", None)) and hasattr(data, "column_names"):  # Hugging Face
        return data.to_polars()
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        return _of_pandas(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return pl.DataFrame(data) if hasattr(data, "schema") or hasattr(data, "columns") else None
    if hasattr(data, "__array__"):
        return None
    if callable(getattr(data, "to_dict", None)) and hasattr(data, "keys"):  # ranx
        return _of_mapping(data.to_dict(), name, value)
    if not isinstance(data, Iterable):
        return None
    return _of_rows(data if isinstance(data, Sequence) else list(data), value)


def _of_mapping(data: Mapping[Any, Any], name: str, value: str) -> pl.DataFrame | None:
    if not data:
        raise GradrankError(f"{name}: the dict is empty. Fix: give at least one query")
    if hasattr(next(iter(data.values())), "column_names"):
        if len(data) == 1:
            return _frame(next(iter(data.values())), name, value)
        raise GradrankError(f"{name}: {len(data)} parts ({', '.join(map(str, data))}). Fix: give one of them")
    if not any(isinstance(each, Mapping) for each in data.values()) and named_columns("query", [*map(str, data)]):
        return pl.DataFrame({str(key): column for key, column in data.items()})
    queries = {query: _documents(documents, query, name, value) for query, documents in data.items()}
    if not any(queries.values()):
        raise GradrankError(f"{name}: no query has documents. Fix: give at least one document")
    lengths = [len(documents) for documents in queries.values()]
    return pl.DataFrame(
        {
            IDS[0]: _texts(queries).gather(np.repeat(np.arange(len(queries)), lengths)),
            IDS[1]: _texts(chain.from_iterable(queries.values())),
            value: np.array([each for documents in queries.values() for each in documents.values()]),
        }
    )


def _documents(documents: Any, query: Any, name: str, value: str) -> Mapping[Any, Any]:
    """Return a dict from document id to value from what a dict of queries has for a query."""
    if isinstance(documents, Mapping):
        return documents
    if isinstance(documents, list | tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in documents):
        found = dict(documents)
    elif isinstance(documents, list | tuple | Set) and all(isinstance(each, str) for each in documents):
        if value == SCORE and isinstance(documents, Set):
            raise GradrankError(f"{name}: query {query!r} has a set, which has no order. Fix: give a list or scores")
        found = {document: 1 if value == GRADE else -rank for rank, document in enumerate(documents)}
    else:
        raise GradrankError(
            f"{name}: expected a dict from document id to {value} for query {query!r}, found "
            f"{type(documents).__name__}. Fix: give a dict of dicts, or a dict of columns with the ids of the queries"
        )
    if len(found) < len(documents):
        raise GradrankError(f"{name}: query {query!r} has a document twice. Fix: give each document once")
    return found


def _texts(ids: Iterable[Any]) -> pl.Series:
    ids = list(ids)
    try:
        return pl.Series(ids, dtype=pl.String, strict=True)
    except (TypeError, *OF_POLARS):
        return pl.Series([str(each) for each in ids], dtype=pl.String)


def _of_pandas(data: Any) -> pl.DataFrame:
    if any(each is not None for each in data.index.names):
        data = data.reset_index()
    columns = [data.iloc[:, place] for place in range(data.shape[1])]
    return pl.DataFrame({str(label): _pandas_values(each) for label, each in zip(data.columns, columns, strict=True)})


def _pandas_values(column: Any) -> Any:
    """Return a column as what Polars reads without pyarrow. Text and objects become lists."""
    values = column.to_numpy()
    if values.dtype.kind not in "OUST":
        return values
    missing = column.isna().to_numpy()
    return [None if is_missing else each for each, is_missing in zip(values.tolist(), missing.tolist(), strict=True)]


def _of_rows(rows: Sequence[Any], value: str) -> pl.DataFrame | None:
    """Return the frame of rows with names, or of tuples (query id, document id, value), or None for other elements."""
    if not len(rows):
        return None
    first = rows[0]
    if isinstance(first, Mapping):
        return pl.DataFrame([dict(row) for row in rows], infer_schema_length=None)
    if all(hasattr(first, key) for key in IDS):
        names = [*IDS, *(key for key in (GRADE, SCORE) if hasattr(first, key))]
        get: Callable[[Any, str], Any] = getattr
        columns = {key: [get(row, key) for row in rows] for key in names}
    elif isinstance(first, tuple) and len(first) == 3 and isinstance(first[1], str):
        columns = dict(zip((*IDS, value), zip(*rows, strict=True), strict=True))
    else:
        return None
    ids = {key: _texts(columns.pop(key)) for key in IDS}
    return pl.DataFrame(ids | {key: np.array(column) for key, column in columns.items()})


def file_frame(path: Path, value: str) -> pl.DataFrame | None:
    """Return a JSON, JSON lines, Arrow or Feather file as a frame, or None for a file in another form.

    value: as in `held_frame`. Raises GradrankError for a malformed file.
    """
    head = next(blocks(path, HEAD_BYTES), b"")
    is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    if not is_json and not head.startswith(ARROW):
        return None
    try:
        if head.startswith(ARROW[0]):
            return pl.read_ipc(BytesIO(content_of(path)))
        if head.startswith(ARROW[1]):
            raise GradrankError(f"{path}: the first version of Feather. Fix: write it with version=2")
        data = _json(content_of(path).decode("utf-8-sig"))
    except (ValueError, OSError, *OF_POLARS) as error:
        raise GradrankError(
            f"{path}: malformed JSON or Arrow file: {str(error).splitlines()[0]}. Fix: write the file again"
        ) from None
    frame = held_frame(data, str(path), value)
    if frame is None:
        raise GradrankError(f"{path}: expected a JSON object per query or per row. Fix: write one row per document")
    return frame


def _json(text: str) -> Any:
    """Return the content of JSON, or a list of the objects of JSON lines."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        row = json.loads(first)
    except ValueError:
        return json.loads(text)
    return [row, *map(json.loads, filter(str.strip, rest.splitlines()))] if rest.strip() else _one(row)


def _one(row: Any) -> Any:
    """Return a single line of JSON: a list or dict of queries as it is, and a single row as a list."""
    is_row = isinstance(row, Mapping) and not any(isinstance(each, Mapping | list) for each in row.values())
    return [row] if is_row else row
