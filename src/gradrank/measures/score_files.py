"""Score files: LETOR (one score per line), TREC runs and tables of gradrank and of other programs.

Every line is checked. Tables are Parquet, and CSV and TSV with a header. The columns are recognised by the names in
data/tables/roles.py. Rows with ids are matched by these ids. In a table without ids, the rows are in the order
of the data, so a column that nothing explains is refused: it may be an id.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import merged_row, merged_text, query_id_error, text_ids
from gradrank.data.file_forms import blocks, plain_name, readable_path
from gradrank.data.layout import is_table
from gradrank.data.tables.files import SEPARATORS
from gradrank.data.tables.roles import ESTIMATES, ROLE_NAMES, SCORES, is_index, is_of_run, named_columns, normalised
from gradrank.data.tables.table import RawTable, floats, raw_table
from gradrank.measures.judgements import (
    DIGITS,
    Judgements,
    collect,
    document_ids,
    existing_file,
    first_document,
    group_queries,
    incomplete_judgements,
    lines,
)
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


def read_scores(path: Path | str, judgements: Judgements, split: str = "test") -> np.ndarray:
    """Return (n,) float64 scores of the rows of `judgements`; a higher score means a better rank.

    The file has one of these forms. A text file has one score per line, in row order. A TREC run has lines `qid Q0
    docid rank score tag`, in any order. A table (Parquet, or CSV or TSV with a header) has a column `score`. Its rows
    are in row order, or in any order if it also has columns `qid` and `docid`. Other common names of these columns are
    recognised (data/tables/roles.py). If the table has a column `split`, only the rows whose value in it is the
    argument `split` are read. If the file has a column `ranked`, documents with the value False have no rank.

    Raises GradrankError if a document has no score or two scores, if an id or the number of rows does not match the
    data, and if a score is not a finite number.
    """
    judgements, scores, ranked = _read_ranking(readable_path(path), judgements, split)
    if not ranked.all():
        rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids}).filter(~ranked)
        raise GradrankError(f"{path}: {len(rows)} documents have no score; the first is {first_document(rows)}")
    return scores


def read_ranking(
    path: Path | str, judgements: Judgements, split: str = "test"
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    """Read a ranking that may leave documents out, by the rules of trec_eval.

    Returns the judgements, the (n,) float64 scores, and (n,) booleans that are True for documents in the ranking. If
    the judgements are qrels, the returned judgements also contain the ranked documents that are not judged, with grade
    0. A note on stderr gives the number of ranked and of unjudged documents. The forms of the file and the errors are
    those of `read_scores`, except that documents may be without a score.
    """
    judgements, scores, ranked = _read_ranking(readable_path(path), judgements, split)
    if not ranked.all():
        unranked = len(judgements.qids) - len(np.unique(_query_of_row(judgements)[ranked]))
        _note(
            f"{path}: ranks {ranked.sum()} of {len(ranked)} documents. As in trec_eval, the other documents have no "
            "rank; the relevant ones among them count in recall and in the ideal ranking"
            + (
                f". {unranked} of {len(judgements.qids)} queries are not in the file and score 0 (as with trec_eval -c)"
                if unranked
                else ""
            )
        )
    return judgements, scores, ranked


def _read_ranking(path: Path, judgements: Judgements, split: str) -> tuple[Judgements, np.ndarray, np.ndarray]:
    path = existing_file(path)
    if is_run_table(path):
        table, raw = read_run_table(path, judgements, split)
    else:
        table, raw = _read_text(path), None

    def place(rows: pl.DataFrame) -> str:
        """Return the position in the file of the first of `rows`."""
        number = rows["number"][0]
        return f"line {number}" if raw is None else raw.location(number - 1)

    if table.is_empty():
        raise GradrankError(f"{path}: the file has no scores")

    if "ranked" not in table.columns:
        table = table.with_columns(ranked=True)
    invalid = table.filter(pl.col("ranked") & (pl.col("score").is_null() | ~pl.col("score").is_finite()))
    if len(invalid):
        raise GradrankError(
            f"{path}, {place(invalid)}: {invalid['text'][0]!r} is not a finite number. Fix: give every document a "
            "finite score, or leave it out of a run with ids"
        )
    if "docid" in table.columns:
        return _by_id(table, _with_ids(judgements, table, path), path, place)
    if not judgements.complete:
        raise GradrankError(f"{path}: the file has no document ids, which qrels require. Fix: give a TREC run")
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one score per document, in "
            "row order"
        )
    return judgements, table["score"].fill_null(0.0).fill_nan(0.0).to_numpy(), table["ranked"].to_numpy()


def _read_text(path: Path) -> pl.DataFrame:
    read = collect(lines(path), path)
    while len(read) and not read["text"][-1]:  # blank lines at the end are ignored
        read = read[:-1]
    if not len(read) or len(read["text"][0].split()) != 6:
        check_merged(merged_text(read["text"]), str(path))
        return read.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))
    groups = pl.col("text").str.extract_groups(r"^(\S+)\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+$")
    fields = read.with_columns(groups.alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("1").is_null())
    if len(bad):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `qid Q0 docid rank score tag`, found {bad['text'][0][:60]!r}")
    check_merged(merged_text(fields["3"]), str(path))
    return fields.select(
        "number",
        query=pl.col("1"),
        docid=pl.col("2"),
        text=pl.col("3"),
        score=pl.col("3").cast(pl.Float64, strict=False),
    )


def _with_ids(judgements: Judgements, table: pl.DataFrame, path: Path) -> Judgements:
    """Return judgements with document ids.

    If the data have no ids, the ids are the row numbers that `predict` and `export` write.
    """
    if judgements.docids is not None:
        return judgements
    if not table["docid"].str.contains(rf"^\d{{{DIGITS}}}$").all():
        raise GradrankError(
            f"{path}: the file has document ids, but the data have none. Fix: give one score per line in row order, or "
            f"use row numbers with {DIGITS} digits as ids, as `gradrank predict --form trec` writes them"
        )
    _note(f"{path}: the data have no document ids; the ids in the file are read as row numbers of the data, from 1")
    return replace(judgements, docids=document_ids(None, len(judgements.labels)))


def _by_id(
    table: pl.DataFrame, judgements: Judgements, path: Path, place: Callable[[pl.DataFrame], str]
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    keys = ["query", "docid"]
    repeated = table.filter(~pl.struct(keys).is_first_distinct())
    if len(repeated):
        raise GradrankError(
            f"{path}, {place(repeated)}: {first_document(repeated)} has a second score. Fix: keep one of the rows, and "
            "give one file per system"
        )
    rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids, "label": judgements.labels})
    if not table["query"].is_in(rows["query"].implode()).any():
        raise GradrankError(
            f"{path}: no query of this file is in the data. The ids are of the form {table['query'][0]!r} in this file "
            f"and {rows['query'][0]!r} in the data. Fix: write the same ids into both"
        )
    unknown = table.join(rows, on=keys, how="anti", maintain_order="left")
    if len(unknown) and judgements.complete and not judgements.lists_judged_only:
        raise GradrankError(
            f"{path}, {place(unknown)}: {first_document(unknown)} is not in the data. Fix: correct the ids, or delete "
            "the row"
        )
    if len(padded := unknown.filter(pl.col("docid") != pl.col("docid").str.strip_chars())):
        raise GradrankError(
            f"{path}, {place(padded)}: {first_document(padded)} is not in the data, and its id has white space around "
            "it. Fix: remove the white space"
        )
    duplicates = rows.filter(~pl.struct(keys).is_first_distinct())
    ambiguous = duplicates.join(table, on=keys, how="semi", maintain_order="left")
    if len(ambiguous):
        raise GradrankError(
            f"{path}: {first_document(ambiguous)} is in the data twice, so its scores cannot be matched by id. "
            "Fix: give one score per line in row order"
        )
    if len(unknown):
        rows = _with_unjudged(rows, table, unknown, path)
        judgements = incomplete_judgements(rows, path)
    scores = rows.join(table.filter("ranked"), on=keys, how="left", maintain_order="left")["score"]
    return judgements, scores.fill_null(0.0).to_numpy(), scores.is_not_null().to_numpy()


def _query_of_row(judgements: Judgements) -> np.ndarray:
    return np.repeat(np.arange(len(judgements.qids)), np.diff(judgements.offsets))


def _with_unjudged(rows: pl.DataFrame, table: pl.DataFrame, unknown: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the rows and the unjudged documents of judged queries, which get grade 0. Other queries are left out."""
    unjudged = unknown.filter(pl.col("query").is_in(rows["query"].implode()))
    other_queries = unknown["query"].n_unique() - unjudged["query"].n_unique()
    none_judged = len(rows.join(table, on=["query", "docid"], how="semi")) == 0
    forms = f"None is judged: the ids are of the form {table['docid'][0]!r} in the file, {rows['docid'][0]!r} in the"
    _note(
        f"{path}: {len(unjudged)} documents of the file are not judged and count as irrelevant, as in trec_eval"
        + (f". {forms} judgements" if none_judged else "")
        + (f". {other_queries} queries of the file have no judgements and are left out" if other_queries else "")
    )
    unjudged = unjudged.select("query", "docid", pl.lit(0, rows.schema["label"]).alias("label"))
    return group_queries(pl.concat([rows, unjudged]).with_row_index("number")).drop("number")


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
