"""Score files: LETOR (one score per line), TREC runs and tables of gradrank and of other programs.

Every line is checked. Tables are Parquet, Feather, JSON, JSON lines, and CSV and TSV with a header, or frames in memory
(held_data.py). The columns are recognised by the names in data/tables/roles.py. Rows with ids are matched by these ids.
In a table without ids, the rows are in the order of the data, so a column that nothing explains is refused: it may be
an id.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from gradrank.base.errors import GradrankError
from gradrank.data.exact_values import merged_row, merged_text, text_ids
from gradrank.data.file_forms import check_form, plain_name, readable_path
from gradrank.data.layout import is_table
from gradrank.data.tables.files import SEPARATORS
from gradrank.data.tables.roles import ESTIMATES, ROLE_NAMES, SCORES, is_index, is_of_run, named_columns, normalised
from gradrank.data.tables.table import RawTable, floats, raw_table
from gradrank.measures.held_data import SCORE, file_frame
from gradrank.measures.judgements import (
    DIGITS,
    Judgements,
    collect,
    document_ids,
    existing_file,
    first_document,
    first_fields,
    group_queries,
    id_column,
    incomplete_judgements,
    lines,
    repeated_documents,
    text_lines,
)
from gradrank.measures.ranking import JUDGED, UNJUDGED
from gradrank.training.fold_folder import FoldFolder

HEADER_HINT = " (the first row must have the names of the columns)"
SPLIT, RANKED = "split", "ranked"  # columns of gradrank's own scores
STATUS = {number: pl.lit(number, pl.Int8) for number in (JUDGED, UNJUDGED)}


def is_run_table(path: Path) -> bool:
    """Return True for Parquet, and for CSV and TSV whose first row is neither a score nor a row of a run."""
    if not is_table(path) or plain_name(path).suffix.lower() not in SEPARATORS:
        return is_table(path)
    fields = first_fields(path)
    form = FORMS.get(min(len(fields), MOST_FIELDS))
    return form is None or not _is_number(fields[form.score])


def _is_number(text: bytes) -> bool:
    values = pl.Series([text.decode(errors="replace")]).cast(pl.Float64, strict=False)
    return values[0] is not None


def read_run_table(path: Path) -> RawTable:
    """Return the table in a file of scores. Raises GradrankError if the file is damaged."""
    fold = FoldFolder(path.parent)
    if fold.finished and path == fold.scores_path:
        fold.check(path)
        frame = pl.read_parquet(path)
        names = frame.columns
        return RawTable(path, names, frame.rename({name: f"c{number}" for number, name in enumerate(names)}))
    return raw_table(path, path)


def run_rows(raw: RawTable, judgements: Judgements | None, split: str) -> pl.DataFrame:
    """Return the rows of a table of scores.

    The columns are `number` (of the row, from 1), `score`, perhaps `query` and `docid`, and perhaps `ranked`.
    judgements: if several columns may have the ids, those whose ids occur in the judgements are used. Without
    judgements, they are `qid` and `docno`, as in PyTerrier. split: if the table has a column `split`, only the rows
    with this value are returned.

    Raises GradrankError if the columns are not recognised, and if an id or a score is malformed.
    """
    if repeated := [name for name in raw.names if raw.names.count(name) > 1]:
        hint = HEADER_HINT if raw.is_text else ""
        raise GradrankError(
            f"{raw.where}: several columns are called {repeated[0]!r}{hint}. Fix: rename or delete all but one"
        )
    score = score_column(raw)
    columns = {"score": _scores(raw, score)}
    names = _id_columns(raw, judgements)
    if names is None:
        _check_explained(raw, score)
    else:
        columns |= {role: id_column(raw, name) for role, name in zip(("query", "docid"), names, strict=True)}
    if RANKED in raw.names:
        columns[RANKED] = _ranked(raw)
    frame = pl.DataFrame([column.alias(name) for name, column in columns.items()]).with_row_index("number", offset=1)
    if SPLIT in raw.names:
        frame = frame.filter(raw.column(SPLIT).cast(pl.String) == split)
    return frame


def score_column(raw: RawTable) -> str:
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


def _id_columns(raw: RawTable, judgements: Judgements | None) -> tuple[str, str] | None:
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
    if judgements is None:
        queries, documents = (
            [name for name in names if normalised(name) == first] if len(names) > 1 else names
            for names, first in ((queries, "qid"), (documents, "docno"))
        )
        return _matching(raw, queries, None), _matching(raw, documents, None)
    return (_matching(raw, queries, judgements.id_of_row), _matching(raw, documents, judgements.docids))


def _matching(raw: RawTable, names: Sequence[str], known: pl.Series | None) -> str:
    """Return the only column of `names` with an id in `known`. Raises GradrankError if there are several or none.

    PyTerrier's tables have the text of the query in `query`, and its own document numbers in `docid`.
    """
    if len(names) == 1:
        return names[0]
    columns = {name: text_ids(raw.column(name), name, raw.where) for name in names}
    known = pl.Series([], dtype=pl.String) if known is None else known.unique()
    matching = [name for name, ids in columns.items() if ids.is_in(known.implode()).any()]
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
    docid rank score tag`, in any order; FORMS lists its other forms. A table (Parquet, Feather, JSON, JSON lines, or
    CSV or TSV with a header) has a column `score`. Its rows are in row order, or in any order if it also has columns
    `qid` and `docid`. Other common names of these columns are
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
    path: Path | str | RawTable, judgements: Judgements, split: str = "test"
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    """Read a ranking that may leave documents out, by the rules of trec_eval.

    path: a score file, or a table in memory.

    Returns the judgements, the (n,) float64 scores, and (n,) booleans that are True for documents in the ranking. If
    the judgements are qrels, the returned judgements also contain the ranked documents that are not judged, with grade
    0. A note on stderr gives the number of ranked and of unjudged documents. The forms of the file and the errors are
    those of `read_scores`, except that documents may be without a score.
    """
    source = path if isinstance(path, RawTable) else readable_path(path)
    judgements, scores, ranked = _read_ranking(source, judgements, split)
    if not ranked.all():
        where = path.where if isinstance(path, RawTable) else path
        unranked = len(judgements.qids) - len(np.unique(_query_of_row(judgements)[ranked]))
        _note(
            f"{where}: ranks {ranked.sum()} of {len(ranked)} documents. As in trec_eval, the other documents have no "
            "rank; the relevant ones among them count in recall and in the ideal ranking"
            + (
                f". {unranked} of {len(judgements.qids)} queries are not in the ranking and score 0 (as with "
                "trec_eval -c)"
                if unranked
                else ""
            )
        )
    return judgements, scores, ranked


def read_run(source: Path | str | RawTable) -> pl.DataFrame:
    """Return the columns `query`, `docid` (text) and `score` (float64) of a run, without judgements.

    source: a file in one of the forms of `read_scores`, or a table in memory. Raises GradrankError as `read_scores`
    does, and if the run has no ids of queries and documents.
    """
    rows = _score_rows(source if isinstance(source, RawTable) else readable_path(source), None, "test")
    if "docid" not in rows.table.columns:
        raise GradrankError(
            f"{rows.path}: the run has no ids of queries and documents. Fix: give a run with ids, or judgements as well"
        )
    rows.refuse_repeated()
    return rows.table.filter("ranked").select("query", "docid", "score")


class ScoreRows(NamedTuple):
    """The rows of scores in a file or table: those of `run_rows` or of text, with the column `ranked`."""

    table: pl.DataFrame
    path: Path | str
    raw: RawTable | None

    def place(self, rows: pl.DataFrame) -> str:
        """Return the position in the file of the first of `rows`."""
        number = rows["number"][0]
        return f"line {number}" if self.raw is None else self.raw.location(number - 1)

    def refuse_repeated(self) -> None:
        """Raise GradrankError if a document has two scores."""
        if len(repeated := repeated_documents(self.table)):
            raise GradrankError(
                f"{self.path}, {self.place(repeated)}: {first_document(repeated)} has a second score. Fix: keep one "
                "of the rows, and give one file per system"
            )


def _score_rows(source: Path | RawTable, judgements: Judgements | None, split: str) -> ScoreRows:
    raw = source if isinstance(source, RawTable) else None
    path = source.where if isinstance(source, RawTable) else existing_file(source)
    if isinstance(path, Path) and raw is None:
        if (frame := file_frame(path, SCORE)) is not None:
            raw = raw_table(frame, path)
        else:
            check_form(path)
            raw = read_run_table(path) if is_run_table(path) else None
    table = run_rows(raw, judgements, split) if raw is not None else _read_text(Path(path))
    if table.is_empty():
        raise GradrankError(f"{path}: the file has no scores")

    if "ranked" not in table.columns:
        table = table.with_columns(ranked=True)
    rows = ScoreRows(table, path, raw)
    invalid = table.filter(pl.col("ranked") & (pl.col("score").is_null() | ~pl.col("score").is_finite()))
    if len(invalid):
        text = invalid["text"] if raw is None else raw.column(score_column(raw))[invalid["number"] - 1].cast(pl.String)
        raise GradrankError(
            f"{path}, {rows.place(invalid)}: {text[0]!r} is not a finite number. Fix: give every document a "
            "finite score, or leave it out of a run with ids"
        )
    return rows


def _read_ranking(
    source: Path | RawTable, judgements: Judgements, split: str
) -> tuple[Judgements, np.ndarray, np.ndarray]:
    rows = _score_rows(source, judgements, split)
    table, path = rows.table, rows.path
    if "docid" in table.columns:
        return _by_id(rows, _with_ids(judgements, table, path))
    if not judgements.complete:
        raise GradrankError(f"{path}: the file has no document ids, which qrels require. Fix: give a TREC run")
    if len(table) != len(judgements.labels):
        raise GradrankError(
            f"{path}: {len(table)} scores for {len(judgements.labels)} documents; expected one score per document, in "
            "row order"
        )
    return judgements, table["score"].fill_null(0.0).fill_nan(0.0).to_numpy(), table["ranked"].to_numpy()


class RunForm(NamedTuple):
    """The lines of a form of runs: their text for messages, and the places of the ids and of the score or rank."""

    text: str
    query: int
    docid: int
    score: int


# key: the number of fields of the first line. trec_eval ignores what follows the tag.
MOST_FIELDS = 6
FORMS = {
    1: RunForm("score", 0, 0, 0),
    3: RunForm("qid docid score` or `qid docid rank", 0, 1, 2),
    4: RunForm("qid docid rank score", 0, 1, 3),
    5: RunForm("qid Q0 docid rank score", 0, 2, 4),
    6: RunForm("qid Q0 docid rank score tag", 0, 2, 4),
}


def _read_text(path: Path) -> pl.DataFrame:
    fields = first_fields(path)
    form = FORMS.get(min(len(fields), MOST_FIELDS))
    if form is None or len(fields) == 1 or not (len(fields) >= MOST_FIELDS or _is_number(fields[form.score])):
        return _read_lines(path)
    return _read_run(text_lines(path), form, len(fields), path)


def _read_lines(path: Path) -> pl.DataFrame:
    """Read one score per line."""
    read = collect(lines(path), path)
    while len(read) and not read["text"][-1]:  # blank lines at the end are ignored
        read = read[:-1]
    check_merged(merged_text(read["text"]), str(path))
    return read.with_columns(score=pl.col("text").cast(pl.Float64, strict=False))


def _read_run(read: pl.DataFrame, form: RunForm, width: int, path: Path) -> pl.DataFrame:
    """Return the rows of a run. width: the number of fields of the first line."""
    named = {form.query: "query", form.docid: "docid", form.score: "value"}
    pattern = r"\s+".join(rf"(?<{named[place]}>\S+)" if place in named else r"\S+" for place in range(form.score + 1))
    end = "$" if width < MOST_FIELDS - 1 else r"(?:\s.*)?$" if width == MOST_FIELDS - 1 else r"\s+\S.*$"
    fields = read.with_columns(pl.col("text").str.extract_groups(f"^{pattern}{end}").alias("fields")).unnest("fields")
    bad = fields.filter(pl.col("query").is_null())
    if len(bad):
        place = f"{path}, line {bad['number'][0]}"
        raise GradrankError(f"{place}: expected `{form.text}`, found {bad['text'][0][:60]!r}")
    check_merged(merged_text(fields["value"]), str(path))
    score = pl.col("value").cast(pl.Float64, strict=False)
    if width == 3:
        is_ranks = _are_ranks(fields)
        _note(f"{path}: the third field of each line is read as the {'rank' if is_ranks else 'score'}")
        score = -score if is_ranks else score
    return fields.select("number", "query", "docid", text=pl.col("value"), score=score)


def _are_ranks(fields: pl.DataFrame) -> bool:
    """Return True if the values of each query are different whole numbers from 1, as in runs of MS MARCO."""
    if not fields["value"].str.contains(r"^[1-9][0-9]*$").all():
        return False
    ranks = fields.select("query", rank=pl.col("value").cast(pl.Float64)).group_by("query")
    found = ranks.agg(first=pl.col("rank").min(), is_distinct=pl.col("rank").is_unique().all())
    return bool(((found["first"] == 1) & found["is_distinct"]).all())


def _with_ids(judgements: Judgements, table: pl.DataFrame, path: Path | str) -> Judgements:
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


def _by_id(found: ScoreRows, judgements: Judgements) -> tuple[Judgements, np.ndarray, np.ndarray]:
    table, path, place = found.table, found.path, found.place
    keys = ["query", "docid"]
    found.refuse_repeated()
    rows = pl.DataFrame({"query": judgements.id_of_row, "docid": judgements.docids, "label": judgements.labels})
    if (found_scores := _scores_of_rows(rows, table)) is not None:
        return judgements, found_scores.fill_null(0.0).to_numpy(), found_scores.is_not_null().to_numpy()
    if judgements.status is not None:
        rows = rows.with_columns(status=judgements.status)
    if judgements.stratum is not None:
        rows = rows.with_columns(stratum=judgements.stratum)
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
    duplicates = repeated_documents(rows)
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


def _scores_of_rows(rows: pl.DataFrame, table: pl.DataFrame) -> pl.Series | None:
    """Return the (n,) scores of the rows of the data, null for documents without a rank.

    Returns None if a document of the table is not in the data, or is in the data twice. No document is twice in the
    table.
    """
    scores = table.select(pl.when("ranked").then("score")).to_series()
    if len(rows) == len(table) and all(rows[key].equals(table[key]) for key in ("query", "docid")):
        return scores
    numbered = table.select("query", "docid", place=pl.int_range(pl.len()))
    places = rows.join(numbered, on=["query", "docid"], how="left", maintain_order="left")["place"]
    is_complete = places.count() == len(table) and not places.drop_nulls().is_duplicated().any()
    return scores[places] if is_complete else None


def _query_of_row(judgements: Judgements) -> np.ndarray:
    return np.repeat(np.arange(len(judgements.qids)), np.diff(judgements.offsets))


def _with_unjudged(rows: pl.DataFrame, table: pl.DataFrame, unknown: pl.DataFrame, path: Path | str) -> pl.DataFrame:
    """Return the rows and the unjudged documents of judged queries, which get grade 0. Other queries are left out."""
    unjudged = unknown.filter(pl.col("query").is_in(rows["query"].implode()))
    other_queries = unknown["query"].n_unique() - unjudged["query"].n_unique()
    none_judged = len(rows.join(table, on=["query", "docid"], how="semi")) == 0
    forms = f"None is judged: the ids are of the form {table['docid'][0]!r} in the ranking, {rows['docid'][0]!r} in the"
    _note(
        f"{path}: {len(unjudged)} documents of the ranking are not judged and count as irrelevant, as in trec_eval"
        + (f". {forms} judgements" if none_judged else "")
        + (f". {other_queries} queries of the ranking have no judgements and are left out" if other_queries else "")
    )
    unjudged = unjudged.select(
        "query", "docid", pl.lit(0, rows.schema["label"]).alias("label"), status=STATUS[UNJUDGED]
    )
    if "status" not in rows.columns:
        rows = rows.with_columns(status=STATUS[JUDGED])
    if "stratum" in rows.columns:
        unjudged = unjudged.with_columns(stratum=pl.lit(-1, pl.Int64))
    return group_queries(pl.concat([rows, unjudged.select(rows.columns)]).with_row_index("number")).drop("number")


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
