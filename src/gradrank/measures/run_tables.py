"""Runs and scores in tables: Parquet, and CSV and TSV with a header, of gradrank and of other programs.

The columns are recognised by the names in data/tables/column_names.py. Rows with ids are matched by these ids. In a
table without ids, the rows are in the order of the data, so a column that nothing explains is refused: it may be an id.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.compressed import blocks, plain_name
from gradrank.data.exact_numbers import merged_row, merged_text
from gradrank.data.ids import query_id_error, text_ids
from gradrank.data.layout import is_table
from gradrank.data.tables.column_names import (
    ESTIMATES,
    ROLE_NAMES,
    SCORES,
    is_index,
    is_of_run,
    named_columns,
    normalised,
)
from gradrank.data.tables.separated import SEPARATORS
from gradrank.data.tables.table import RawTable, floats, raw_table
from gradrank.measures.judgements import Judgements
from gradrank.training.fold_folder import FoldFolder

HEADER_HINT = " (the first row must have the names of the columns)"
SPLIT, RANKED = "split", "ranked"  # columns of gradrank's own scores


def is_run_table(path: Path) -> bool:
    """Return True for Parquet, and for CSV and TSV whose first row is neither a score nor a row of a TREC run."""
    if not is_table(path) or plain_name(path).suffix.lower() not in SEPARATORS:
        return is_table(path)
    head = next(blocks(path), b"").removeprefix(b"\xef\xbb\xbf")
    fields = next(filter(None, (line.split() for line in head.splitlines())), [])
    numbers = fields if len(fields) == 1 else fields[4:5] if len(fields) == 6 else []
    return not numbers or pl.Series([numbers[0].decode(errors="replace")]).cast(pl.Float64, strict=False)[0] is None


def read_run_table(path: Path, judgements: Judgements, split: str) -> tuple[pl.DataFrame, RawTable]:
    """Read a table of scores, and return its rows and the table from which they are.

    The columns are `number` (of the row, from 1), `score`, `text` (the score as it is in the file), perhaps `query` and
    `docid`, and perhaps `ranked`. judgements: if several columns may have the ids, those whose ids occur in the
    judgements are used. split: if the table has a column `split`, only the rows with this value are returned.

    Raises GradrankError if the columns are not recognised, and if an id or a score is malformed.
    """
    fold = FoldFolder(path.parent)
    if fold.finished and path == fold.scores_path:
        fold.check(path)
        frame = pl.read_parquet(path)
        names = frame.columns
        raw = RawTable(path, names, frame.rename({name: f"c{number}" for number, name in enumerate(names)}))
    else:
        raw = raw_table(path, path)
    if repeated := [name for name in raw.names if raw.names.count(name) > 1]:
        hint = HEADER_HINT if raw.is_text else ""
        raise GradrankError(
            f"{path}: several columns are called {repeated[0]!r}{hint}. Fix: rename or delete all but one"
        )
    score = _score_column(raw)
    columns = {"score": _scores(raw, score), "text": raw.column(score).cast(pl.String)}
    names = _id_columns(raw, judgements)
    if names is None:
        _check_explained(raw, score)
    else:
        columns |= {role: _ids(raw, name) for role, name in zip(("query", "docid"), names, strict=True)}
    if RANKED in raw.names:
        columns[RANKED] = _ranked(raw)
    frame = pl.DataFrame([column.alias(name) for name, column in columns.items()]).with_row_index("number", offset=1)
    if SPLIT in raw.names:
        frame = frame.filter(raw.column(SPLIT).cast(pl.String) == split)
    return frame, raw


def _score_column(raw: RawTable) -> str:
    """Return the name of the column of scores. A column `score` takes precedence over the other names."""
    found = [name for name in raw.names if normalised(name) in SCORES]
    found = [name for name in found if normalised(name) == "score"] or found
    if len(found) != 1:
        which = f"{' and '.join(map(repr, found))} may each be the score" if found else "no column of scores"
        hint = HEADER_HINT if raw.is_text and not found else ""
        raise GradrankError(
            f"{raw.where}: {which}; the columns are {_listed(raw.names)}{hint}. Fix: call the column of scores `score`"
            + (", and rename or delete the others" if found else "")
        )
    return found[0]


def _scores(raw: RawTable, name: str) -> pl.Series:
    """Return the scores as float64; null if missing."""
    values = raw.column(name)
    if raw.is_text:
        parsed, is_bad = floats(values)
        raw.refuse(name, is_bad, "a number")
        found = merged_text(values)
    elif not values.dtype.is_numeric():
        raise GradrankError(
            f"{raw.where}: column {name!r} is {values.dtype}, not numeric; the columns are {_listed(raw.names)}. Fix: "
            "store the scores as numbers"
        )
    else:
        parsed, row = values.cast(pl.Float64), merged_row(values)
        found = None if row is None else values[row]
    check_merged(found, f"{raw.where}: column {name!r}")
    return parsed


def check_merged(found: object, where: str) -> None:
    """Raise GradrankError if `found` is not None: a score that equals another one as float64."""
    if found is not None:
        raise GradrankError(
            f"{where}: {found} has too many digits for a 64-bit float, in which it equals another score of the file. "
            "Fix: store smaller numbers, such as the ranks of the scores"
        )


def _id_columns(raw: RawTable, judgements: Judgements) -> tuple[str, str] | None:
    """Return the names of the columns of query and document ids, or None if the table has neither."""
    queries, documents = named_columns("query", raw.names), named_columns("docid", raw.names)
    if bool(queries) != bool(documents):
        found, missing = ("query", "document") if queries else ("document", "query")
        raise GradrankError(
            f"{raw.where}: expected both columns `qid` and `docid` or neither. {(queries or documents)[0]!r} has the "
            f"{found} ids, and no column has {missing} ids; the columns are {_listed(raw.names)}. Fix: add or rename "
            "the column"
        )
    if not queries:
        return None
    return (
        _matching(raw, queries, judgements.id_of_row.unique()),
        _matching(raw, documents, None if judgements.docids is None else judgements.docids.unique()),
    )


def _matching(raw: RawTable, names: Sequence[str], known: pl.Series | None) -> str:
    """Return the only column of `names` with an id in `known`. Raises GradrankError if there are several or none.

    PyTerrier's tables have the text of the query in `query`, and its own document numbers in `docid`.
    """
    if len(names) == 1:
        return names[0]
    columns = {name: text_ids(raw.column(name), name, raw.where) for name in names}
    matching = [name for name, ids in columns.items() if known is not None and ids.is_in(known.implode()).any()]
    if len(matching) > 1 and all(columns[name].equals(columns[matching[0]]) for name in matching):
        matching = matching[:1]
    if len(matching) != 1:
        which = "each have" if matching else "do not have"
        raise GradrankError(
            f"{raw.where}: columns {' and '.join(map(repr, names))} may be the same id, and they {which} ids of the "
            "data. Fix: rename or delete all but one"
        )
    return matching[0]


def _check_explained(raw: RawTable, score: str) -> None:
    """Raise GradrankError if a column of a table without ids has no known meaning."""
    for name in raw.names:
        is_known = name in (score, SPLIT, RANKED) or name in raw.index or is_index(name)
        is_known = is_known or is_of_run(name) or normalised(name) in (*ESTIMATES, *ROLE_NAMES["label"])
        if not is_known:
            raise GradrankError(
                f"{raw.where}: column {name!r} is not recognised. If it has ids, the rows may not be in the order of "
                "the data. Fix: call the columns of ids `qid` and `docid`, or delete the column if the scores are in "
                "the order of the data"
            )


def _ids(raw: RawTable, name: str) -> pl.Series:
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


def _ranked(raw: RawTable) -> pl.Series:
    values = raw.column(RANKED)
    if raw.is_text:
        values = values.str.to_lowercase().replace_strict({"true": True, "false": False}, default=None)
    if values.dtype != pl.Boolean or values.null_count():
        raise GradrankError(
            f"{raw.where}: expected true or false in every row of column `ranked`, found type {values.dtype} with "
            f"{values.null_count()} missing values. Fix: correct or delete the column"
        )
    return values


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", .. ({len(names)} in all)" if len(names) > 12 else "")
